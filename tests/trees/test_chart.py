"""CKY against brute force over all binary trees, without and with the Hamming loss."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from depkit.trees.chart import best_labels, decode_spans, find_best_binary_tree
from depkit.trees.compiled import interpreted
from tests.trees.binary_trees import binary_trees, labelled_trees


def draw_scores(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> np.ndarray:
    if kind == "tied":
        return rng.integers(-1, 2, shape).astype(np.float32)
    scores = rng.normal(size=shape).astype(np.float32) - 3 * (kind == "negative")
    return np.where(rng.random(shape) < 0.3, -np.inf, scores) if kind == "forbidden" else scores


def test_there_are_as_many_trees_as_catalan_numbers() -> None:
    assert [len(binary_trees(0, n)) for n in range(1, 7)] == [1, 1, 2, 5, 14, 42]


@pytest.mark.parametrize("kind", ["normal", "negative", "tied", "forbidden"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_tree_is_the_best_of_all_binary_trees(kind: str, dtype: type) -> None:
    rng = np.random.default_rng(3)
    for n in range(1, 7):
        for score in draw_scores(rng, (100, n + 1, n + 1), kind).astype(dtype):
            score[np.tril_indices(n + 1)] = np.nan  # these entries must not matter
            totals = [sum(float(score[span]) for span in tree) for tree in binary_trees(0, n)]
            if max(totals) == -np.inf:
                with pytest.raises(ValueError, match="sentence 0: there is no tree"):
                    decode_spans(score[None], [n])
                continue
            spans, (total,) = decode_spans(score[None], [n])
            tree = tuple(map(tuple, spans[0].tolist()))
            assert tree in binary_trees(0, n)
            assert total == pytest.approx(max(totals), abs=1e-5)
            assert sum(float(score[span]) for span in tree) == pytest.approx(total, abs=1e-5)


def test_compiled_and_interpreted_code_find_the_same_tree() -> None:
    score = np.random.default_rng(1).normal(size=(13, 13))
    spans = np.zeros((2, 23, 2), np.int32)
    total = find_best_binary_tree(score, spans[0])
    with interpreted():
        assert find_best_binary_tree(score, spans[1]) == total
    assert (spans[0] == spans[1]).all()


def test_a_batch_is_padded_and_can_be_decoded_by_threads() -> None:
    rng = np.random.default_rng(2)
    scores, lengths = rng.normal(size=(20, 31, 31)), rng.integers(1, 31, 20)
    spans, totals = decode_spans(scores, lengths)
    assert spans.shape == (20, 59, 2)
    for index, n in enumerate(lengths):
        alone, total = decode_spans(scores[None, index, : n + 1, : n + 1], [n])
        assert (spans[index, : 2 * n - 1] == alone[0]).all()
        assert not spans[index, 2 * n - 1 :].any()
        assert totals[index] == total[0]
    with ThreadPoolExecutor(3) as pool:
        in_threads = decode_spans(scores, lengths, pool.map)
    assert (in_threads[0] == spans).all() and (in_threads[1] == totals).all()


def test_the_kernel_does_not_hold_the_gil() -> None:
    assert find_best_binary_tree.dispatcher.targetoptions["nogil"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_labels_are_the_best_and_the_root_has_one(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(20):
        scores = rng.normal(size=(n + 1, n + 1, 3))
        scores[..., 0] = 0
        scores[0, n] -= 5  # the empty label would be the best one of the root
        expected = max(
            sum(scores[(*span, label)] for span, label in zip(tree, labels, strict=True))
            for tree, labels in labelled_trees(n, 3)
        )
        best, labels = best_labels(scores)
        assert labels[0, n] != 0
        assert decode_spans(best[None], [n])[1][0] == pytest.approx(expected)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_hinge_loss_equals_that_of_all_labelled_trees(n: int) -> None:
    rng = np.random.default_rng(10 + n)
    losses = []
    for _ in range(20):
        scores = 0.4 * rng.normal(size=(n + 1, n + 1, 3))
        scores[..., 0] = 0
        trees = list(labelled_trees(n, 3))
        gold_tree, gold_labels = trees[rng.integers(len(trees))]
        gold = np.zeros((n + 1, n + 1), int)
        for span, label in zip(gold_tree, gold_labels, strict=True):
            gold[span] = label
            scores[(*span, label)] += 1.5 * (label > 0)
        gold_score = sum(scores[(*span, gold[span])] for span in gold_tree)
        expected = (
            max(
                sum(
                    scores[(*span, label)] + (label != gold[span])
                    for span, label in zip(tree, labels, strict=True)
                )
                for tree, labels in trees
            )
            - gold_score
        )
        best, labels = best_labels(scores, gold)
        spans, (total,) = decode_spans(best[None], [n])
        start, end = spans[0].T
        wrong = int((labels[start, end] != gold[start, end]).sum())
        score = sum(scores[(*span, labels[span])] for span in map(tuple, spans[0].tolist()))
        assert score + wrong == pytest.approx(total + 2 * n - 1)
        assert score + wrong - gold_score == pytest.approx(expected)
        losses.append(expected)
    # The loss is never negative, because the gold tree is one of the trees.
    assert min(losses) > -1e-9 and max(losses) > 0.5


@pytest.mark.parametrize(
    ("scores", "lengths", "message"),
    [
        (np.zeros((1, 3, 4)), [2], "shape"),
        (np.zeros((1, 1, 1)), [1], "shape"),
        (np.zeros((1, 3, 3), int), [2], "type int64"),
        (np.zeros((1, 3, 3)), [2, 2], "for a batch of 1"),
        (np.zeros((1, 3, 3)), [0], "within 1..2"),
        (np.zeros((1, 3, 3)), [3], "within 1..2"),
        (np.full((1, 3, 3), np.nan), [2], "sentence 0: a score is NaN"),
        (np.full((1, 3, 3), np.inf), [2], "sentence 0: a score is NaN"),
    ],
)
def test_invalid_scores_are_refused(scores: np.ndarray, lengths: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode_spans(scores, lengths)
