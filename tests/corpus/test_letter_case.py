"""Lower and upper case, also in alphabets with a dotless i."""

import sys

from depkit.corpus.letter_case import has_dotless_i, lower, upper


def test_a_text_keeps_its_length_in_lower_case():
    letters = "".join(map(chr, range(sys.maxunicode + 1)))
    for dotless in (False, True):
        assert len(lower(letters, dotless)) == len(letters)


def test_i_has_its_partner_of_the_alphabet():
    assert lower("KAPIYI AÇTI. İYİ.", dotless=True) == "kapıyı açtı. iyi."
    assert upper("kapıyı açtı. iyi.", dotless=True) == "KAPIYI AÇTI. İYİ."
    assert lower("IN İZMİR") == "in izmir" and upper("in ılık") == "IN ILIK"


def test_an_alphabet_with_a_dotless_i_is_recognised_by_its_letters():
    assert has_dotless_i(["Kapıyı açtı, iyi bir kış", "."])
    sentence = "Der Sänger Barış ist an diesem Abend nicht mehr in der Stadt, sondern schon fort."
    assert not has_dotless_i([sentence] * 2 + ["Er ist in Izmir."] * 3)
    assert not has_dotless_i([])
