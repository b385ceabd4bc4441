"""The hinge loss against brute force over all trees, and the best label of every span."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from depkit.corpus.io import read
from depkit.nn.settings import Factored, SelfAttention
from depkit.parsers.columns.network import ColumnScores
from depkit.parsers.config import Inputs
from depkit.parsers.constituency import decoding as module
from depkit.parsers.constituency.config import ConstituencyConfig, ConstituentScorer
from depkit.parsers.constituency.examples import SPANS, labelled_spans
from depkit.parsers.constituency.network import SpanScores
from depkit.parsers.families import get_family
from depkit.trees import chart
from tests.conftest import TREES
from tests.parsers.batches import cpu_batch
from tests.trees.binary_trees import binary_trees, labelled_trees

CPU = torch.device("cpu")
CONFIG = ConstituencyConfig(
    inputs=Inputs(word=6, char=4, stop=True),
    encoder=SelfAttention(layers=1, size=8, heads=2, head_size=4, feedforward=8),
    scorer=ConstituentScorer(dropout=0.0, predict=["xpos"], hidden=7),
)


@pytest.fixture(scope="module")
def sentences():
    return list(read(TREES))


def make_network(sentences, config=CONFIG):
    torch.manual_seed(1)
    family = get_family(config)
    vocabulary = family.vocabulary(sentences, config)
    network = family.network(config, vocabulary).eval()
    return network, family.examples(sentences, vocabulary, config)


def span_scores(network, fenceposts, row, words):
    """Score all spans of a sentence one by one, [n + 1, n + 1, label], the empty label first."""
    labels = network.spans.second.out_features
    scores = torch.zeros(words + 1, words + 1, 1 + labels)
    for start in range(words):
        for end in range(start + 1, words + 1):
            span = torch.tensor([[row], [start], [end]])
            scores[start, end, 1:] = network.spans(fenceposts, *span)[0]
    return scores


def test_examples_have_the_spans_of_their_trees(sentences):
    _, examples = make_network(sentences)
    indices = np.array([4, 0, 20])
    batch = cpu_batch(examples, indices)
    labels = get_family(CONFIG).vocabulary(sentences, CONFIG).columns["constituents"]
    expected = [
        (row, span.start, span.end, labels.indices[symbol] + 1)
        for row, index in enumerate(indices)
        for span, symbol in labelled_spans(sentences[index])
    ]
    assert [tuple(span) for span in batch.host[SPANS].tolist()] == expected
    assert batch.words == sum(len(sentences[index]) for index in indices)


@pytest.mark.parametrize("max_spans", [10, 1 << 15])
@pytest.mark.parametrize("augmented", [False, True])
def test_the_best_labels_are_those_of_the_reference(max_spans, augmented, sentences, monkeypatch):
    monkeypatch.setattr(module, "MAX_SPANS", max_spans)
    network, examples = make_network(sentences)
    batch = cpu_batch(examples, np.array([0, 1, 20]))
    words = batch.sizes - 1
    gold = np.zeros((3, words.max() + 1, words.max() + 1), dtype=np.int64)
    row, start, end, label = batch.host[SPANS].T
    gold[row, start, end] = label
    with torch.no_grad():
        fenceposts = network.fenceposts(network.encode_with_stop(batch))
        scores, labels = module.find_best_labels(
            SpanScores(partial(network.spans, fenceposts), ColumnScores(), CPU).best_labels,
            words, gold if augmented else None,
        )  # fmt: skip
        for row, n in enumerate(words):
            all_scores = span_scores(network, fenceposts, row, n).numpy()
            sentence_gold = gold[row, : n + 1, : n + 1] if augmented else None
            best, best_labels = chart.best_labels(all_scores, sentence_gold)
            for start, end in zip(*np.triu_indices(n + 1, 1), strict=True):
                assert scores[row, start, end] == pytest.approx(best[start, end], abs=1e-5)
                assert labels[row, start, end] == best_labels[start, end]


def test_the_hinge_loss_and_its_gradient_equal_those_of_all_trees(sentences):
    """Labels other than those of the gold tree and one more are masked, to have few trees."""
    network, examples = make_network(sentences)
    short = [i for i, sentence in enumerate(sentences) if len(sentence) <= 4]
    assert len(short) >= 3
    for scale in (0.1, 3.0):
        torch.nn.init.normal_(network.spans.second.weight, std=scale)
        torch.nn.init.normal_(network.spans.second.bias, std=scale)
        for index in short:
            batch = cpu_batch(examples, np.array([index]))
            n = int(batch.sizes[0]) - 1
            used = sorted({*batch.host[SPANS][:, 3].tolist(), 1})
            mask = torch.full((network.spans.second.out_features,), -1e4)
            mask[torch.tensor(used) - 1] = 0.0
            with torch.no_grad():
                network.spans.second.bias += mask
            gold = np.zeros((n + 1, n + 1), dtype=np.int64)
            gold[batch.host[SPANS][:, 1], batch.host[SPANS][:, 2]] = batch.host[SPANS][:, 3]

            def gradient(loss):
                network.zero_grad()
                loss.backward()
                return torch.cat(
                    [p.grad.flatten() for p in network.parameters() if p.grad is not None]
                )

            encoded = network.encode_with_stop(batch)
            loss = network.hinge_loss(network.fenceposts(encoded), batch)
            computed = gradient(loss)
            fenceposts = network.fenceposts(network.encode_with_stop(batch))
            scores = span_scores(network, fenceposts, 0, n)
            labels = [0, *used]
            augmented = scores.detach().numpy() + 1
            augmented[(*np.indices(gold.shape), gold)] -= 1
            trees = (
                [(*span, labels[i]) for span, i in zip(spans, indices, strict=True)]
                for spans, indices in labelled_trees(n, len(labels))
            )
            best = max(trees, key=lambda tree: sum(augmented[span] for span in tree))
            wrong = sum(gold[start, end] != label for start, end, label in best)
            gold_spans = [tuple(span) for span in batch.host[SPANS][:, 1:].tolist()]
            expected = sum(scores[span] for span in best) + float(wrong)
            expected = expected - sum(scores[span] for span in gold_spans)
            assert loss.item() == pytest.approx(expected.item(), abs=1e-3)
            assert loss.item() >= -1e-5
            torch.testing.assert_close(computed, gradient(expected), rtol=1e-3, atol=1e-4)
            with torch.no_grad():
                network.spans.second.bias -= mask


def test_all_spans_of_a_batch_are_scored(monkeypatch):
    monkeypatch.setattr(module, "MAX_SPANS", 4)
    parts = list(module._all_spans(np.array([3, 1, 2])))
    assert max(part.shape[1] for part in parts) == 4
    found = {tuple(span) for span in np.concatenate(parts, axis=1).T.tolist()}
    expected = {
        (row, *span)
        for row, n in enumerate((3, 1, 2))
        for tree in binary_trees(0, n)
        for span in tree
    }
    assert found == expected


FACTORED = Factored(layers=1, size=6, heads=2, head_size=4, feedforward=8)
CONCATENATED = SelfAttention(
    layers=1, size=8, heads=2, head_size=4, feedforward=8, combine_positions="concat"
)


@pytest.mark.parametrize(
    ("encoder", "split"),
    [
        (FACTORED, "interleaved"),
        (replace(FACTORED, combine_positions="sum"), "interleaved"),
        (CONCATENATED, "interleaved"),
        (replace(CONCATENATED, combine_positions="sum"), "contiguous"),
    ],
)
def test_vectors_are_split_so_that_both_parts_have_contents_and_positions(
    encoder, split, sentences
):
    """In Kitaev and Klein (2018), footnote 2, even elements go forward and odd ones backward."""
    config = get_family(CONFIG).resolve_auto(replace(CONFIG, encoder=encoder), sentences)
    assert config.scorer.split == split
    network, examples = make_network(sentences, config)
    encoded = network.encode_with_stop(cpu_batch(examples, np.array([0])))
    forward, backward = encoded.chunk(2, dim=-1)
    if split == "interleaved":
        forward, backward = encoded[..., 0::2], encoded[..., 1::2]
    vectors = torch.cat((forward[:, :-1], backward[:, 1:]), dim=-1)
    torch.testing.assert_close(network.fenceposts(encoded), network.spans.project(vectors))
