"""The texts without which a pattern cannot match, for `corpus.containing`."""

from collections.abc import Iterator, Sequence

from depkit.treebank.search.conditions import ENHANCED, Condition, LabelCondition
from depkit.treebank.search.graph import ANCHOR
from depkit.treebank.search.pattern import Conjunction, Pattern

_MAX_TEXTS = 20  # With more alternatives, searching for all of them is slower than reading.
# How rare the values of a column are; the rarest one is searched for first.
_RANKS = {"form": 0, "lemma": 1, "xpos": 3, "upos": 5}
_LABEL_RANK, _FEATURE_RANK = 2, 4
_NAME_RANK = 6  # of the name of a feature, whatever its value is


def required_texts(pattern: Pattern) -> list[list[str]]:
    r"""Return lists of texts; the lines of a sentence that matches contain a text of each list.

    A text may include tabs, such as `\tNOUN\t`. The first list is expected to be the rarest.
    """
    found = sorted(_find(pattern), key=lambda item: item[0])
    return [texts for _, texts in found if len(texts) <= _MAX_TEXTS]


def _find(pattern: Pattern) -> Iterator[tuple[int, list[str]]]:
    """Yield the rank of each list, and the list."""
    for block in [pattern.kernel, *(block for is_with, block in pattern.filters if is_with)]:
        for choices in block.nodes.values():
            for alternatives in choices:
                if item := _of_alternatives(alternatives):
                    yield item
        for edge in block.edges:
            if texts := _of_label(edge.label):
                yield _LABEL_RANK, texts


def _of_alternatives(alternatives: Sequence[Conjunction]) -> tuple[int, list[str]] | None:
    """Return what a disjunction needs: the union of what its conjunctions need most rarely."""
    items = []
    for conjunction in alternatives:
        found = [item for test in conjunction if (item := _of_feature(*test))]
        if not found:
            return None
        items.append(min(found, key=lambda item: item[0]))
    return max(rank for rank, _ in items), [text for _, texts in items for text in texts]


def _of_feature(name: str, condition: Condition) -> tuple[int, list[str]] | None:
    values = condition.required_values
    if name in _RANKS:
        if not values or ANCHOR in values:
            return None
        return _RANKS[name], [f"\t{value}\t" for value in values]
    if name in ("textform", "wordform", "__id__") or condition.absent:
        return None
    key = name.removeprefix("__MISC__").partition("__")[0]
    if not key:  # It begins with __, so it is no name of UD.
        return None
    if not values:  # The feature must be defined.
        return _NAME_RANK, [key]
    if key != name:  # Layers are written in another way in the file.
        return _FEATURE_RANK, [f"={value}" for value in values]
    return _FEATURE_RANK, [f"{key}={value}" for value in values]


def _of_label(label: LabelCondition) -> list[str]:
    r"""Return the texts of which a label needs one; it stands in DEPREL, or in DEPS."""
    if label.label:
        return [
            f":{value.removeprefix(ENHANCED)}" if value.startswith(ENHANCED) else f"\t{value}\t"
            for value in label.label.required_values
        ]
    parts = {name: condition.required_values for name, condition in label.parts}
    if values := parts.get("1"):
        return [f"{before}{value}" for value in values for before in "\t:"]
    return [f":{value}" for value in parts.get("2", ())]
