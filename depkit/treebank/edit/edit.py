"""Application of rules to the sentences of a treebank."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from depkit.corpus.sentence import Sentence, each_sentence
from depkit.files.errors import FormatError
from depkit.treebank.edit.editable import Change, EditableGraph
from depkit.treebank.edit.rules import Rule, parse_rules

_MAX_APPLICATIONS = 1000  # of a rule to a sentence, and ten more for each word


@dataclass
class Edit:
    """Rules, and the counts of their applications.

    Attributes:
        rules: The rules.
        applications: How often each rule was applied.
        sentences: How many sentences have changed.
    """

    rules: list[Rule]
    applications: list[int] = field(default_factory=list)
    sentences: int = 0

    def __post_init__(self) -> None:
        self.applications = [0] * len(self.rules)

    def counts(self) -> list[tuple[Rule, int]]:
        """Return the rules with the numbers of their applications."""
        return list(zip(self.rules, self.applications, strict=True))

    def apply(self, sentence: Sentence) -> tuple[Sentence, list[Change]]:
        """Return a sentence after all rules, and the changed cells; the same object if none are.

        Raises FormatError if the result is not a sentence in which every word has one head, if a
        value cannot be in its cell, or if a rule can be applied again and again.
        """
        graph = EditableGraph(sentence)
        changed = False
        limit = _MAX_APPLICATIONS + 10 * len(sentence)
        for number, rule in enumerate(self.rules):
            count = 0
            for count, _ in enumerate(rule.apply(graph), start=1):
                changed = True
                if count > limit:
                    message = f"the rule {rule.name!r} has been applied {limit:,} times; what it"
                    message = f"{message} changes should not let it match again"
                    raise FormatError(*sentence.location(), message)
            self.applications[number] += count
        if not changed:
            return sentence, []
        result, changes = graph.finish()
        self.sentences += bool(changes)
        return result, changes


def edit(rules: str, sentences: Sentence | Iterable[Sentence]) -> Iterator[Sentence]:
    """Rewrite sentences by rules in the language of Grew, see `rules`.

    >>> import depkit
    >>> sentence = depkit.Sentence.from_words(["is"], head=[0], lemma=["be"], upos=["VERB"])
    >>> rules = "pattern { X [lemma=be, upos=VERB] } commands { X.upos = AUX }"
    >>> [edited.upos for edited in depkit.edit(rules, [sentence])]
    [('AUX',)]

    All sentences are yielded; those that no rule changes are yielded as they are.

    Raises:
        PatternError: The rules are not valid; the error says where.
        FormatError: As `Edit.apply`.
    """
    prepared = Edit(parse_rules(rules))
    return (prepared.apply(sentence)[0] for sentence in each_sentence(sentences))
