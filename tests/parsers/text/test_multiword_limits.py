"""A table of multiword tokens cannot make a text thousands of times as long."""

from depkit.parsers.text.multiword import build_multiword_table
from depkit.parsers.text.tokenizer import LONGEST_SENTENCE, _split_sentence


def test_tokens_of_very_many_words_are_not_learnt():
    tokens = [("the", ("a",) * 101), ("it", ("b" * 1001,)), ("del", ("de", "el"))]
    assert build_multiword_table(tokens).tokens == {"del": ("de", "el")}


def test_a_sentence_is_split_by_its_words():
    tokens = [(0, 1, ("a",) * 100)] * 25
    assert list(_split_sentence(tokens, 0, 25)) == [10, 20, 25]
    assert list(_split_sentence([(0, 1, None)] * 2500, 0, 2500)) == [1000, 2000, 2500]
    assert list(_split_sentence([(0, 1, ("a",) * (LONGEST_SENTENCE + 1))] * 2, 0, 2)) == [1, 2]
