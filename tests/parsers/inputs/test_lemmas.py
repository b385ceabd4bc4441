"""Edit scripts give back the lemma they were made of, and carry over to new forms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depkit.parsers.inputs.lemmas import apply_script, edit_script


@given(st.text(max_size=12), st.text(max_size=12))
def test_a_script_gives_back_its_lemma(form, lemma):
    assert apply_script(form, edit_script(form, lemma)) == lemma


@given(st.text(alphabet="aAbBßİ", max_size=6), st.text(alphabet="aAbBßİ", max_size=6))
def test_also_where_case_changes_lengths(form, lemma):
    assert apply_script(form, edit_script(form, lemma)) == lemma


@given(st.text(max_size=8), st.text(max_size=8), st.text(max_size=8))
def test_a_script_applies_to_any_form(form, lemma, other):
    assert isinstance(apply_script(other, edit_script(form, lemma)), str)


@pytest.mark.parametrize(
    ("form", "lemma", "other", "expected"),
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
def test_scripts_generalise(form, lemma, other, expected):
    assert apply_script(other, edit_script(form, lemma)) == expected
