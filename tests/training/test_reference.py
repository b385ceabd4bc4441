"""What is known about the settings: each has a meaning, and the values that recipes have."""

import pytest

from depkit.files.bounds import Bounds
from depkit.training.recipe import make_recipe, recipe_settings
from depkit.training.reference import all_settings


@pytest.fixture(scope="module")
def settings():
    return all_settings()


def test_every_setting_has_a_meaning(settings):
    sections = list(dict.fromkeys(each.section for each in settings))
    assert {each.name for each in settings} == set(recipe_settings())
    assert settings == sorted(settings, key=lambda each: sections.index(each.section))
    names = [(each.name, each.only) for each in settings if len(each.meaning.split()) < 2]
    assert names == [], "write a comment beside the field, which says what the setting means"
    assert all(each.takes for each in settings)


def test_settings_of_the_same_name_are_told_apart(settings):
    found = {each.only: each for each in settings if each.name == "encoder.max_positions"}
    factored = found.pop(("encoder.kind=factored",))
    (other,) = found.values()
    assert (factored.default, other.default) == (300, 512)
    assert other.only == ("encoder.kind=selfatt", "encoder.kind=stacked")
    bilstm, attention = [each for each in settings if each.name == "encoder.layers"]
    assert (bilstm.recipes["bilstm"], attention.recipes["factored"]) == (2, 8)
    assert not bilstm.recipes.keys() & attention.recipes.keys()
    dropouts = {each.only: each.default for each in settings if each.name == "scorer.dropout"}
    assert dropouts[("family=transition",)] == 0.05 and len(dropouts) == 2


def test_what_selects_a_configuration_is_one_setting(settings):
    by_name = {each.name: each for each in settings}
    kind, family = by_name["encoder.kind"], by_name["family"]
    assert kind.takes.split(", ")[:2] == ["bilstm", "selfatt"] and kind.only == ()
    assert '"factored": content and positions' in kind.meaning
    assert family.takes == "biaffine, constituency, tagger, transition" and family.only == ()
    assert by_name["inputs.word"].only == () and by_name["training.rate"].only == ()


def test_recipes_have_the_values_of_their_files_and_bases(settings):
    word = next(each for each in settings if each.name == "inputs.word_min_count")
    assert word.recipes["language"] == make_recipe("language").parser.inputs.word_min_count
    layers = next(each for each in settings if each.name == "scorer.label_hidden")
    families = {make_recipe(name).parser.family for name in layers.recipes}
    assert families == {"transition"}
    assert layers.recipes["mh2020-state"] == 100


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        (Bounds(), "0 or more"), (Bounds(1, maximum=1 << 31), "1 or more"),
        (Bounds(above=1), "a number above 1"), (Bounds(below=1), "from 0 to less than 1"),
        (Bounds(maximum=1), "from 0 to 1"),
    ],
)  # fmt: skip
def test_bounds_are_described(bounds, text):
    assert bounds.describe() == text
