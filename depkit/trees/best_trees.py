"""The k best trees of a dense graph, projective or not, in the order of their scores.

The trees that remain after the best one are divided among smaller problems (Murty 1968; Lawler
1972): in the problem of word i, the words before i keep their heads of the best tree, and word i
must have another head. The best of the solutions is the next tree, and its problem is divided in
the same way. Camerini et al. (1980) and Hall (2007, "K-best spanning tree parsing") divide by arcs
instead. Here every problem is a matrix with forbidden arcs, so a single root and fixed arcs are
respected as by the decoder of the best tree.

A problem is solved only when its bound, the score of the best heads of its words, is the highest.
For the scores of a trained parser, few more than k problems are solved, in O(n^2) each; at worst
k n problems.
"""

import numpy as np

from depkit.trees.argmax import find_best_heads
from depkit.trees.compiled import compiled
from depkit.trees.decode import replace_by_arborescence
from depkit.trees.shape import is_tree

UNSOLVED, NOTHING = -1, -1


@compiled
def find_best_trees(
    score: np.ndarray, single_root: bool, heads: np.ndarray, value: np.ndarray
) -> int:
    """Write the best trees, the best one first, and return how many there are.

    Args:
        score: [n + 1, n + 1] (dependent, head), as for `find_maximum_arborescence`; n > 0.
        single_root: Whether the root must have exactly one child.
        heads: [k, n], overwritten with the heads of up to k different trees.
        value: [k] float64, overwritten with the scores of these trees.
    """
    k, n = heads.shape
    rest_score = sum_best_scores(score)
    # Arrays of problems. A problem has the words before `branch` fixed as in the tree `base`, and
    # at `branch` it forbids the head `other`, and those of the chain of problems `link`.
    size = 1 + k * n
    base, branch = np.full(size, NOTHING), np.zeros(size, np.int64)
    other, link = np.full(size, NOTHING), np.full(size, NOTHING)
    bound = np.full(size, -np.inf)  # of the score, or the score itself if the problem is solved
    solution = np.full(size, UNSOLVED)  # the row of its tree in `solved`
    solved = np.empty((2 * k + 8, n), np.int32)
    num_solved, count, found = 0, 1, 0
    bound[0] = np.inf
    masked = score.copy()
    while found < k:
        problem = int(bound[:count].argmax())
        if bound[problem] == -np.inf:
            break
        if solution[problem] == UNSOLVED:
            fixed = heads[max(base[problem], 0)]
            mask_problem(score, problem, fixed, branch[problem], other, link, masked)
            if num_solved == len(solved):
                larger = np.empty((2 * num_solved, n), np.int32)
                larger[:num_solved] = solved
                solved = larger
            head = solved[num_solved]
            if find_tree(masked, single_root, head):
                # Rounding must not make a later tree better than an earlier one.
                bound[problem] = min(bound[problem], sum_arc_scores(score, head))
                solution[problem] = num_solved
                num_solved += 1
            else:
                bound[problem] = -np.inf
            continue
        head = heads[found]
        head[:] = solved[solution[problem]]
        value[found] = bound[problem]
        bound[problem] = -np.inf
        found += 1
        if found == k:
            break
        # Divide the rest of the problem.
        fixed_score = 0.0
        for i in range(n):
            if i >= branch[problem]:
                base[count], branch[count], other[count] = found - 1, i, head[i]
                link[count] = problem if i == branch[problem] else NOTHING
                best_other = best_allowed_score(score, i, count, other, link)
                total = fixed_score + best_other + rest_score[i + 1]
                if total > -np.inf:
                    # The bound must not be too low because of rounding.
                    total += 1e-9 * (1.0 + abs(total))
                bound[count] = min(value[found - 1], total)
                count += 1
            fixed_score += score[i + 1, head[i]]
    return found


@compiled
def sum_best_scores(score: np.ndarray) -> np.ndarray:
    """Sum the scores of the best heads of all words from each word to the last, [n + 1]."""
    n = len(score) - 1
    total = np.zeros(n + 1)
    for i in range(n - 1, -1, -1):
        best = -np.inf
        for j in range(n + 1):
            if j != i + 1:
                best = max(best, score[i + 1, j])
        total[i] = total[i + 1] + best
    return total


@compiled
def best_allowed_score(
    score: np.ndarray, i: int, problem: int, other: np.ndarray, link: np.ndarray
) -> float:
    """Return the score of the best head that a problem allows for its word with index i."""
    allowed = score[i + 1].astype(np.float64)
    allowed[i + 1] = -np.inf
    while problem != NOTHING and other[problem] != NOTHING:
        allowed[other[problem]] = -np.inf
        problem = link[problem]
    return float(allowed.max())


@compiled
def mask_problem(
    score: np.ndarray,
    problem: int,
    fixed: np.ndarray,
    branch: int,
    other: np.ndarray,
    link: np.ndarray,
    masked: np.ndarray,
) -> None:
    """Write the scores of a problem, with -inf at the arcs that it forbids.

    fixed: [n], the heads of the words before `branch`; masked: overwritten. The other arguments
    are those of `find_best_trees`.
    """
    for i in range(len(score) - 1):
        if i < branch:
            masked[i + 1, :] = -np.inf
            masked[i + 1, fixed[i]] = score[i + 1, fixed[i]]
        else:
            masked[i + 1] = score[i + 1]
    while problem != NOTHING and other[problem] != NOTHING:
        masked[branch + 1, other[problem]] = -np.inf
        problem = link[problem]


@compiled
def find_tree(score: np.ndarray, single_root: bool, head: np.ndarray) -> bool:
    """Write the heads of the best tree; return whether there is one."""
    if not find_best_heads(score, head):
        return False
    if is_tree(head, single_root):
        return True
    return replace_by_arborescence(score, single_root, head)


@compiled
def sum_arc_scores(score: np.ndarray, head: np.ndarray) -> float:
    """Sum the scores of the arcs of a tree."""
    total = 0.0
    for i in range(head.size):
        total += score[i + 1, head[i]]
    return total
