"""The input layer: every choice of parts, their sizes, and characters encoded once per word."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from depkit.corpus.reader import read_lines
from depkit.corpus.sentence import new_sentence
from depkit.files.errors import FormatError
from depkit.nn.settings import BiLSTM, SelfAttention
from depkit.parsers.columns.config import TagScorer
from depkit.parsers.config import Inputs
from depkit.parsers.engine.form_cache import FormCache, _split_groups
from depkit.parsers.families import get_family
from depkit.parsers.inputs.context import Context
from depkit.parsers.inputs.dataset import encode
from depkit.parsers.inputs.parts import check_inputs, make_groups
from depkit.parsers.inputs.pretrained import Vectors
from depkit.parsers.inputs.tables import PAD, ROOT, SPECIAL, UNKNOWN, Table
from depkit.parsers.settings import ConfigError
from depkit.parsers.tagger.config import TaggerConfig
from tests.parsers.batches import cpu_batch
from tests.parsers.small_parsers import CPU

FILE = Vectors(file="vectors.txt", width=6)


def make_network(inputs, sentences, vectors=None, encoder=None):
    config = TaggerConfig(inputs, encoder or BiLSTM(layers=1, size=8))
    vocabulary = get_family(config).vocabulary(sentences, config)
    if vectors:
        vocabulary = vocabulary.with_table("vectors", Table(SPECIAL + vectors))
    torch.manual_seed(1)
    network = get_family(config).network(config, vocabulary).eval()
    return network, encode(sentences, vocabulary, inputs)


def compute_vectors(network, data):
    """Return the input vectors of each sentence, with w0 as the first word."""
    batch = cpu_batch(data, np.arange(len(data)))
    rows = network.inputs(batch).detach()
    return [row[:size] for row, size in zip(rows, data.sizes, strict=True)]


@pytest.mark.parametrize(
    ("inputs", "sizes"),
    [
        (Inputs(word=10, tag=5, char=7), {"word": 10, "tag": 5, "characters": 7}),
        (Inputs(word=6, vectors=FILE), {"word": 6}),
        (Inputs(word=0, vectors=FILE), {"word": 6}),
        (Inputs(word=10, vectors=replace(FILE, combine="concat")), {"word": 16}),
        (Inputs(word=0, context=Context(source="elmo", width=12, size=0)), {"context": 12}),
        (Inputs(word=4, context=Context(source="elmo", size=3)), {"word": 4, "context": 3}),
    ],
)  # fmt: skip
def test_parts_have_the_sizes_of_the_settings(inputs, sizes):
    groups = make_groups(inputs)
    assert {group.name: group.size for group in groups} == sizes


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (Inputs(word=0), "nothing to read"),
        (Inputs(word=10, vectors=FILE), "vectors.txt has vectors of 6 numbers.*inputs.word=6"),
        (Inputs(word=10, char=5, combine="sum"), "word 10, characters 5"),
    ],
)
def test_sizes_that_do_not_fit_are_errors(inputs, message):
    with pytest.raises(ConfigError, match=message):
        make_groups(inputs)


CHARACTERS = Inputs(word=8, char=8, char_kind="lstm", char_embedding=4, part_dropout=0.0)


@pytest.mark.parametrize(
    ("concatenated", "summed"),
    [
        (CHARACTERS, {"combine": "sum"}),
        (replace(CHARACTERS, char_kind="concat"), {"combine": "sum"}),
        (Inputs(word=6, vectors=replace(FILE, combine="concat")), {"vectors": FILE}),
    ],
    ids=["lstm", "concat", "vectors"],
)
def test_parts_are_concatenated_or_summed(concatenated, summed, tiny):
    words = sorted({form for sentence in tiny for form in sentence.form})[::2]
    words = words if concatenated.vectors.file else None
    first, data = make_network(concatenated, tiny, words)
    second, _ = make_network(replace(concatenated, **summed), tiny, words)
    second.inputs.load_state_dict(first.inputs.state_dict())
    size = concatenated.word
    for both, sum in zip(compute_vectors(first, data), compute_vectors(second, data), strict=True):
        assert both.shape[1] == 2 * size
        assert torch.equal(both[:, :size] + both[:, size:], sum)


@pytest.mark.parametrize("tune", [True, False])
def test_pretrained_vectors_are_trained_only_if_tuned(tiny, tune):
    network, _ = make_network(Inputs(word=6, vectors=replace(FILE, tune=tune)), tiny, ["the"])
    assert network.inputs.pretrained.weight.requires_grad == tune


def test_pretrained_vectors_are_looked_up_by_form_then_by_lower_case():
    sentences = [new_sentence(["The", "dog", "BARKS", "x"], {"deprel": list("abcd")})]
    inputs = Inputs(word=0, vectors=FILE)
    network, data = make_network(inputs, sentences, ["The", "barks", "the"])
    table = network.inputs.pretrained.weight
    assert data.words["vector"].tolist() == [PAD, ROOT, 3, UNKNOWN, 4, UNKNOWN]
    assert torch.equal(compute_vectors(network, data)[0], table[[ROOT, 3, UNKNOWN, 4, UNKNOWN]])


def test_rare_words_are_unknown_more_often_in_training():
    sentences = [new_sentence(["rare", *["often"] * 9], {"deprel": ["x"] * 10})] * 400
    inputs = Inputs(word=4, word_min_count=1, word_unknown=1.0, part_dropout=0.0)
    network, data = make_network(inputs, sentences)
    network.start_epoch(data)
    table = network.inputs.word
    table.counts //= 400  # as if the sentence occurred once
    batch = cpu_batch(data, np.arange(400))
    read = table.replace(batch["word"], 1.0, UNKNOWN, (PAD, ROOT))
    assert torch.equal(read, batch["word"])  # nothing changes in prediction
    torch.manual_seed(0)
    read = table.train().replace(batch["word"], 1.0, UNKNOWN, (PAD, ROOT))
    assert torch.equal(read[:, 0], batch["word"][:, 0])  # w0 is never replaced
    assert 0.42 < (read[:, 1] == UNKNOWN).float().mean() < 0.58  # 1 / (1 + 1)
    assert 0.07 < (read[:, 2:11] == UNKNOWN).float().mean() < 0.13  # 1 / (1 + 9)
    assert ((read == UNKNOWN) | (read == batch["word"])).all()


@pytest.mark.parametrize("part", ["word", "tag", "char_vector"])
def test_every_part_has_its_own_dropout(part, tiny):
    inputs = Inputs(
        word=8, tag=8, tag_column="upos", char=8, part_dropout=0.0, **{f"{part}_dropout": 0.5}
    )
    network, data = make_network(inputs, tiny)
    batch = cpu_batch(data, np.arange(len(data)))
    clean = network.inputs(batch)
    scale = (network.train().inputs(batch) / clean).detach()
    for name, block in zip(("word", "tag", "char_vector"), scale.split(8, dim=-1), strict=True):
        rows = [block[i, :size] for i, size in enumerate(data.sizes)]
        if name != part:
            assert all(torch.equal(row, torch.ones_like(row)) for row in rows)
            continue
        for row in rows:  # the words of a sentence share the mask
            assert torch.equal(row, row[:1].expand_as(row))
            assert set(row.unique().tolist()) <= {0.0, 2.0}
        assert 0 < np.mean([(row == 0).float().mean() for row in rows]) < 1


def test_initial_word_embeddings_have_the_given_deviation(tiny):
    words = {std: make_network(Inputs(word=50, word_std=std), tiny)[0].inputs.word.weight for std in
             (1.0, 0.07)}  # fmt: skip
    assert words[1.0][UNKNOWN + 1 :].std().item() == pytest.approx(1.0, abs=0.1)
    torch.testing.assert_close(words[0.07], 0.07 * words[1.0])


def test_boundaries_are_characters_of_every_word(tiny):
    network, data = make_network(Inputs(word=0, char=8, char_boundaries=True), tiny)
    plain, plain_data = make_network(Inputs(word=0, char=8), tiny)
    start, end = len(SPECIAL), len(SPECIAL) + 1
    assert network.inputs.char.embedding.num_embeddings == 2 + (
        plain.inputs.char.embedding.num_embeddings
    )
    rows = zip(
        data.form_arrays["characters"].tolist(),
        data.form_arrays["form_sizes"].tolist(),
        strict=True,
    )
    expected = zip(
        plain_data.form_arrays["characters"].tolist(),
        plain_data.form_arrays["form_sizes"].tolist(),
        strict=True,
    )
    for (row, size), (plain_row, plain_size) in list(zip(rows, expected, strict=True))[2:]:
        assert size == plain_size + 2
        inner = [i if i < len(SPECIAL) else i + 2 for i in plain_row[:plain_size]]
        assert row[:size] == [start, *inner, end]


def test_boundaries_of_a_long_word_are_kept():
    word = "a" * 20 + "b" * 20
    sentence = new_sentence([word], {"upos": ["X"], "xpos": ["X"], "feats": ["X"], "lemma": ["x"]})
    _, data = make_network(Inputs(word=0, char=8, char_boundaries=True), [sentence])
    row = data.form_arrays["characters"][2].tolist()
    start, end = len(SPECIAL), len(SPECIAL) + 1
    assert (len(row), row[0], row[-1]) == (32, start, end)
    assert row[1:16] == [row[1]] * 15
    assert row[16:31] == [row[30]] * 15


def test_the_predicted_tags_of_conll09_are_an_input():
    rows = ["1\tTo\tto\tto\tTO\tIN\t_\t_\t2\t2\taux\taux\t_\t_\t_\n",
            "2\tgo\tgo\tgo\tVB\tNN\t_\t_\t0\t0\troot\troot\tY\tgo.01\tA0\n"]  # fmt: skip
    (sentence,) = read_lines([*rows, "\n"])
    inputs = Inputs(word=0, tag=8, tag_column="ppos")
    config = TaggerConfig(inputs, BiLSTM(layers=1, size=8), TagScorer(predict=["xpos"]))
    vocabulary = get_family(config).vocabulary([sentence], config)
    assert vocabulary.tables["tags"].symbols[len(SPECIAL) :] == ["IN", "NN"]
    assert vocabulary.columns["xpos"].symbols == ["TO", "VB"]
    data = encode([sentence], vocabulary, inputs)
    assert data.words["tag"].tolist() == [PAD, ROOT, len(SPECIAL), len(SPECIAL) + 1]
    check_inputs(sentence, inputs)
    with pytest.raises(FormatError, match="no PPOS, but the parser reads it; give a CoNLL-09 file"):
        check_inputs(new_sentence(["To"]), inputs)


def test_the_stop_position_is_read_and_not_returned(tiny):
    network, data = make_network(Inputs(word=8, stop=True), tiny)
    batch = cpu_batch(data, np.arange(len(data)))
    read = []
    network.encoder.register_forward_pre_hook(lambda module, args: read.append(args))
    encoded = network.encode(batch)
    assert encoded.shape[:2] == batch["word"].shape
    ((x, lengths),) = read
    assert lengths.tolist() == [size + 1 for size in data.sizes]
    vectors = network.projection(network.inputs(batch))
    for row, size in enumerate(data.sizes.tolist()):
        assert torch.equal(x[row, :size], vectors[row, :size])
        assert torch.equal(x[row, size], network.stop)
    (gradient,) = torch.autograd.grad(encoded[0, 1].sum(), network.stop)
    assert gradient.abs().max() > 0


def test_relaxed_windows_leave_the_last_word_before_the_stop_position_free(tiny):
    encoder = SelfAttention(layers=1, size=8, heads=2, head_size=4, window=1, relaxed=True)
    network, data = make_network(Inputs(word=8, stop=True), tiny, encoder=encoder)
    batch = cpu_batch(data, np.array([int(data.sizes.argmax())]))
    last = int(data.sizes.max()) - 1
    # LayerNorm makes the sum of the whole vector 0, so its gradient would be 0 or rounding noise.
    output = network.encode(batch)[0, 4, :4].sum()
    (gradient,) = torch.autograd.grad(output, network.inputs.word.weight)
    assert gradient[batch["word"][0, last]].abs().max() > 0


@pytest.mark.parametrize("kind", ["lstm", "concat"])
def test_characters_are_encoded_once_per_word(kind, tiny, monkeypatch):
    network, data = make_network(Inputs(word=0, char=8, char_kind=kind, char_embedding=4), tiny)
    cache = FormCache(network.inputs)
    cached = replace(data, shared={"form_vectors": cache.vectors(data, CPU)}, form_arrays={})
    actual, expected = compute_vectors(network, cached), compute_vectors(network, data)
    torch.testing.assert_close(actual, expected)
    monkeypatch.setattr(network.inputs, "encode_forms", None)  # no second call
    assert torch.equal(cache.vectors(data, CPU), cached.shared["form_vectors"])


def test_the_cache_of_words_is_emptied_when_it_is_full(tiny, monkeypatch):
    monkeypatch.setattr("depkit.parsers.engine.form_cache.MAX_FORMS", 5)
    monkeypatch.setattr("depkit.parsers.engine.form_cache.BATCH_FORMS", 7)
    network, data = make_network(Inputs(word=0, char=8), tiny)
    cache = FormCache(network.inputs)
    first, again = cache.vectors(data, CPU), cache.vectors(data, CPU)
    torch.testing.assert_close(first, again)
    cached = replace(data, shared={"form_vectors": first}, form_arrays={})
    actual, expected = compute_vectors(network, cached), compute_vectors(network, data)
    torch.testing.assert_close(actual[0], expected[0])


def test_forms_are_encoded_in_parts_of_few_sizes():
    random = np.random.default_rng(0)
    for _ in range(50):
        ends = (32 * random.integers(1, 40, 4)).cumsum().tolist()
        groups = list(zip(ends, (4, 8, 16, 32), strict=True))
        parts = list(_split_groups(groups))
        assert {end - start for start, end, _ in parts} <= {32, 64, 128, 256}
        assert [start for start, _, _ in parts] == [0, *(end for _, end, _ in parts[:-1])]
        assert [(end, width) for _, end, width in parts if end in ends] == groups
        assert parts[-1][1] == ends[-1]
