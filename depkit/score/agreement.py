"""How systems complement one another: what they agree on, and which errors another has right.

Complementarity as Brill and Wu (1998, "Classifier combination for improved lexical
disambiguation"). The oracle chooses, word by word, a system that is right if there is one.
"""

from itertools import permutations
from typing import Any

import numpy as np

from depkit.score.analysis import Data
from depkit.score.groupings import Groups

METRICS = ("UAS", "LAS")


def agreement_rows(
    data: Data, metric: str = "LAS", groups: Groups | None = None, by: str | None = None
) -> list[dict[str, Any]]:
    """A row for every bin with scored words and every ordered pair of systems, bin by bin.

    metric: UAS compares heads, LAS heads and relations; groups: bins of the gold words, called
    `by`; one bin of all if None. Of the bin there are the `words`, and in percent the `oracle`,
    those that some system has right, and `all_right`, those that all have. Of the pair, those that
    `system` has right (`correct`, in percent `score`), to which both give the same answer
    (`agreed`, `agreement`), that neither has right (`common_errors`), and `complementarity`: the
    percentage of the system's errors that `other` has right, None if it has no errors.
    Raises ValueError for another metric and for fewer than two systems.
    """
    if metric not in METRICS:
        raise ValueError(f"agreement is of {' or '.join(METRICS)}, not {metric}")
    words, systems = data.words, data.words.systems
    if len(systems) < 2:
        raise ValueError("agreement is of two systems or more")
    groups = groups or Groups(np.zeros(words.size, np.int64), np.arange(words.size), ["all"])
    scored = data.scored[groups.word]

    def counted(chosen: np.ndarray) -> np.ndarray:
        """[bin] how many of these words, [word] bool, are scored."""
        code = groups.code[scored & chosen[groups.word]]
        return np.bincount(code, minlength=len(groups.labels))

    right = np.stack([correct[metric] for correct in data.correct])  # [system, word]
    answers = np.stack([system.head for system in systems])[:, None]  # [system, column, word]
    if metric == "LAS":
        labels = np.stack([system.code["deprel"] for system in systems])[:, None]
        answers = np.concatenate([answers, labels], axis=1)
    sizes = counted(np.ones(words.size, bool))
    oracle, all_right = counted(np.any(right, axis=0)), counted(np.all(right, axis=0))
    correct = [counted(of) for of in right]
    pairs = {
        (i, j): (counted((answers[i] == answers[j]).all(axis=0)), counted(~right[i] & ~right[j]))
        for i, j in permutations(range(len(systems)), 2)
    }
    found = []
    for b in np.flatnonzero(sizes).tolist():
        for (i, j), (agreed, common) in pairs.items():
            size, errors = int(sizes[b]), int(sizes[b] - correct[i][b])
            corrected = errors - int(common[b])
            found.append(
                {
                    "by": by,
                    "metric": metric,
                    "bin": groups.labels[b],
                    "system": systems[i].name,
                    "other": systems[j].name,
                    "words": size,
                    "correct": int(correct[i][b]),
                    "agreed": int(agreed[b]),
                    "common_errors": int(common[b]),
                    "score": 100.0 * int(correct[i][b]) / size,
                    "agreement": 100.0 * int(agreed[b]) / size,
                    "complementarity": 100.0 * corrected / errors if errors else None,
                    "oracle": 100.0 * int(oracle[b]) / size,
                    "all_right": 100.0 * int(all_right[b]) / size,
                }
            )
    return found
