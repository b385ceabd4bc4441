"""The best relations of a tree by the rules of UD that heads, relations and tags decide.

The rules are those of the guidelines of UD, version 2 (universaldependencies.org/guidelines.html),
for the part of a relation before its colon:

- `root` is the relation of the children of the root and of no other word.
- A word has at most one subject, those with the subtype `outer` not counted, and one `obj`.
- `conj`, `fixed`, `flat`, `goeswith` and `appos` follow their heads; `goeswith` immediately.
- Function words, punctuation and parts of fixed expressions have no dependents but those in
  ALLOWED_CHILDREN.
- `orphan` depends on the head of a clause; a dependent of a noun in a nominal relation is no `obl`.
- Relations and tags match as in TAGS and EXCLUDED_TAGS, `punct` and PUNCT in both directions.
- `punct` crosses no other arc.

The relations of all words are chosen together, by dynamic programming over the tree: what a word
may have as dependents depends only on the class of its own relation. Two rules are stricter than
the guidelines: `goeswith` must be next to its head, and `obl` is excluded below all nouns in
nominal relations, also if they have a copula or a subject.
"""

from collections.abc import Sequence

import numpy as np

from depkit.corpus.universal import base_relation

_AFTER_FUNCTION_WORDS = {"goeswith", "fixed", "reparandum", "conj", "cc", "punct"}
_AFTER_MARKERS = _AFTER_FUNCTION_WORDS | {"advmod", "obl"}
# The relations of the dependents of words with these relations
ALLOWED_CHILDREN: dict[str, set[str]] = {
    "case": _AFTER_MARKERS,
    "mark": _AFTER_MARKERS,
    "clf": _AFTER_MARKERS,
    "aux": _AFTER_FUNCTION_WORDS,
    "cop": _AFTER_FUNCTION_WORDS,
    "cc": _AFTER_FUNCTION_WORDS - {"cc"},
    "det": _AFTER_MARKERS | {"det", "case", "clf", "flat", "compound", "discourse", "parataxis"},
    "fixed": {"goeswith", "reparandum", "conj", "punct"},
    "goeswith": set(),
    "punct": {"punct"},
}
LEFT_TO_RIGHT = frozenset(("conj", "fixed", "flat", "goeswith", "appos"))
SUBJECTS = frozenset(("nsubj", "csubj"))
CLAUSAL = frozenset("conj parataxis root csubj ccomp advcl acl reparandum".split())
NOMINAL = frozenset("nsubj obj iobj obl vocative dislocated expl nmod".split())
NOUNS = frozenset(("NOUN", "PROPN", "PRON"))
# The tags that words with a relation can have
TAGS: dict[str, frozenset[str]] = {
    "det": frozenset(("DET", "PRON")),
    "nummod": frozenset(("NUM", "NOUN", "SYM")),
    "advmod": frozenset(("ADV", "ADJ", "CCONJ", "DET", "PART", "SYM")),
    "expl": frozenset(("PRON", "DET", "PART")),
    "aux": frozenset(("AUX",)),
    "cop": frozenset(("AUX", "PRON", "DET", "SYM")),
    "goeswith": frozenset(("X",)),
    "punct": frozenset(("PUNCT",)),
}
# The tags that they cannot have
EXCLUDED_TAGS: dict[str, frozenset[str]] = {
    "case": frozenset("PROPN ADJ PRON DET NUM AUX".split()),
    "mark": frozenset("NOUN PROPN ADJ PRON DET NUM AUX INTJ".split()),
    "cc": frozenset("NOUN PROPN ADJ PRON DET NUM VERB AUX INTJ".split()),
    "fixed": frozenset(("PROPN",)),
}
UNKNOWN = "_"  # a tag about which there are no rules

# A word has at most one child of each of these kinds; OTHER children are not limited.
OTHER, SUBJECT, OBJECT = range(3)


class ValidLabels:
    """The rules for a set of relations.

    labels: all relations that can be chosen.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        bases = [base_relation(label) for label in labels]
        self.bases = bases
        self.is_root = np.array([base == "root" for base in bases])
        self.follows_head = np.array([base in LEFT_TO_RIGHT for base in bases])
        self.kind = np.array([_kind(*pair) for pair in zip(labels, bases, strict=True)])
        self.classes = [*ALLOWED_CHILDREN, "clausal", "nominal", "other"]
        self.class_of = np.array([self.classes.index(_class(base)) for base in bases])
        # [class of the head's relation, relation of the dependent]
        self.allowed = np.array(
            [[self._allows(name, base) for base in bases] for name in self.classes]
        )
        self._by_tag: dict[str, np.ndarray] = {}

    @staticmethod
    def _allows(head_class: str, base: str) -> bool:
        if head_class in ALLOWED_CHILDREN:
            return base in ALLOWED_CHILDREN[head_class]
        return base != "orphan" or head_class == "clausal"

    def by_tag(self, tag: str) -> np.ndarray:
        """Return which relations a word with a tag can have, apart from `root`: [label] bool."""
        if tag not in self._by_tag:
            self._by_tag[tag] = np.array(
                [
                    tag == UNKNOWN
                    or (
                        tag in TAGS.get(base, {tag})
                        and tag not in EXCLUDED_TAGS.get(base, ())
                        and (tag != "PUNCT" or base == "punct")
                    )
                    for base in self.bases
                ]
            )
        return self._by_tag[tag]

    def possible(self, heads: np.ndarray, tags: Sequence[str]) -> np.ndarray:
        """Return which relations each word can have, whatever those of others: [n, label] bool.

        heads: [n], those of a tree; tags: [n] UPOS, UNKNOWN if there is none.
        """
        words = np.arange(1, len(heads) + 1)
        possible = np.array([self.by_tag(tag) for tag in tags])
        possible &= ~(self.follows_head & (heads > words)[:, None])
        is_goeswith = np.array([base == "goeswith" for base in self.bases])
        possible &= ~(is_goeswith & (heads != words - 1)[:, None])
        is_punct = np.array([base == "punct" for base in self.bases])
        possible &= ~(is_punct & crosses_arcs(heads)[:, None])
        head_is_name = np.array([False, *(tag == "PROPN" for tag in tags)])[heads]
        is_fixed = np.array([base == "fixed" for base in self.bases])
        possible &= ~(is_fixed & head_is_name[:, None])
        result: np.ndarray = np.where((heads == 0)[:, None], self.is_root, possible & ~self.is_root)
        return result

    def allowed_below(self, tag: str) -> np.ndarray:
        """Return the relations of dependents by the class of the head: [class, label] bool.

        tag: that of the head.
        """
        if tag not in NOUNS:
            return self.allowed
        allowed = self.allowed.copy()
        allowed[self.classes.index("nominal"), [base == "obl" for base in self.bases]] = False
        return allowed

    def are_valid(self, heads: np.ndarray, labels: np.ndarray, tags: Sequence[str]) -> bool:
        """Whether relations, which `possible` allows for single words, are valid together."""
        for kind in (SUBJECT, OBJECT):
            count = np.bincount(heads[self.kind[labels] == kind], minlength=len(heads) + 1)
            if (count > 1).any():
                return False
        below = heads > 0
        head_class = self.class_of[labels][heads[below] - 1]
        if not self.allowed[head_class, labels[below]].all():
            return False
        is_noun = np.array([tag in NOUNS for tag in tags])[heads[below] - 1]
        is_oblique = np.array([base == "obl" for base in self.bases])[labels[below]]
        nominal = head_class == self.classes.index("nominal")
        return not bool((is_noun & is_oblique & nominal).any())

    def choose(
        self, heads: np.ndarray, tags: Sequence[str], scores: np.ndarray
    ) -> tuple[np.ndarray, float] | None:
        """Choose the valid relations of a tree with the highest sum of scores.

        Args:
            heads: [n], those of a tree.
            tags: [n] UPOS, UNKNOWN if there is none.
            scores: [n, label].

        Returns:
            The indices of the labels, [n], and their sum; None if there are no valid ones.
        """
        n = len(heads)
        scores = np.where(self.possible(heads, tags), scores, -np.inf)
        best = scores.argmax(1)
        total = float(scores[np.arange(n), best].sum())
        if total == -np.inf:
            return None
        if self.are_valid(heads, best, tags):
            return best, total
        children: list[list[int]] = [[] for _ in range(n + 1)]
        for word, head in enumerate(heads.tolist(), start=1):
            children[head].append(word)
        # The best score of a word's subtree for each class of its relation, without its own score
        below = np.zeros((n + 1, len(self.classes)))
        choices: list[list[np.ndarray]] = [[] for _ in range(n + 1)]  # see `_add_children`
        for word in _children_first(children):
            total_scores = [scores[c - 1] + below[c][self.class_of] for c in children[word]]
            if word:
                allowed = self.allowed_below(tags[word - 1])
                below[word], choices[word] = self._add_children(total_scores, allowed)
        best = np.full(n, -1)
        total = 0.0
        for word in reversed(_children_first(children)):
            if not word:
                for child in children[0]:
                    value = scores[child - 1] + below[child][self.class_of]
                    best[child - 1] = value.argmax()
                    total += float(value.max())
                if total == -np.inf:
                    return None
                continue
            head_class = self.class_of[best[word - 1]]
            for child, labels in zip(
                children[word], self._trace(choices[word], head_class), strict=True
            ):
                best[child - 1] = labels
        return best, total

    def _add_children(
        self, scores: Sequence[np.ndarray], allowed: np.ndarray
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Choose the labels of the children of a word, for each class of the word's relation.

        scores: for each child, [label], those of its label and of the words below it; allowed:
        [class, label].

        Returns the best sums, [class], and for each child an array [class, used], with the label
        that it has in the best choice for it and the children before it, where `used` says whether
        they have a subject (1) and an object (2).
        """
        states = np.full((len(allowed), 4), -np.inf)
        states[:, 0] = 0.0
        choices = []
        for score in scores:
            values = np.where(allowed, score, -np.inf)  # [class, label]
            new = np.full_like(states, -np.inf)
            chosen = np.zeros(states.shape, np.int64)
            for kind in (OTHER, SUBJECT, OBJECT):
                of_kind = np.where(self.kind == kind, values, -np.inf)
                label = of_kind.argmax(1)
                value = of_kind.max(1)
                for used in range(4):
                    if kind and used & kind:
                        continue
                    total = states[:, used] + value
                    better = total > new[:, used | kind]
                    new[better, used | kind] = total[better]
                    chosen[better, used | kind] = label[better]
            states = new
            choices.append(chosen)
        return states.max(1), [*choices, states]

    def _trace(self, choices: Sequence[np.ndarray], head_class: int) -> list[int]:
        """Return the labels of the children of a word, by the result of `_add_children`."""
        if not choices:
            return []
        *arrays, states = choices
        used = int(states[head_class].argmax())
        labels = []
        for chosen in reversed(arrays):
            label = int(chosen[head_class, used])
            labels.append(label)
            used &= ~int(self.kind[label])
        return labels[::-1]


def _kind(label: str, base: str) -> int:
    if base in SUBJECTS and not label.endswith(":outer"):
        return SUBJECT
    return OBJECT if base == "obj" else OTHER


def _class(base: str) -> str:
    if base in ALLOWED_CHILDREN:
        return base
    return "clausal" if base in CLAUSAL else "nominal" if base in NOMINAL else "other"


def _children_first(children: Sequence[Sequence[int]]) -> list[int]:
    """Return the nodes of a tree, each after its children; the root 0 is the last one."""
    order, pending = [], [0]
    while pending:
        node = pending.pop()
        order.append(node)
        pending.extend(children[node])
    return order[::-1]


def crosses_arcs(heads: np.ndarray) -> np.ndarray:
    """Return whether the arc of each word crosses another one, that of the root included: [n]."""
    words = np.arange(1, len(heads) + 1)
    low, high = np.minimum(words, heads), np.maximum(words, heads)
    inside = (low[:, None] < low) & (low < high[:, None]) & (high > high[:, None])
    result: np.ndarray = (inside | inside.T).any(1)
    return result
