"""The configuration of constituency parsers."""

from dataclasses import dataclass, field
from typing import Literal

from depkit.parsers.columns.config import ColumnConfig, TagScorer


@dataclass(frozen=True)
class ConstituentScorer(TagScorer):
    """Section scorer of a constituency parser: classifiers of columns, and the span scorer."""

    hidden: int = 250  # size of the hidden layer of the span scorer


@dataclass(frozen=True)
class ConstituencyConfig(ColumnConfig):
    """The configuration of a constituency parser (family=constituency; Kitaev and Klein 2018)."""

    family: Literal["constituency"] = field(default="constituency", kw_only=True)
    scorer: ConstituentScorer = field(default_factory=ConstituentScorer)

    def check(self) -> None:
        super().check()
        if not self.inputs.stop:
            raise ValueError(
                "a constituency parser reads the end of the sentence: set inputs.stop=true"
            )
