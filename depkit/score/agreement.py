"""Agreement and complementarity of systems: where they agree, and whether their errors differ.

Complementarity is that of Brill and Wu (1998, "Classifier combination for improved lexical
disambiguation"). The oracle chooses for each word a system that is correct, if there is one.
"""

from itertools import permutations
from typing import Any

import numpy as np

from depkit.score.attachment import Data
from depkit.score.groupings import Groups, single_valued

METRICS = ("UAS", "LAS")


def agreement_rows(
    data: Data, metric: str = "LAS", groups: Groups | None = None, by: str | None = None
) -> list[dict[str, Any]]:
    """Compare every ordered pair of systems in every bin that has scored words.

    metric: "UAS" compares heads, "LAS" heads and relations; groups: the bins of the gold words,
    None for a single bin; by: the name of the grouping, which is copied into the rows.

    Returns a dict for each bin and pair of systems, bin by bin. It describes the bin: the number of
    scored `words`, and the percentages of words that at least one system has correct (`oracle`) and
    that all systems have correct (`all_right`). It describes the pair: how many words `system` has
    correct (`correct`, in percent `score`), for how many `system` and `other` have the same
    prediction (`agreed`, in percent `agreement`), how many both have wrong (`common_errors`), and
    the percentage of the errors of `system` that `other` has correct (`complementarity`, None if
    `system` makes no errors). Raises ValueError if `metric` is not one of METRICS, or there are
    fewer than two systems.
    """
    if metric not in METRICS:
        raise ValueError(f"agreement is measured for {' or '.join(METRICS)}, not for {metric}")
    words, systems = data.words, data.words.systems
    if len(systems) < 2:
        raise ValueError("agreement needs two systems or more")
    groups = groups or single_valued(np.zeros(words.size, np.int64), ["all"])
    scored = data.scored[groups.word_index]

    def count_in_bins(mask: np.ndarray) -> np.ndarray:
        """[word] bool -> [bin], how many of the words in the mask are scored."""
        bin_index = groups.bin_index[scored & mask[groups.word_index]]
        return np.bincount(bin_index, minlength=len(groups.labels))

    is_correct = np.stack([correct[metric] for correct in data.correct])  # [system, word]
    answers = np.stack([system.head for system in systems])[:, None]  # [system, column, word]
    if metric == "LAS":
        labels = np.stack([system.codes["deprel"] for system in systems])[:, None]
        answers = np.concatenate([answers, labels], axis=1)
    sizes = count_in_bins(np.ones(words.size, bool))
    oracle = count_in_bins(np.any(is_correct, axis=0))
    all_correct = count_in_bins(np.all(is_correct, axis=0))
    correct = [count_in_bins(mask) for mask in is_correct]
    pairs = {
        (i, j): (
            count_in_bins((answers[i] == answers[j]).all(axis=0)),
            count_in_bins(~is_correct[i] & ~is_correct[j]),
        )
        for i, j in permutations(range(len(systems)), 2)
    }
    rows = []
    for b in np.flatnonzero(sizes).tolist():
        for (i, j), (agreed, common) in pairs.items():
            size, errors = int(sizes[b]), int(sizes[b] - correct[i][b])
            corrected = errors - int(common[b])
            rows.append(
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
                    "all_right": 100.0 * int(all_correct[b]) / size,
                }
            )
    return rows
