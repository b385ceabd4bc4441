"""The configuration of constituency parsers."""

from dataclasses import dataclass, field
from typing import Literal

from depkit.parsers.columns.config import ColumnConfig, TagScorer


@dataclass(frozen=True)
class ConstituentScorer(TagScorer):
    """Section scorer of a constituency parser: classifiers of columns, and the span scorer."""

    hidden: int = 250  # size of the hidden layer of the span scorer
    # How the encoder's vector of a position is split in the vectors of the fenceposts on both sides
    # of it: "interleaved", even and odd elements (Kitaev and Klein 2018, footnote 2), so that both
    # have elements of inputs and positions if these are concatenated; "contiguous", first and
    # second half. "auto" is interleaved if they are concatenated, otherwise contiguous.
    split: Literal["auto", "interleaved", "contiguous"] = "auto"


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
