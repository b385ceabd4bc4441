"""Differences between two annotations of the same sentences, and how well they agree.

Agreement on labels is also given as Cohen's kappa (Cohen 1960, A coefficient of agreement for
nominal scales): (p - q) / (1 - q), where p is the share of words with the same label, and q the
share that is expected if both annotations chose labels independently with their own frequencies.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from depkit.corpus.sentence import Sentence
from depkit.corpus.surface import surface_tokens
from depkit.corpus.universal import normalize_features
from depkit.score.alignment import longest_common_subsequence

# The columns that are compared, if both formats have them. `arc` is the head with the relation.
COLUMNS = ("lemma", "upos", "xpos", "feats", "head", "deprel", "arc", "deps", "misc")
# The columns whose agreement is that of labels, for which kappa is computed
_LABELS = ("upos", "xpos", "feats", "deprel")

Pair = tuple[Sentence | None, Sentence | None]
Name = tuple[str, str]  # "sent_id" or "text", and its value
Key = tuple[Name, int]  # the name, and how many sentences of the file have had it so far
Values = list[tuple[str, str]]  # of aligned words, in the first and in the second sentence
Aligned = Sequence[tuple[int, int]]  # indices of words in the first and in the second sentence


def pair_by_id(first: Iterable[Sentence], second: Iterable[Sentence]) -> Iterator[Pair]:
    """Pair the sentences of two files by their sent_ids, and else by their texts.

    Yields pairs as soon as both sentences have been read, so that files with the same order need
    little memory; then the pairs with the same text; then the sentences without a partner, with
    None instead of it.
    """
    pending: tuple[dict[Key, Sentence], dict[Key, Sentence]] = ({}, {})  # without a partner yet
    counts: tuple[Counter[Name], Counter[Name]] = (Counter(), Counter())
    for sentences in zip_longest(first, second):
        for side, sentence in enumerate(sentences):
            if sentence is None:
                continue
            name = _key(sentence)
            counts[side][name] += 1
            key = (name, counts[side][name])  # A sent_id can occur several times.
            partner = pending[1 - side].pop(key, None)
            if partner is None:
                pending[side][key] = sentence
            else:
                yield (partner, sentence) if side else (sentence, partner)
    others: dict[str, list[Sentence]] = {}
    for sentence in pending[1].values():
        others.setdefault(_text(sentence), []).append(sentence)
    for sentence in pending[0].values():
        same = others.get(_text(sentence))
        yield sentence, same.pop(0) if same else None
    yield from ((None, sentence) for rest in others.values() for sentence in rest)


def _key(sentence: Sentence) -> Name:
    name = sentence.sent_id
    return ("sent_id", name) if name else ("text", _text(sentence))


def _text(sentence: Sentence) -> str:
    """Return the text of a sentence without its white space."""
    tokens = surface_tokens(sentence)
    return "".join((sentence.text or "".join(token.text for token in tokens)).split())


@dataclass(frozen=True)
class Difference:
    """A difference between two sentences.

    Attributes:
        sentence: The first sentence, or the second one if there is no first.
        word: The number of the word in the first sentence, 0 if the difference is not in a word.
        form: The form of the word, "" if there is none.
        column: The name of the column; "words" for words that only one sentence has, "comments",
            "tokens" for multiword tokens and empty nodes, and "sentence" for a whole sentence.
        first, second: What both have; "" for nothing. A head is written as number:form.
    """

    sentence: Sentence
    word: int
    form: str
    column: str
    first: str
    second: str


@dataclass
class Agreement:
    """The counts of a comparison.

    Attributes:
        sentences: The number of sentences that both have.
        identical: How many of them are the same, apart from white space at their end.
        only: The numbers of sentences that only one of the two has.
        words: The number of words that both have.
        compared, same: For each column, how many words were compared, and how many have the same
            value; for `comments` and `tokens`, how many sentences.
        other_words: The numbers of words in these sentences that only one of the two has.
        pairs: For each column, how often words have a value in the first and one in the second.
        relations: For each relation of the first, how many words have it, how many of them have
            another head in the second, and how many another relation.
    """

    sentences: int = 0
    identical: int = 0
    only: list[int] = field(default_factory=lambda: [0, 0])
    words: int = 0
    other_words: list[int] = field(default_factory=lambda: [0, 0])
    same: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    pairs: dict[str, Counter[tuple[str, str]]] = field(default_factory=dict)
    relations: dict[str, list[int]] = field(default_factory=dict)

    def share(self, column: str) -> float | None:
        """Return the percentage of words with the same value; None if there are no words."""
        return 100 * self.same[column] / self.compared[column] if self.compared[column] else None

    def kappa(self, column: str) -> float | None:
        """Return Cohen's kappa of a column of labels; None if it is undefined or not a label."""
        if column not in self.pairs or not self.compared[column]:
            return None
        pairs, total = self.pairs[column], self.compared[column]
        first: Counter[str] = Counter()
        second: Counter[str] = Counter()
        for (x, y), count in pairs.items():
            first[x] += count
            second[y] += count
        expected = sum(count * second[label] for label, count in first.items()) / total**2
        return (self.same[column] / total - expected) / (1 - expected) if expected < 1 else None

    def compare(self, first: Sentence | None, second: Sentence | None) -> Iterator[Difference]:
        """Count a pair of sentences, and yield their differences."""
        if first is None or second is None:
            sentence = first or second
            assert sentence
            self.only[first is None] += 1
            text = " ".join(sentence.form)
            texts = ("", text) if first is None else (text, "")
            yield Difference(sentence, 0, "", "sentence", *texts)
            return
        self.sentences += 1
        self.identical += str(first).rstrip() == str(second).rstrip()
        aligned = align_words(first.form, second.form)
        yield from self._compare_other_lines(first, second, aligned)
        yield from self._compare_words(first, second, aligned)
        self.words += len(aligned)
        for name in COLUMNS:
            if values := _column_values(first, second, name, aligned):
                yield from self._compare_column(first, name, values, aligned)
        self._count_relations(first, second, aligned)

    def _compare_column(
        self, sentence: Sentence, name: str, values: Values, aligned: Aligned
    ) -> Iterator[Difference]:
        """Count the values of a column, and yield those that differ. values: of aligned words."""
        self.compared[name] += len(aligned)
        if name in _LABELS:
            self.pairs.setdefault(name, Counter()).update(values)
        for (x, y), (word, _) in zip(values, aligned, strict=True):
            if x == y:
                self.same[name] += 1
            elif name != "arc":  # which `head` and `deprel` report
                yield Difference(sentence, word + 1, sentence.form[word], name, x, y)

    def _compare_words(
        self, first: Sentence, second: Sentence, aligned: Aligned
    ) -> Iterator[Difference]:
        """Yield a difference for each word that only one of the sentences has."""
        for side, sentence in enumerate((first, second)):
            known = {pair[side] for pair in aligned}
            for word, form in enumerate(sentence.form):
                if word not in known:
                    self.other_words[side] += 1
                    texts = ("", form) if side else (form, "")
                    number = 0 if side else word + 1
                    yield Difference(first, number, form, "words", *texts)

    def _compare_other_lines(
        self, first: Sentence, second: Sentence, aligned: Aligned
    ) -> Iterator[Difference]:
        """Yield a difference for comments, and for rows that are not words, if they differ."""
        numbers = _number_map(second, aligned)
        for name in ("comments", "tokens"):
            lines = [_other_lines(sentence, name) for sentence in (first, second)]
            compared = lines
            if name == "tokens":
                compared = [
                    [_comparable_row(first, line, {}) for line in lines[0]],
                    [_comparable_row(second, line, numbers) for line in lines[1]],
                ]
            self.compared[name] += 1
            if compared[0] == compared[1]:
                self.same[name] += 1
            else:
                known = [set(values) for values in compared]
                only = [
                    " ".join(
                        line
                        for line, value in zip(lines[side], compared[side], strict=True)
                        if value not in known[1 - side]
                    )
                    for side in (0, 1)
                ]
                yield Difference(first, 0, "", name, *only)

    def _count_relations(self, first: Sentence, second: Sentence, aligned: Aligned) -> None:
        heads = _column_values(first, second, "head", aligned)
        for (x, y), (word, other) in zip(heads, aligned, strict=True):
            counts = self.relations.setdefault(first.deprel[word], [0, 0, 0])
            counts[0] += 1
            counts[1] += x != y
            counts[2] += first.deprel[word] != second.deprel[other]


def _other_lines(sentence: Sentence, name: str) -> list[str]:
    """Return the comments of a sentence, or its rows of multiword tokens and empty nodes."""
    words = set(sentence.rows)
    return [
        line.rstrip("\r\n")
        for index, line in enumerate(sentence.lines)
        if index not in words
        and not line.isspace()
        and (line[0] == "#" if name == "comments" else line[0].isdigit())
    ]


def _number_map(second: Sentence, aligned: Aligned) -> dict[str, str]:
    """Map the numbers of words of the second sentence to those of the first.

    A word that is not aligned is mapped to a text that is not a number.
    """
    numbers = {str(j): f"{j} not aligned" for j in range(1, len(second) + 1)}
    return numbers | {str(j + 1): str(i + 1) for i, j in aligned}


def _renumber(node: str, numbers: Mapping[str, str]) -> str:
    """Change the number of a word, or that of the word before an empty node: `3`, `3.1`."""
    word, dot, rest = node.partition(".")
    return numbers.get(word, word) + dot + rest


def _comparable_row(sentence: Sentence, line: str, numbers: Mapping[str, str]) -> str:
    """Return the row of a multiword token or an empty node for a comparison.

    numbers: how the numbers of words are changed.
    """
    cells = line.split("\t")
    cells[0] = "-".join(_renumber(node, numbers) for node in cells[0].split("-"))
    for i, (name, cell) in enumerate(zip(sentence.format.columns, cells, strict=False)):
        cells[i] = _comparable_value(name, cell, numbers)
    return "\t".join(cells)


def _comparable_value(name: str, value: str, numbers: Mapping[str, str]) -> str:
    """Return a value of a column for a comparison: FEATS and DEPS in order, without duplicates.

    numbers: how the numbers of words are changed.
    """
    if name == "feats":
        return normalize_features(value)
    if name == "deps":
        relations = (relation.partition(":") for relation in value.split("|"))
        return "|".join(sorted({_renumber(x, numbers) + "".join(y) for x, *y in relations}))
    return value


def align_words(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """Return the pairs of indices of words that two sentences have in common, in order.

    If the sentences do not have the same words, they are those of a longest common subsequence.
    """
    if first == second:
        return [(i, i) for i in range(len(first))]
    codes: dict[str, int] = {}
    numbers = [[codes.setdefault(form, len(codes)) for form in forms] for forms in (first, second)]
    return list(longest_common_subsequence(*numbers))


def _column_values(first: Sentence, second: Sentence, name: str, aligned: Aligned) -> Values:
    """Return the values of aligned words in both sentences; [] if one has no such column.

    Heads are written as number:form, and heads in DEPS as numbers, both as in the first sentence;
    heads that are not aligned are marked. FEATS and DEPS are sorted.
    """
    if name in ("head", "arc"):
        partner = {j + 1: i + 1 for i, j in aligned} | {0: 0, -1: -1}
        values = []
        for i, j in aligned:
            head = second.head[j]
            other = f"{_describe_head(second, head)} (not aligned)"
            if head in partner:
                other = _describe_head(first, partner[head])
            texts = [_describe_head(first, first.head[i]), other]
            if name == "arc":
                texts = [f"{texts[0]} {first.deprel[i]}", f"{texts[1]} {second.deprel[j]}"]
            values.append((texts[0], texts[1]))
        return values
    if not all(name in sentence.format.columns for sentence in (first, second)):
        return []
    columns = [sentence.column(name) for sentence in (first, second)]
    values = [(columns[0][i], columns[1][j]) for i, j in aligned]
    numbers = _number_map(second, aligned)
    return [
        (_comparable_value(name, x, {}), _comparable_value(name, y, numbers)) for x, y in values
    ]


def _describe_head(sentence: Sentence, head: int) -> str:
    return f"{head}:{sentence.form[head - 1]}" if head > 0 else "0:root" if head == 0 else "_"
