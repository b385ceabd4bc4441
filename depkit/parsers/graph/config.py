"""The configuration of biaffine parsers."""

from dataclasses import dataclass, field
from typing import Literal

from depkit.files.bounds import setting
from depkit.parsers.columns.config import ColumnConfig, TagScorer
from depkit.parsers.config import UNTRAINED, Column

Algorithm = Literal["mst", "eisner", "argmax"]
GraphColumn = Literal["lemma", "upos", "xpos", "feats", "deps"]
Partial = Literal["refuse", "ignore", "marginal"]


@dataclass(frozen=True)
class Scorer(TagScorer):
    """Section scorer of a biaffine parser: classifiers of columns, and the biaffine scorers."""

    # the predicted columns; a column that is empty in train is not predicted. deps are enhanced
    # dependencies
    predict: list[GraphColumn] = field(  # type: ignore[assignment]
        default_factory=lambda: ["upos", "xpos", "feats", "lemma"]
    )
    arc: int = setting(500, minimum=1)  # size of the MLPs under the biaffine arc scorer
    label: int = setting(100, minimum=1)  # size of the MLPs under the biaffine label scorer
    # how words of train without HEAD are learned from: "refuse" reports them as an error; "ignore"
    # leaves them out; "marginal" maximises the probability of all trees that agree with the
    # annotated heads of a sentence, instead of that of each head by itself
    partial: Partial = "refuse"
    # size of a vector of the predicted tags and FEATS, which these MLPs read in addition to the
    # encoder's output
    tag_vector: int = 0

    @property
    def tags(self) -> list[Column]:
        return [name for name in self.predict if name != "deps"]

    @property
    def predicts_deps(self) -> bool:
        """Whether enhanced dependencies are predicted."""
        return "deps" in self.predict


@dataclass(frozen=True)
class Decoder:
    """Section decoder: how a tree is decoded from scores."""

    # "mst" decodes the best tree; "eisner" the best projective tree; "argmax" takes the best head
    # of each word, and the result may be no tree
    algorithm: Algorithm = "mst"
    # "single" allows one child of the root, "multi" any number; "auto" is "single" if every
    # training tree has one
    root: Literal["auto", "single", "multi"] = "auto"
    # the deprel that the parser gives to all children of the root and to no other word; "" allows
    # every deprel everywhere; "auto" uses such a deprel if the training trees have one
    root_label: str = "auto"


@dataclass(frozen=True)
class Calibration:
    """Section calibration: temperatures that logits are divided by to compute probabilities.

    Training fits them on dev when it has finished (Guo et al. 2017, section 4.2); 1 changes
    nothing.
    """

    # temperature of arc scores, for the probabilities of a word's heads
    arc: float = setting(1.0, above=0)
    label: float = setting(1.0, above=0)  # temperature of label scores
    # temperature of arc scores, for the marginal probabilities of arcs over all trees
    marginal: float = setting(1.0, above=0)


@dataclass(frozen=True)
class BiaffineConfig(ColumnConfig):
    """The configuration of a biaffine parser (Dozat and Manning 2017; Li et al. 2019)."""

    family: Literal["biaffine"] = field(default="biaffine", kw_only=True)
    scorer: Scorer = field(default_factory=Scorer)
    decoder: Decoder = field(default_factory=Decoder, metadata=UNTRAINED)
    calibration: Calibration = field(default_factory=Calibration, metadata=UNTRAINED)
