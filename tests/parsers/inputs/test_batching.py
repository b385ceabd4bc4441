"""Batches contain every sentence once, have few shapes, and encode their sentences correctly."""

import numpy as np

from depkit.corpus.sentence import new_sentence
from depkit.parsers.config import Inputs
from depkit.parsers.families import get_family
from depkit.parsers.graph.config import BiaffineConfig
from depkit.parsers.inputs.batching import (
    LONGEST_WORD,
    MAX_RATIO,
    length_batches,
    rounded_length,
    similar_batches,
)
from depkit.parsers.inputs.dataset import IGNORED
from depkit.parsers.inputs.tables import ROOT, UNKNOWN
from tests.parsers.batches import cpu_batch
from tests.parsers.small_parsers import tree

CONFIG = BiaffineConfig(Inputs(tag=4, tag_column="upos", char=4, word_min_count=2))


SENTENCES = [
    tree("The dog barks", [2, 3, 0], "DET NOUN VERB", "det nsubj root"),
    tree("the DOG", [2, 0], "DET NOUN", "det root"),
]


def make_batch(sentences, indices):
    """Return the vocabulary of the sentences, and a batch of those with these indices."""
    family = get_family(CONFIG)
    vocabulary = family.vocabulary(sentences, CONFIG)
    data = family.examples(sentences, vocabulary, CONFIG)
    return vocabulary, cpu_batch(data, np.array(indices))


def batch_shapes(sizes, batches):
    return [(len(batch), rounded_length(int(sizes[batch].max()))) for batch in batches]


def test_batches_contain_each_sentence_once_and_keep_the_limit():
    sizes = np.random.default_rng(0).integers(2, 90, 500)
    for random in (None, np.random.default_rng(1)):
        batches = length_batches(sizes, 300, random)
        assert sorted(np.concatenate(batches).tolist()) == list(range(500))
        assert all(number * length <= 300 for number, length in batch_shapes(sizes, batches))
        assert len(set(batch_shapes(sizes, batches))) < 40


def test_batches_of_similar_lengths_contain_each_sentence_once_and_keep_the_limits():
    sizes = np.append(np.random.default_rng(0).integers(2, 90, 500), 1000)
    *batches, last = similar_batches(sizes, 300)
    assert sorted(np.concatenate([*batches, last]).tolist()) == list(range(501))
    assert last.tolist() == [500]
    assert all(len(batch) * sizes[batch].max() <= 300 for batch in batches)
    assert all(sizes[batch].max() <= MAX_RATIO * sizes[batch].min() for batch in batches)
    assert len(batches) < 1.2 * sum(sizes[:-1]) / 300 + 10


def test_batches_of_all_chunks_have_few_shapes():
    random = np.random.default_rng(0)
    shapes, repeated = set(), 0
    for _ in range(40):
        sizes = 2 + random.geometric(1 / 14, 400)
        batches = length_batches(sizes, 300, repeat_to_fill=True)
        *whole, last = batch_shapes(sizes, batches)
        assert all(number == 300 // length for number, length in whole)
        assert last[0] in possible_counts(300 // last[1])
        shapes |= {*whole, last}
        numbers = np.concatenate(batches)
        assert set(numbers.tolist()) == set(range(400))
        repeated += len(numbers) - 400
        order = [length for _, length in whole]
        assert order == sorted(order)
    assert len(shapes) < 50
    assert repeated / 40 < 6


def possible_counts(size: int) -> set[int]:
    return {size, size // 2, size // 2 // 2}


def test_a_gap_between_lengths_does_not_add_shapes():
    random = np.random.default_rng(0)
    for _ in range(200):
        sizes = random.choice([3, 4, 30, 31, 100, 290, 400], size=random.integers(1, 200))
        sizes = np.append(sizes, [4, 290, 290])  # so that there are several batches
        batches = length_batches(sizes, 300, repeat_to_fill=True)
        assert set(np.concatenate(batches).tolist()) == set(range(len(sizes)))
        assert all(n in possible_counts(max(1, 300 // m)) for n, m in batch_shapes(sizes, batches))


def test_one_batch_of_few_sentences_has_no_repetitions():
    assert [
        batch.tolist() for batch in length_batches(np.array([5, 9, 5]), 1000, repeat_to_fill=True)
    ] == [[1, 0, 2]]


def test_a_long_sentence_is_a_batch_of_its_own():
    batches = length_batches(np.array([5, 1000, 5]), 100)
    assert [1] in [batch.tolist() for batch in batches]


def test_order_is_random_and_repeatable():
    sizes = np.random.default_rng(0).integers(2, 30, 200)
    first = length_batches(sizes, 100, np.random.default_rng([1, 7]))
    again = length_batches(sizes, 100, np.random.default_rng([1, 7]))
    other = length_batches(sizes, 100, np.random.default_rng([1, 8]))
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert any(a.tolist() != b.tolist() for a, b in zip(first, other, strict=True))


def test_rounding_pads_by_less_than_an_eighth():
    for length in range(1, 6000):
        rounded = rounded_length(length)
        assert length <= rounded < length * 9 / 8


def test_a_batch_encodes_its_sentences():
    vocabulary, batch = make_batch(SENTENCES, [1, 0])
    assert vocabulary.words.symbols[3:] == ["dog", "the"]  # "barks" is too rare
    the, dog = vocabulary.words.get("the"), vocabulary.words.get("dog")
    assert batch["word"].tolist() == [[ROOT, the, dog, 0], [ROOT, the, dog, UNKNOWN]]
    assert batch["lengths"].tolist() == [3, 4]
    assert batch["target.head"].tolist() == [[IGNORED, 2, 0, IGNORED], [IGNORED, 2, 3, 0]]
    deprels = vocabulary.columns["deprel"].symbols
    labels = [[deprels[i] for i in row if i != IGNORED] for row in batch["target.deprel"].tolist()]
    assert labels == [["det", "root"], ["det", "nsubj", "root"]]
    tags = [[vocabulary.tables["tags"].symbols[i] for i in row] for row in batch["tag"].tolist()]
    assert tags == [["<root>", "DET", "NOUN", "<pad>"], ["<root>", "DET", "NOUN", "VERB"]]


def test_characters_of_a_batch_belong_to_its_forms():
    long_form = "x" * 20 + "y" * 50
    sentences = [*SENTENCES, new_sentence(["a", long_form, "a"])]
    vocabulary, batch = make_batch(sentences, [0, 1, 2])
    end_before = 0
    for end, width in batch.host["form_groups"]:
        assert (batch["form_sizes"][end_before:end] <= width).all()
        end_before = end
    assert end_before == len(batch["characters"])
    symbols = vocabulary.characters.symbols
    for row, sentence in enumerate(sentences):
        for position, form in enumerate(sentence.form, start=1):
            number = batch["form"][row, position]
            size = int(batch["form_sizes"][number])
            decoded = "".join(symbols[i] for i in batch["characters"][number, :size].tolist())
            half = LONGEST_WORD // 2
            assert decoded == (form if len(form) <= LONGEST_WORD else form[:half] + form[-half:])
