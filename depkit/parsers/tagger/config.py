"""The configuration of taggers."""

from dataclasses import dataclass, field
from typing import Literal

from depkit.parsers.columns.config import ColumnConfig


@dataclass(frozen=True)
class TaggerConfig(ColumnConfig):
    """The configuration of a tagger (family=tagger), which predicts columns but no trees."""

    family: Literal["tagger"] = field(default="tagger", kw_only=True)

    def check(self) -> None:
        super().check()
        if not self.scorer.predict:
            raise ValueError(
                "there is nothing to predict: scorer.predict is empty; a tagger needs at least one"
                " column"
            )
