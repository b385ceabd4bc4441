"""Settings of what predicts columns: UPOS, XPOS, FEATS and LEMMA."""

from dataclasses import dataclass, field

from depkit.files.bounds import setting
from depkit.parsers.config import Column, ParserConfig


@dataclass(frozen=True)
class TagScorer:
    """Section scorer: a classifier with one hidden layer for each predicted column."""

    # dropout of the encoder's vectors and of the hidden layers
    dropout: float = setting(0.33, below=1)
    # the predicted columns; a column that is empty in train is not predicted
    predict: list[Column] = field(default_factory=lambda: ["upos", "xpos", "feats", "lemma"])
    # size of the hidden layer of each column's classifier
    tag_hidden: int = setting(200, minimum=1)
    # lemmas are predicted as edit scripts; scripts that occur in train less often than this are not
    # predicted, but the lemmas of their words are still in the dictionary of lemmas
    lemma_min_count: int = setting(1, minimum=1)
    # true shares weights between values of FEATS with the same feature, and between values of XPOS
    # with the same character at a position
    shared_attributes: bool = False

    @property
    def tags(self) -> list[Column]:
        """The predicted columns among UPOS, XPOS, FEATS and LEMMA."""
        return self.predict


@dataclass(frozen=True)
class ColumnConfig(ParserConfig):
    """The configuration of a parser that predicts columns, besides trees or alone."""

    scorer: TagScorer = field(default_factory=TagScorer)

    @property
    def predicted_tags(self) -> list[Column]:
        return self.scorer.tags

    @property
    def lemma_min_count(self) -> int:
        return self.scorer.lemma_min_count
