"""Tables of symbols, which give each symbol an index."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from depkit.corpus.sentence import Sentence
from depkit.parsers.columns.edit_scripts import breaks_rows
from depkit.parsers.columns.lemma_dictionary import sort_by_frequency

PAD, UNKNOWN, ROOT = 0, 1, 2
SPECIAL = ["<pad>", "<unknown>", "<root>"]


class Table:
    """Symbols in order, and the index of each."""

    def __init__(self, symbols: list[str]) -> None:
        self.symbols = symbols
        self.indices = {symbol: i for i, symbol in enumerate(symbols)}

    def __len__(self) -> int:
        return len(self.symbols)

    def get(self, symbol: str) -> int:
        """Return the index of a symbol; UNKNOWN if the table does not have it."""
        return self.indices.get(symbol, UNKNOWN)

    def extended_by(self, other: "Table") -> "Table":
        """Append the new symbols of another table; indices do not change."""
        return Table(self.symbols + [new for new in other.symbols if new not in self.indices])


@dataclass(frozen=True)
class TableRule:
    """How a table is learned from the training sentences, the most frequent symbols first."""

    name: str
    symbols: Callable[[Sentence], Iterable[str]]
    first: Sequence[str] = ()  # the symbols that the table begins with
    min_count: int = 1  # symbols that occur less often are left out


def learn_tables(sentences: Iterable[Sentence], rules: Sequence[TableRule]) -> list[Table]:
    """Learn tables in one pass; symbols of equal frequency are in alphabetical order."""
    counters: list[Counter[str]] = [Counter() for _ in rules]
    for sentence in sentences:
        for rule, counter in zip(rules, counters, strict=True):
            counter.update(rule.symbols(sentence))
    return [
        Table(
            [*rule.first, *(s for s in sort_by_frequency(counter) if counter[s] >= rule.min_count)]
        )
        for rule, counter in zip(rules, counters, strict=True)
    ]


def check_symbols(symbols: list[str], in_columns: bool = False) -> None:
    """Raise ValueError if a list from a file does not consist of strings.

    in_columns: whether they are written into columns of treebanks, so that no tab or line end is
    allowed.
    """
    if type(symbols) is not list or not set(map(type, symbols)) <= {str}:
        raise ValueError("it has a table that is not a list of strings")
    if in_columns and breaks_rows("".join(symbols)):
        raise ValueError("it has a symbol with a tab or a line end")
