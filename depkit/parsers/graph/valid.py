"""Decoding of trees that are valid by the rules of UD, see `treebank.valid_labels`.

Heads are valid if punctuation marks, by their tags, have no dependents but punctuation marks, and
cross no arcs; then there are valid relations. The first rule is a mask of arcs. If the second is
broken, or if valid relations are less probable than the best ones, several of the best trees are
compared, and the best tree after its punctuation has been attached again. The most probable one of
the valid trees with their relations is chosen. The last resort, where every punctuation mark is
attached to the nearest word, is always valid.
"""

from collections.abc import Callable, Sequence

import numpy as np

from depkit.treebank.valid_labels import ValidLabels, crosses_arcs

CANDIDATES = 8  # the number of trees that are compared

# The log-probabilities of the labels of the arcs of a tree: heads, [n] -> [n, label]
ScoreLabels = Callable[[np.ndarray], np.ndarray]


def mask_punctuation(allowed: np.ndarray, is_punct: np.ndarray) -> None:
    """Forbid punctuation marks as heads of other words, and as children of the root, in place.

    In a sentence of punctuation marks alone, nothing changes.

    allowed: [n + 1, n + 1] (dependent, head); is_punct: [n].
    """
    if is_punct.all():
        return
    words = np.flatnonzero(~is_punct) + 1
    marks = np.flatnonzero(is_punct) + 1
    allowed[np.ix_(words, marks)] = False
    allowed[marks, 0] = False


def choose_valid_tree(
    scores: np.ndarray,
    trees: np.ndarray,
    tags: Sequence[str],
    *,
    rules: ValidLabels,
    score_labels: ScoreLabels,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Choose the most probable valid one of several trees with its relations.

    Args:
        scores: Log-probabilities of arcs, [n + 1, n + 1] (dependent, head), masked by
            `mask_punctuation`.
        trees: [trees, n], the best one first.
        tags: [n] UPOS.
        rules: The rules for the relations of the model.
        score_labels: Computes log-probabilities of relations.

    Returns:
        The heads, [n], and the indices of their relations, [n]; None if the model does not have
        the relations that are needed.
    """
    is_punct = np.array([tag == "PUNCT" for tag in tags])
    words = np.arange(1, len(tags) + 1)
    repaired = attach_punctuation(scores, trees[0], is_punct)
    candidates = [tree for tree in trees if not (crosses_arcs(tree) & is_punct).any()]
    if not any((tree == repaired).all() for tree in candidates):
        candidates.append(repaired)
    candidates.append(attach_to_nearest(trees[0], is_punct))
    best, best_total = None, -np.inf
    for number, heads in enumerate(candidates):
        if number == len(candidates) - 1 and best is not None:
            break
        chosen = rules.choose(heads, tags, score_labels(heads))
        if chosen is not None:
            labels, total = chosen
            total += float(scores[words, heads].sum())
            if best is None or total > best_total:
                best, best_total = (heads, labels), total
    return best


def attach_punctuation(scores: np.ndarray, heads: np.ndarray, is_punct: np.ndarray) -> np.ndarray:
    """Attach punctuation marks that cross arcs to the best heads where they cross none.

    If that fails, all of them are attached by `attach_to_nearest`. The arguments are those of
    `choose_valid_tree`.
    """
    result = heads.copy()
    for _ in range(len(heads)):
        crossing = np.flatnonzero(crosses_arcs(result) & is_punct)
        if not crossing.size:
            return result
        moved = [_attach_without_crossing(scores, result, i) for i in crossing.tolist()]
        if not any(moved):
            break
    return attach_to_nearest(heads, is_punct)


def _attach_without_crossing(scores: np.ndarray, heads: np.ndarray, i: int) -> bool:
    """Attach the word with index i, in place, to the best word where its arc crosses no other one.

    Returns whether there is one. Otherwise, and if it is a child of the root, nothing changes.
    """
    old = heads[i]
    for head in np.argsort(-scores[i + 1], kind="stable").tolist():
        if old == 0 or scores[i + 1, head] == -np.inf:
            break
        heads[i] = head
        if head != 0 and not _crosses(heads, i) and _is_rooted(heads, i + 1):
            return True
    heads[i] = old
    return False


def _crosses(heads: np.ndarray, i: int) -> bool:
    """Whether the arc of the word with index i crosses another one. O(n)."""
    words = np.arange(1, len(heads) + 1)
    low, high = np.minimum(words, heads), np.maximum(words, heads)
    starts_inside = (low[i] < low) & (low < high[i]) & (high > high[i])
    ends_inside = (low < low[i]) & (low[i] < high) & (high < high[i])
    return bool((starts_inside | ends_inside).any())


def _is_rooted(heads: np.ndarray, word: int) -> bool:
    """Whether a word descends from the root."""
    for _ in range(len(heads) + 1):
        if word == 0:
            return True
        word = int(heads[word - 1])
    return False


def attach_to_nearest(heads: np.ndarray, is_punct: np.ndarray) -> np.ndarray:
    """Attach each punctuation mark to the nearest other word before it, or else after it.

    Its arc has only punctuation marks with the same head inside, so it crosses no arc. In a
    sentence of punctuation marks alone, all are attached to the first child of the root.
    """
    result = heads.copy()
    words = np.flatnonzero(~is_punct) + 1
    if not words.size:
        root = int(np.flatnonzero(heads == 0)[0]) + 1
        result[:] = root
        result[root - 1] = 0
        return result
    for i in np.flatnonzero(is_punct).tolist():
        before = words[words <= i]
        result[i] = before[-1] if before.size else words[0]
    return result
