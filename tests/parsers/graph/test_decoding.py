"""Best heads on a device against the decoder of the host, and batches that are pending against
those that are not; the same tensors are computed here as on a GPU."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from depkit.parsers.config import Calibration, Inputs
from depkit.parsers.graph.decoding import Decoding, are_crossing, are_trees, best_heads, launch
from depkit.parsers.graph.ensemble import combine
from depkit.parsers.graph.probabilities import chosen_probabilities, head_marginals
from depkit.parsers.inputs.batches import encode, make_batch
from depkit.trees.decode import ALGORITHMS, decode
from depkit.trees.shape import crossing, is_tree
from tests.parsers.graph.test_ensemble import other

# what a GPU would have to be waited for to answer
ASKING = {
    "_local_scalar_dense", "bincount", "equal", "is_nonzero", "masked_select", "nonzero",
    "repeat_interleave", "_unique2",
}  # fmt: skip
INF = float("inf")


def assignments(padding):
    """All heads of up to five words, padded: heads [all, 6 + padding], lengths [all]."""
    rows = [(0, *heads) for n in range(6) for heads in product(range(n + 1), repeat=n)]
    length = 6 + padding
    heads = torch.tensor([[*row, *[0] * (length - len(row))] for row in rows])
    return heads, torch.tensor([len(row) for row in rows])


@pytest.mark.parametrize("padding", [0, 3])
@pytest.mark.parametrize("single_root", [True, False])
def test_all_small_assignments_are_trees_or_not(single_root, padding):
    heads, lengths = assignments(padding)
    found = are_trees(heads, lengths, single_root)
    rows = zip(heads.numpy().astype(np.int32), lengths.tolist(), strict=True)
    assert found.tolist() == [is_tree(row[1:length], single_root) for row, length in rows]


@pytest.mark.parametrize("padding", [0, 3])
def test_all_small_assignments_cross_or_not(padding):
    heads, lengths = assignments(padding)
    found = are_crossing(heads, lengths)
    rows = zip(heads.numpy().astype(np.int32), lengths.tolist(), strict=True)
    assert found.tolist() == [crossing(row[1:length]) for row, length in rows]


@pytest.mark.parametrize("words", [*range(1, 10), 15, 16, 17, 31, 32, 33, 100])
def test_a_chain_is_followed_to_its_end(words):
    up, down = torch.arange(words + 1) - 1, torch.arange(words + 1) + 1
    up[0] = down[0] = down[-1] = 0
    cut = up.clone()
    cut[1] = words  # all on one cycle, as long as can be
    heads, lengths = torch.stack((up, down, cut)), torch.full((3,), words + 1)
    assert are_trees(heads, lengths, single_root=True).tolist() == [True, True, False]


def draw(kind, seed, words, length):
    """Scores as a parser gives them, [batch, length, length] float32."""
    random = np.random.default_rng(seed)
    shape = (len(words), length, length)
    scores = random.normal(size=shape)
    place = np.arange(length)
    if kind == "tied":
        scores = random.integers(0, 3, shape).astype(float)
    if kind == "tree-like":  # the word before, mostly
        scores += 2 * (place[:, None] == place + 1)
    if kind == "forbidden":
        chain = place[:, None] == place + 1  # so that there is a tree at least
        scores[(random.random(shape) < 0.3) & ~chain] = -INF
    barred = (place >= words[:, None] + 1)[:, None] | (place[:, None] == place)
    return np.where(barred, -INF, scores).astype(np.float32)


@pytest.mark.parametrize("kind", ["normal", "tied", "tree-like", "forbidden"])
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_settled_sentences_are_as_decoded(algorithm, single_root, kind):
    words = np.random.default_rng(1).integers(0, 8, 400)
    scores = draw(kind, 2, words, 10)
    expected = decode(scores, words, algorithm, single_root)
    heads, settled = best_heads(
        torch.from_numpy(scores), torch.from_numpy(words + 1), algorithm, single_root
    )
    heads, settled = heads.numpy(), settled.numpy()
    assert (heads[settled] == expected[settled]).all()
    best = decode(scores, words, "argmax")
    assert (heads == best).all()
    # no sentence goes to the host whose best heads are what it would give
    assert (settled == (best == expected).all(1)).all() or kind == "tied"
    assert algorithm == "argmax" or 80 < settled.sum() < 350


@pytest.mark.parametrize("bad", [float("nan"), INF])
def test_what_is_no_score_settles_nothing(bad):
    words = np.array([3, 3, 3, 2])
    scores = draw("normal", 3, words, 4)
    scores[1, 2, 1] = bad
    scores[2, 0, 1] = scores[3, 3, 1] = bad  # w0 has no head, nor has padding
    _, settled = best_heads(torch.from_numpy(scores), torch.from_numpy(words + 1), "argmax")
    assert settled.tolist() == [True, False, True, True]
    scores = draw("normal", 3, words, 4)
    scores[0, 3] = -INF
    _, settled = best_heads(torch.from_numpy(scores), torch.from_numpy(words + 1), "argmax")
    assert settled.tolist() == [False, True, True, True]


def prepared_batches(parser, sentences):
    """What `launch` takes, of three batches."""
    prepared = parser.preparer()(sentences, [])
    for numbers in np.array_split(np.arange(len(sentences)), 3):
        yield prepared, numbers, np.array([len(sentences[number]) for number in numbers])


@pytest.fixture(scope="module")
def parsers(tiny):
    """A parser, one without a rule for the root's relation, and an ensemble of two."""
    one = other(tiny, 1)
    free = other(tiny, 2, root_label="", encoder="selfatt")
    two = combine([one, other(tiny, 3, inputs=Inputs(word=5))])
    warm = Calibration(arc=2.5, label=0.4, marginal=1.7)
    return [replace(each, config=replace(each.config, calibration=warm)) for each in
            (one, free, two)]  # fmt: skip


@torch.inference_mode()
def analysed(parser, prepared, numbers, words, decoding):
    """What a pending batch is to come to, one step after the other."""
    if decoding is None:
        columns = parser.tag_scores_of(prepared, numbers)
        return {name: column.argmax(-1).numpy() for name, column in columns.items()}
    scores = parser.scores_of(prepared, numbers)
    heads = parser.decoded(scores.arc, words, decoding)
    at_heads = torch.as_tensor(heads, dtype=torch.int64)
    label = parser.barred(scores.label_at(at_heads), at_heads)
    columns = scores.columns | {"deprel": label}
    found = {name: column.argmax(-1).numpy() for name, column in columns.items()}
    warm = parser.config.calibration
    if decoding.probabilities:
        found["label"] = chosen_probabilities(label, label.argmax(-1), warm.label).numpy()
    if decoding.probabilities == "local":
        found["arc"] = chosen_probabilities(scores.arc, at_heads, warm.arc).numpy()
    if decoding.probabilities == "marginal":
        single = decoding.single_root
        found["arc"] = head_marginals(scores.arc, heads, words, single, warm.marginal)
    return found | {"head": heads}


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        assert (found[name] == array).all(), name


DECODINGS = [
    None,
    *(Decoding(algorithm, single) for algorithm in ALGORITHMS for single in (True, False)),
    Decoding("mst", True, "local"),
    Decoding("mst", False, "marginal"),
]


@pytest.mark.parametrize("decoding", DECODINGS, ids=str)
def test_pending_batches_come_to_the_same(tiny, parsers, decoding):
    for parser in parsers:
        batches = list(prepared_batches(parser, tiny))
        expected = [analysed(parser, *batch, decoding) for batch in batches]
        # all at once; and one behind the other, in three steps
        pending = [launch(parser, *batch, decoding) for batch in batches]
        for each, results in reversed(list(zip(pending, expected, strict=True))):
            assert_same(each.finish(), results)
            assert_same(each.finish(), results)
        one, two, three = (launch(parser, *batch, decoding) for batch in batches)
        two.settle()
        one.settle()
        for each, results in zip((one, two, three), expected, strict=True):
            assert_same(each.finish(), results)


def test_the_parsers_have_trees_to_look_for_and_others(tiny, parsers):
    settled = []
    for parser in parsers:
        prepared, numbers, words = next(prepared_batches(parser, tiny))
        with torch.inference_mode():
            logs = parser.scores_of(prepared, numbers).arc.log_softmax(-1)
        settled += best_heads(logs, torch.from_numpy(words + 1))[1].tolist()
    assert {*settled} == {True, False}


def test_errors_name_the_sentence_of_the_batch(tiny, monkeypatch):
    parser = other(tiny, 1)
    batch = next(prepared_batches(parser, tiny))
    scores_of = parser.scores_of
    number = len(batch[1]) - 1

    def broken(prepared, numbers):
        scores = scores_of(prepared, numbers)
        scores.arc[number, 1] = float("nan")
        return scores

    monkeypatch.setattr(parser, "scores_of", broken)
    with pytest.raises(ValueError, match=f"sentence {number}: an arc score is NaN"):
        launch(parser, *batch, Decoding("mst", True)).finish()


class Listening(TorchDispatchMode):
    """Notes what is asked of tensors that a GPU would have to be waited for to answer."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func._schema.name.removeprefix("aten::")
        by_mask = name.startswith("index") and any(
            each is not None and each.dtype == torch.bool
            for part in args[1:2]
            if isinstance(part, list | tuple)
            for each in part
        )
        if name in ASKING or by_mask:
            self.asked.append(name)
        return func(*args, **(kwargs or {}))


def test_listening_hears():
    numbers = torch.arange(3)
    with Listening() as listening:
        float(numbers.sum())
        numbers[numbers > 1]
        torch.equal(numbers, numbers)
    assert listening.asked == ["_local_scalar_dense", "index", "equal"]


@pytest.mark.parametrize("decoding", DECODINGS, ids=str)
def test_nothing_is_asked_of_a_device(tiny, parsers, decoding):
    for parser in parsers:
        batch = next(prepared_batches(parser, tiny))
        with Listening() as listening:
            launch(parser, *batch, decoding).finish()
        assert listening.asked == []


@pytest.mark.parametrize("encoder", ["bilstm", "selfatt", "factored"])
def test_nor_in_an_update_of_training(tiny, encoder):
    inputs = Inputs(word=6, char=4, word_unknown=0.5, part_dropout=0.2, char_dropout=0.2)
    parser = other(tiny, 1, encoder=encoder, inputs=inputs)
    network = parser.network.train()
    optimizer = torch.optim.Adam(network.parameters(), fused=True)
    data = encode(tiny, parser.vocabulary, parser.config, parser.device)
    network.inputs.counts = torch.bincount(data.word, minlength=len(parser.vocabulary.words))
    with Listening() as listening:
        network.loss(make_batch(data, np.arange(5))).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimizer.step()
    assert listening.asked == []
    assert network.arc.weight.grad.any()
