"""Taggers, which predict columns but no trees."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parser


@dataclass(repr=False)
class TaggerParser(Parser):
    """A parser that predicts tags, FEATS and lemmas, but no trees."""

    trees: ClassVar[str] = ""

    def parse_batch(
        self, batch: Any, sentences: Sequence[Sentence], tags: str, **options: str
    ) -> list[Sentence]:
        return self.tag_batch(batch, sentences, tags)
