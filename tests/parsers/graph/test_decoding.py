"""Decoding a batch gives the trees of the decoder on the host, and waits for the device at most
once. These tests run on the CPU, which uses the same tensor operations as a GPU."""

import numpy as np
import pytest
import torch

from depkit.nn.trees import best_heads, mask_root_label
from depkit.parsers.columns import network as columns_network
from depkit.parsers.columns.network import ColumnScores
from depkit.parsers.config import Inputs
from depkit.parsers.engine.device import PendingCopies
from depkit.parsers.ensembles import combine
from depkit.parsers.families import get_family
from depkit.parsers.graph import network as graph_network
from depkit.parsers.graph.decoding import Decoding, decode_heads
from depkit.parsers.graph.network import Scores
from depkit.trees.decode import ALGORITHMS, decode
from tests.parsers.batches import cpu_batch
from tests.parsers.graph.synchronisation import SynchronisationRecorder
from tests.parsers.small_parsers import make_one_batch, make_random_parser, set_calibration

INF = float("inf")


def decode_arcs(arc, words, decoding):
    """Return the heads that `decode_heads` finds for arc scores alone."""
    return decode_heads(Scores(arc, None, ColumnScores(), None), words, decoding)


def draw_scores(kind, seed, words, length):
    """Return random scores, masked as those of a parser, [batch, length, length] float32."""
    random = np.random.default_rng(seed)
    shape = (len(words), length, length)
    scores = random.normal(size=shape)
    position = np.arange(length)
    if kind == "tied":
        scores = random.integers(0, 3, shape).astype(float)
    if kind == "tree-like":  # the head is mostly the previous word
        scores += 2 * (position[:, None] == position + 1)
    if kind == "forbidden":
        chain = position[:, None] == position + 1  # at least this tree is not forbidden
        scores[(random.random(shape) < 0.3) & ~chain] = -INF
    is_masked = (position >= words[:, None] + 1)[:, None] | (position[:, None] == position)
    return np.where(is_masked, -INF, scores).astype(np.float32)


@pytest.mark.parametrize("kind", ["normal", "tied", "tree-like", "forbidden"])
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_best_heads_are_the_heads_of_the_decoder(algorithm, single_root, kind):
    words = np.random.default_rng(1).integers(0, 8, 400)
    scores = draw_scores(kind, 2, words, 10)
    expected = decode(scores, words, algorithm, single_root)
    tensor = torch.from_numpy(scores)
    lengths = torch.from_numpy(words + 1)
    results = best_heads(tensor, lengths, algorithm, single_root)
    heads, are_decoded = (result.numpy() for result in results)
    assert (heads[are_decoded] == expected[are_decoded]).all()
    best = decode(scores, words, "argmax")
    assert (heads == best).all()
    # Only sentences whose best heads are not the decoded ones are decoded on the host.
    assert (are_decoded == (best == expected).all(1)).all() or kind == "tied"
    assert algorithm == "argmax" or 80 < are_decoded.sum() < 350
    decoded = decode_arcs(tensor, words, Decoding(algorithm, single_root))
    assert decoded.dtype == np.int32
    # Rounding in the softmax can make equal scores of trees unequal.
    log_probabilities = tensor.log_softmax(-1).numpy()
    assert (decoded == decode(log_probabilities, words, algorithm, single_root)).all()
    assert (decoded == expected).all() or kind == "tied"


@pytest.mark.parametrize("invalid", [float("nan"), INF, -INF])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_invalid_score_is_reported_with_its_sentence(algorithm, invalid):
    words = np.array([3, 3, 3, 2])
    scores = torch.from_numpy(draw_scores("normal", 3, words, 4))
    scores[2, 0, 1:] = scores[3, 3] = invalid  # w0 and padding have no head
    decoding = Decoding(algorithm, False)
    expected = decode(draw_scores("normal", 3, words, 4), words, algorithm, False)
    assert (decode_arcs(scores, words, decoding) == expected).all()
    scores[1, 2] = invalid
    _, are_decoded = best_heads(scores, torch.from_numpy(words + 1), "argmax")
    assert are_decoded.tolist() == [True, False, True, True]
    with pytest.raises(ValueError, match="sentence 1: "):
        decode_arcs(scores, words, decoding)


@pytest.fixture(scope="module")
def parsers(tiny):
    """A parser, a parser without a root label, and an ensemble. Together they have sentences whose
    best heads are a tree, and sentences whose best heads are not."""
    parser = make_random_parser(tiny, 1)
    without_root_label = make_random_parser(tiny, 2, root_label="", encoder="selfatt")
    ensemble = combine([parser, make_random_parser(tiny, 3, inputs=Inputs(word=5))])
    all_parsers = (parser, without_root_label, ensemble)
    lengths = torch.tensor([len(sentence) + 1 for sentence in tiny])
    scores = [member.engine.score(make_one_batch(member, tiny)).arc for member in all_parsers]
    are_decoded = torch.cat([best_heads(arc.log_softmax(-1), lengths)[1] for arc in scores])
    assert {*are_decoded.tolist()} == {True, False}
    return [set_calibration(member) for member in all_parsers]


ROOTS = {True: "single", False: "multi"}
DECODINGS = [  # the algorithm, whether there is a single root, and the kind of probabilities
    None,
    *((algorithm, single, "") for algorithm in ALGORITHMS for single in (True, False)),
    ("mst", True, "local"),
    ("mst", False, "marginal"),
]


def predict_batch(parser, batch, sentences, decoding):
    """Return the sentences of a batch with predictions; if decoding is None, without trees."""
    with parser.engine.context():
        if decoding is None:
            return parser.tag_batch(batch, sentences, "predict")
        algorithm, single, kind = decoding
        options = {"algorithm": algorithm, "root": ROOTS[single], "probabilities": kind}
        return parser.parse_batch(batch, sentences, "predict", **options)


@pytest.mark.parametrize("decoding", DECODINGS, ids=str)
def test_a_batch_has_the_predictions_of_separate_steps_on_the_host(tiny, parsers, decoding):
    for parser in parsers:
        batch, columns = make_one_batch(parser, tiny), parser.vocabulary.columns
        scores = parser.engine.score(batch)
        values = dict(scores.columns)
        if decoding:
            log_probabilities = scores.arc.log_softmax(-1).numpy()
            sizes = list(map(len, tiny))
            heads = decode(log_probabilities, sizes, *decoding[:2])
            head = torch.as_tensor(heads, dtype=torch.int64)
            root = columns["deprel"].indices.get(parser.config.decoder.root_label)
            with torch.inference_mode():
                values["deprel"] = mask_root_label(scores.score_labels(head), head, root)
        best = {name: scores.argmax(-1).tolist() for name, scores in values.items()}
        predictions = predict_batch(parser, batch, tiny, decoding)
        for row, (gold, predicted) in enumerate(zip(tiny, predictions, strict=True)):
            words = slice(1, len(gold) + 1)
            assert predicted.head == (heads[row, words].tolist() if decoding else gold.head)
            assert decoding or predicted.deprel == gold.deprel
            for name, indices in best.items():
                expected = [columns[name].symbols[i] for i in indices[row][words]]
                assert getattr(predicted, name) == expected


def test_the_recorder_records_synchronising_operations():
    numbers = torch.arange(3)
    with SynchronisationRecorder() as recorder:
        float(numbers.sum())
        numbers[numbers > 1]
        torch.equal(numbers, numbers)
    assert recorder.names == ["_local_scalar_dense", "index", "equal"]


@pytest.mark.parametrize("decoding", DECODINGS, ids=str)
def test_prediction_waits_for_a_device_only_to_fetch(tiny, parsers, decoding, monkeypatch):
    fetched = []

    def fetch(tensors):
        fetched.extend(tensor.data_ptr() for tensor in tensors.values())
        return PendingCopies(tensors, None)

    def copy_to_cpu(tensor):
        assert tensor.data_ptr() in fetched  # otherwise the copy would wait behind other batches
        return tensor

    for importing_module in (graph_network, columns_network):
        monkeypatch.setattr(importing_module, "fetch", fetch)
    monkeypatch.setattr(torch.Tensor, "cpu", copy_to_cpu)
    for parser in parsers:
        batch = make_one_batch(parser, tiny)
        with SynchronisationRecorder() as recorder:
            predict_batch(parser, batch, tiny, decoding)
        assert recorder.names == []


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_scores_are_not_read_before_they_are_fetched(algorithm, single_root, monkeypatch):
    """Tensors of the device "meta" have no values: reading one raises an error."""
    words = np.array([5, 0, 3])
    scores = torch.from_numpy(draw_scores("normal", 4, words, 7))
    copied = []

    def fetch(tensors):
        assert {tensor.device.type for tensor in tensors.values()} == {"meta"}
        copied.extend(tensors)
        log_probabilities, lengths = scores.log_softmax(-1), torch.from_numpy(words + 1)
        best, are_decoded = best_heads(log_probabilities, lengths, algorithm, single_root)
        values = {"heads": best.int(), "are_decoded": are_decoded}
        return real_fetch(values | {"log_probabilities": log_probabilities})

    real_fetch = graph_network.fetch
    decoding = Decoding(algorithm, single_root)
    expected = decode_arcs(scores, words, decoding)
    monkeypatch.setattr(graph_network, "fetch", fetch)
    assert (decode_arcs(scores.to("meta"), words, decoding) == expected).all()
    # All that can be needed is copied at once.
    assert copied == ["heads", "are_decoded", "log_probabilities"]


@pytest.mark.parametrize("encoder", ["bilstm", "selfatt", "factored"])
def test_an_update_of_training_does_not_wait_for_a_device(tiny, encoder):
    inputs = Inputs(word=6, char=4, word_unknown=0.5, part_dropout=0.2, char_dropout=0.2)
    parser = make_random_parser(tiny, 1, encoder=encoder, inputs=inputs)
    network = parser.network.train()
    optimizer = torch.optim.Adam(network.parameters(), fused=True)
    family = get_family(parser.config)
    data = family.examples(tiny, parser.vocabulary, parser.config)
    network.start_epoch(data)
    with SynchronisationRecorder() as recorder:
        network(cpu_batch(data, np.arange(5))).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimizer.step()
    assert recorder.names == []
    assert network.arc.weight.grad.any()
