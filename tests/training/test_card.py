"""The front matter of model cards: what the Hugging Face hub shows about a trained model."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from depkit.parsers.model_card import make_front_matter, read_card_facts
from depkit.parsers.model_directory import CARD
from depkit.training.card import _describe_for_hub
from depkit.training.recipe import make_recipe


def describe(files, recipe="selfatt"):
    recipe = make_recipe(recipe)
    recipe = replace(recipe, training=replace(recipe.training, select="LAS"))
    sentences = [SimpleNamespace(file=file) for file in files for _ in range(2)]
    return _describe_for_hub(SimpleNamespace(train=sentences, recipe=recipe))


@pytest.mark.parametrize(
    ("files", "language", "treebanks"),
    [
        (["a/en_ewt-ud-train.conllu"], "en", ["en_ewt"]),
        (["cs_pdt-ud-train-la.conllu", "cs_cac-ud-dev.conllu.gz"], "cs", ["cs_cac", "cs_pdt"]),
        (["en_ewt-ud-train.conllu", "de_gsd-ud-train.conllu"], ["de", "en"], ["de_gsd", "en_ewt"]),
        (["no_bokmaal-ud-train.conllu"], "nb", ["no_bokmaal"]),
        (["no_nynorsk-ud-train.conllu"], "nn", ["no_nynorsk"]),
        (["en_ewt-ud-train.conllu", "mine.conllu"], None, None),
        (["train.conllu"], None, None),
        ([""], None, None),
    ],
)
def test_the_language_is_that_of_files_of_universal_dependencies(
    files, language, treebanks, tmp_path
):
    (tmp_path / CARD).write_text(describe(files) + "# A depkit parser\n")
    facts = read_card_facts(tmp_path)
    assert (facts.get("language"), facts.get("datasets")) == (language, treebanks)
    assert facts["library_name"] == "depkit" and facts["pipeline_tag"] == "token-classification"
    assert facts["tags"] == ["dependency-parsing"] and facts["metrics"] == ["las"]
    assert "license" not in facts


def test_taggers_have_a_tag_of_their_own():
    assert "\n- part-of-speech-tagging\n" in describe(["train.conllu"], "tagger")


def test_front_matter_is_read_as_it_was_written(tmp_path):
    facts = {"language": "is", "empty": "", "none": [], "datasets": ["UD A", "UD B"], "x": "y: z"}
    (tmp_path / CARD).write_text(make_front_matter(facts) + "# Card\n")
    assert read_card_facts(tmp_path) == {key: value for key, value in facts.items() if value}
