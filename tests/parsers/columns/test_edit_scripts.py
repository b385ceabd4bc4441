"""Edit scripts reproduce the lemma that they were made from, and apply to new forms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depkit.parsers.columns.edit_scripts import apply_script, edit_script


@pytest.mark.parametrize(
    "strategy", [st.text(max_size=12), st.text(alphabet="aAbBßİ", max_size=6)], ids=["any", "cased"]
)
@given(st.data())
def test_a_script_reproduces_its_lemma_and_applies_to_any_form(strategy, data):
    form, lemma, new_form = (data.draw(strategy) for _ in range(3))
    script = edit_script(form, lemma)
    assert apply_script(form, script) == lemma
    assert isinstance(apply_script(new_form, script), str)


@pytest.mark.parametrize(
    ("form", "lemma", "new_form", "expected"),
    [
        ("walked", "walk", "Talked", "talk"),
        ("cities", "city", "Berries", "berry"),
        ("NASA", "NASA", "FBI", "FBI"),
        ("Texans", "Texan", "Germans", "German"),
        ("PARIS", "Paris", "ROME", "Rome"),
        ("unseen", "see", "untaken", "take"),
        ("went", "go", "anything", "go"),
    ],
)
def test_scripts_apply_to_new_forms(form, lemma, new_form, expected):
    assert apply_script(new_form, edit_script(form, lemma)) == expected


def test_scripts_keep_the_partners_of_letters_i():
    assert edit_script("İyi", "iyi") == edit_script("Ara", "ara")
    lower_case, title = edit_script("Ara", "ara"), edit_script("KUR", "Kur")
    assert apply_script("IŞIK", lower_case, dotless=True) == "ışık"
    assert apply_script("İYİ", lower_case, dotless=True) == "iyi"
    assert apply_script("ıSPARTA", title, dotless=True) == "Isparta"
    assert apply_script("IN", lower_case) == "in"
