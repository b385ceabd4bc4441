"""Vectors of hashed prefixes, suffixes and shapes equal those of plain loops."""

import torch

from depkit.nn import affixes
from depkit.nn.affixes import AffixEmbedding

ALPHABET = ["<pad>", "<unknown>", "<root>", *"abcdABCD12-"]
LOWER = [ALPHABET.index(symbol.lower()) for symbol in ALPHABET]
CLASSES = [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 0]
WORDS = ["a", "ab", "Ab", "abc", "abcd", "dabcd", "bdabcdcba", "A-12", "1"]
ROWS, SIZE = 50, 6


def encode(words):
    lengths = torch.tensor([len(word) for word in words])
    characters = torch.zeros(len(words), 12, dtype=torch.long)
    for row, word in enumerate(words):
        characters[row, : len(word)] = torch.tensor([ALPHABET.index(c) for c in word])
    return characters, lengths


def make_embedding(dropout=0.0):
    torch.manual_seed(1)
    embedding = AffixEmbedding(ROWS, SIZE, LOWER, CLASSES, dropout=dropout)
    torch.nn.init.normal_(embedding.table.weight)
    return embedding


def wrap(number):
    """Return a number as two's complement of 64 bits."""
    return (number + 2**63) % 2**64 - 2**63


def keys(word):
    """Return the numbers of the affixes and the shape of a word."""
    low = [LOWER[ALPHABET.index(c)] for c in word]
    found = []
    for start, units, longest in ((1, low, 3), (2, low[::-1], 5)):
        key = start
        for unit in [*units, 0][:longest]:
            key = wrap(key * 1_000_003 + unit + 1)
            found.append(key)
    classes = [CLASSES[ALPHABET.index(c)] for c in word]
    shape = (classes[0] * 8 + classes[-1]) * 64 + sum(1 << number for number in set(classes))
    return [*found, wrap(shape * 1_000_003 + 3)]


def test_vectors_are_sums_over_affixes():
    embedding = make_embedding()
    vectors = embedding(*encode(WORDS))
    for word, vector in zip(WORDS, vectors, strict=True):
        rows = [
            1 + (wrap(key * factor) >> 33 & 0x3FFFFFFF) % ROWS
            for key in keys(word) for factor in affixes._MULTIPLIERS
        ]  # fmt: skip
        torch.testing.assert_close(vector, embedding.table.weight[rows].sum(0))


def test_vectors_do_not_depend_on_padding_and_are_zeros_at_first():
    embedding = make_embedding()
    characters, lengths = encode(WORDS)
    padded = torch.nn.functional.pad(characters, (0, 5))
    assert torch.equal(embedding(characters, lengths), embedding(padded, lengths))
    assert not AffixEmbedding(ROWS, SIZE, LOWER, CLASSES)(characters, lengths).any()


def test_words_with_the_same_ending_share_rows():
    embedding = AffixEmbedding(10_000, SIZE, LOWER, CLASSES)
    torch.nn.init.ones_(embedding.table.weight)
    characters, lengths = encode(["dabcd", "cabcd"])
    embedding(characters, lengths)[0].sum().backward()
    rows = embedding.table.weight.grad.any(1)
    embedding.table.weight.grad = None
    embedding(characters, lengths)[1].sum().backward()
    both = rows & embedding.table.weight.grad.any(1)
    assert both.sum() == 2 * (4 + 1)  # four endings and the shape, with two rows each


def test_dropout_removes_affixes_in_training_only():
    embedding = make_embedding(dropout=0.5)
    characters, lengths = encode(WORDS)
    assert not torch.equal(embedding(characters, lengths), embedding(characters, lengths))
    embedding.eval()
    assert torch.equal(embedding(characters, lengths), embedding(characters, lengths))
