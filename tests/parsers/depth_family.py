"""A toy family: it reads bracketed trees and predicts the depth of each word in its tree.

In training each example is one word; parsing reads whole sentences, without an encoder. The family
has its own settings, reading, examples, network, parser and scores.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from torch import Tensor, nn

from depkit.corpus.io import read
from depkit.corpus.sentence import Sentence
from depkit.corpus.tree import Tree
from depkit.nn.settings import Encoder, NoEncoder
from depkit.parsers.base import Parser
from depkit.parsers.columns.network import cross_entropy
from depkit.parsers.config import ParserConfig
from depkit.parsers.encoders import KINDS
from depkit.parsers.family import Family, Scoring
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.dataset import Dataset
from depkit.parsers.network import ParserNetwork


@dataclass(frozen=True)
class Depth:
    dropout: float = 0.0


@dataclass(frozen=True)
class DepthConfig(ParserConfig):
    family: Literal["depth"] = field(default="depth", kw_only=True)
    encoder: Encoder = field(default_factory=NoEncoder, metadata=KINDS)
    depth: Depth = field(default_factory=Depth)

    def check(self) -> None:
        super().check()
        if not self.encoder.is_identity:
            raise ValueError("words are read one by one: set encoder.kind=none")


class DepthNetwork(ParserNetwork):
    def __init__(self, config, vocabulary, transformer=None):
        super().__init__(config, vocabulary, transformer, config.depth.dropout)
        self.depth = nn.Linear(self.size, len(vocabulary.columns["depth"]))

    def forward(self, batch: Batch) -> Tensor:
        return cross_entropy(self.depth(self.encode(batch)), batch["target.depth"])


@dataclass(frozen=True)
class SingleWords:
    """Examples of one word each; positions: [words], rows of the words in the dataset."""

    dataset: Dataset
    positions: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        return np.ones_like(self.positions)

    def batch(self, indices: np.ndarray) -> Batch:
        batch = self.dataset.make_batch(self.positions[indices], self.sizes[indices])
        return replace(batch, words=len(indices))


class DepthParser(Parser):
    trees = "depths"

    def parse_batch(self, batch: Batch, sentences: Sequence[Sentence], tags) -> list[Sentence]:
        best = self.network.depth(self.network.encode(batch)).argmax(-1).tolist()
        symbols = self.vocabulary.columns["depth"].symbols
        return [
            sentence.with_columns(
                {"feats": [f"Depth={symbols[n]}" for n in row[1:][: len(sentence)]]}
            )
            for row, sentence in zip(best, sentences, strict=True)
        ]


class DepthFamily(Family):
    name = "depth"
    config = DepthConfig
    metrics = ("depth",)
    noun = "depth finder"
    labels = "depth"

    def read(
        self, path: str, encoding: str = "utf-8", *, partial: bool = False
    ) -> Iterator[Sentence]:
        return read(path, "ptb", encoding)

    def describe(self, config: Any) -> list[str]:
        return [f"Predicts: depths, dropout {config.depth.dropout}"]

    def symbols(self, sentence: Sentence, column: str) -> list[str]:
        return [str(depth) for depth in depths(sentence.constituents)]

    def examples(self, sentences, *arguments: Any, **named: Any) -> SingleWords:
        data = super().examples(sentences, *arguments, **named)
        sizes = zip(data.starts.tolist(), data.sizes.tolist(), strict=True)
        spans = [np.arange(start + 1, start + size) for start, size in sizes]
        return SingleWords(data, np.concatenate(spans))

    network = DepthNetwork
    parser = DepthParser

    def evaluate(
        self, config: Any, gold, predicted: Iterable[Sentence], scoring: Scoring
    ) -> dict[str, float]:
        correct = [
            parsed.feats[i] == f"Depth={depth}"
            for sentence, parsed in zip(gold, predicted, strict=True)
            for i, depth in enumerate(depths(sentence.constituents))
        ]
        return {"depth": 100.0 * float(np.mean(correct))}


def depths(tree: Tree, depth: int = 0) -> list[int]:
    """Return the number of constituents that contain each word."""
    if not tree.children:
        return [depth]
    return [leaf for child in tree.children for leaf in depths(child, depth + 1)]
