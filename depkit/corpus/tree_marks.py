"""What sentences say about their trees: probabilities in MISC, and ranks in comments."""

import re
from collections.abc import Sequence

ARC_PROB, LABEL_PROB = "ArcProb", "LabelProb"  # in MISC
TREE, TREE_PROB = "tree", "prob"  # the comments of a sentence with several trees
RANK = re.compile(r"([1-9]\d{0,8}) of [1-9]\d{0,8}")  # the value of `tree`
_TREE_COMMENT = re.compile(rf"#\s*{TREE}\s*=\s*{RANK.pattern}\s*")
_PROB_COMMENT = re.compile(rf"#\s*{TREE_PROB}\s*=\s*[0-9.e-]+\s*")


def remove_probabilities(cell: str) -> str:
    """Remove probabilities of a tree from a value of MISC; `_` if nothing remains."""
    if "Prob" not in cell:
        return cell
    parts = cell.split("|")
    kept = (part for part in parts if part.partition("=")[0] not in (ARC_PROB, LABEL_PROB))
    return "|".join(kept) or "_"


def rank_comments(lines: Sequence[str]) -> list[int]:
    """Return the indices of the comments that give the rank and the probability of a tree.

    A comment `prob` counts only beside a comment such as `tree = 2 of 5`.
    """
    ranks = [i for i, line in enumerate(lines) if _TREE_COMMENT.fullmatch(line)]
    if not ranks:
        return []
    return ranks + [i for i, line in enumerate(lines) if _PROB_COMMENT.fullmatch(line)]
