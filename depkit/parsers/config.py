"""What a parser is made of, as data that is read from and written to TOML."""

import dataclasses
import typing
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar

from depkit.parsers.settings import ConfigError, from_dict, nested, overlay

C = TypeVar("C", bound="ParserConfig")
Column = Literal["lemma", "upos", "xpos", "feats"]
# Settings that can be changed when a trained parser is loaded, see `at_test_time`
TEST_TIME = ("encoder.window", "encoder.relaxed", "encoder.attend", "inputs.context.model")
UNTRAINED = {"trained": False}  # marks a parser's sections that its network does not depend on
Algorithm = Literal["mst", "eisner", "argmax"]


@dataclass(frozen=True)
class Vectors:
    """Pretrained word vectors; an unknown word gets the mean of all.

    A word is looked up as it is, then in lower case. keep: "treebank" holds the vectors of
    train's and dev's words, "all" every one, for words that come up in parsing.
    """

    file: str = ""  # GloVe, word2vec or fastText; "" for none
    combine: Literal["sum", "concat"] = "sum"  # with the trainable word embedding
    keep: Literal["treebank", "all"] = "treebank"
    tune: bool = False  # train them, too
    scale: bool = True  # divide them by the standard deviation of all their numbers
    width: int = 0  # of a vector; found in training


@dataclass(frozen=True)
class Context:
    """Contextual vectors of a word: a transformer's, or ones computed beforehand (ELMo).

    To replace the word embedding, leave that out (inputs.word=0); else they stand beside it.
    layers: "single" takes the top-th layer from the top (1 is the last), "average" the mean of
    the `top` last ones, "mix" their learned weighted sum; top=0 means all layers, the embeddings
    among them.
    """

    source: Literal["none", "transformer", "elmo"] = "none"
    model: str = ""  # a Hugging Face encoder: a directory, or a name on the hub
    revision: str = ""  # on the hub; found in training, as is what follows on digest
    layers: Literal["single", "average", "mix"] = "average"
    top: int = 4
    pooling: Literal["first", "last", "mean"] = "mean"  # of a word's pieces
    size: int = 100  # what they are projected to; 0: as they are
    dropout: float = 0.0  # of single numbers, before the projection
    tune: bool = False  # train the transformer, too
    overlap: int = 64  # pieces that two windows share, where a sentence needs several
    checkpointing: bool = False  # tune in less memory and more time
    digest: str = ""  # of the transformer's files
    available: int = 0  # layers there are
    width: int = 0  # of a layer


@dataclass(frozen=True)
class Inputs:
    """What a word is to the encoder: the sizes of its parts; 0 leaves a part out."""

    word: int = 100
    word_min_count: int = 2  # rarer words are unknown
    word_unknown: float = 0.0  # z: in training, one of c occurrences is unknown by z / (z + c)
    lowercase: bool = True
    tag: int = 0
    tag_column: Literal["upos", "xpos"] = "xpos"
    char: int = 0  # the vector made of the characters
    char_kind: Literal["lstm", "concat"] = "lstm"
    char_embedding: int = 64  # concat: 16 of them, projected to `char` unless as wide
    char_dropout: float = 0.0
    combine: Literal["concat", "sum"] = "concat"  # of word, tag, characters, context
    part_dropout: float = 0.33  # of a token's word, tag, characters, each on its own
    dropout: float = 0.33  # of the features, one mask a sentence
    lexicon: str = ""  # a CoNLL-U file whose words the lemma dictionary has besides the treebank's
    vectors: Vectors = field(default_factory=Vectors)
    context: Context = field(default_factory=Context)


@dataclass(frozen=True)
class BiLSTM:
    """A bidirectional LSTM; size: of the state in each direction, dropout: between layers,
    recurrent_dropout: of the state from one step to the next."""

    projects: ClassVar[bool] = False  # it reads inputs of any width
    kind: Literal["bilstm"] = "bilstm"
    layers: int = 3
    size: int = 400
    dropout: float = 0.33
    recurrent_dropout: float = 0.0


@dataclass(frozen=True)
class SelfAttention:
    """Self-attention; size: of its inputs, which are projected to it.

    window: how far a word attends (0: no bound); relaxed: w0, the first and the last word attend
    and are attended to from everywhere (Kitaev and Klein 2018, section 4.2).
    """

    projects: ClassVar[bool] = True  # to `size`; inputs are dropped once positions are added
    kind: Literal["selfatt"] = "selfatt"
    layers: int = 3
    size: int = 400
    heads: int = 8
    head_size: int = 25
    feedforward: int = 800
    attention_dropout: float = 0.1
    feedforward_dropout: float = 0.1
    residual_dropout: float = 0.2
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    norm_first: bool = False  # the paper normalises after each sublayer
    window: int = 0
    relaxed: bool = False


@dataclass(frozen=True)
class Factored(SelfAttention):
    """Self-attention whose contents and positions have `size` dimensions each.

    attend: by layer, or once for all, whether contents or positions alone are compared (Kitaev
    and Klein 2018, section 4.1).
    """

    kind: Literal["factored"] = "factored"  # type: ignore[assignment]
    attend: list[Literal["both", "content", "position"]] = field(default_factory=list)


@dataclass(frozen=True)
class NoEncoder:
    """Inputs that are contextual already go straight to the scorers."""

    projects: ClassVar[bool] = False
    kind: Literal["none"] = "none"


# To add an encoder, write its module in nn, add its dataclass to this union and its class to
# encoders.ENCODERS; if it has weights of other modules than Linear and LSTM, add these to
# network.PRODUCTS.
Encoder = BiLSTM | SelfAttention | Factored | NoEncoder


@dataclass(frozen=True)
class TagScorer:
    """The columns that are predicted, and the MLPs of their classifiers."""

    dropout: float = 0.33
    predict: list[Column] = field(default_factory=lambda: ["upos", "xpos", "feats", "lemma"])
    tag_hidden: int = 200


@dataclass(frozen=True)
class Scorer(TagScorer):
    """Beside these the sizes of the MLPs under the biaffine scorers of arcs and labels."""

    arc: int = 500
    label: int = 100


@dataclass(frozen=True)
class Decoder:
    """How a tree is made of scores.

    root: children of the root; "auto": single if every training tree has one.
    root_label: the relation of the root's children and of no other word; "auto": learned
    from the training trees; "" for no such rule.
    """

    algorithm: Algorithm = "mst"
    root: Literal["auto", "single", "multi"] = "auto"
    root_label: str = "auto"


@dataclass(frozen=True)
class Calibration:
    """Temperatures that scores are divided by where probabilities are asked for, as measured on dev
    when a training is through (Guo et al. 2017, section 4.2); 1 leaves them as they are.

    arc, label: of a word's heads, and of its labels; marginal: of arcs, for probabilities over
    all trees.
    """

    arc: float = 1.0
    label: float = 1.0
    marginal: float = 1.0


Mean = Literal["arithmetic", "geometric"]  # of several parsers' probabilities


@dataclass(frozen=True)
class EnsembleConfig:
    """ensemble.toml: the members' directories, in the ensemble's own, and how they are combined."""

    members: list[str]
    mean: Mean = "arithmetic"
    calibration: Calibration = field(default_factory=Calibration)


@dataclass(frozen=True)
class ParserConfig:
    """What a parser of any family is made of. A family adds sections of its own, and its name as
    the only value and the default of `family`."""

    family: str = field(default="", kw_only=True)
    inputs: Inputs = field(default_factory=Inputs)
    encoder: Encoder = field(default_factory=BiLSTM)

    @property
    def predicted_tags(self) -> list[Column]:
        """The columns of tags, features and lemmas that are predicted."""
        return []


@dataclass(frozen=True)
class TaggerConfig(ParserConfig):
    """Tags, features and lemmas without a tree."""

    family: Literal["tagger"] = field(default="tagger", kw_only=True)
    scorer: TagScorer = field(default_factory=TagScorer)

    @property
    def predicted_tags(self) -> list[Column]:
        """As for every family."""
        return self.scorer.predict


@dataclass(frozen=True)
class BiaffineConfig(ParserConfig):
    """A biaffine dependency parser (Dozat and Manning 2017; Li et al. 2019)."""

    family: Literal["biaffine"] = field(default="biaffine", kw_only=True)
    scorer: Scorer = field(default_factory=Scorer)
    decoder: Decoder = field(default_factory=Decoder, metadata=UNTRAINED)
    # Not in the repr, which a run's fingerprint is made of: it is measured after the run.
    calibration: Calibration = field(default_factory=Calibration, metadata=UNTRAINED, repr=False)

    @property
    def predicted_tags(self) -> list[Column]:
        """As for every family."""
        return self.scorer.predict


def at_test_time(config: C, settings: Sequence[str]) -> C:
    """A trained parser's configuration with other settings of those that are not trained: what is
    attended to, and where a frozen transformer now is.

    Raises ConfigError for any other.
    """
    tables = dataclasses.asdict(config)
    given: dict[str, Any] = {}
    for setting in settings:
        if setting.partition("=")[0].strip() not in TEST_TIME:
            raise ConfigError(
                f"{setting!r} cannot be set in parsing; what can is {', '.join(TEST_TIME)}"
            )
        overlay(given, nested(setting))
    overlay(tables, given)
    changed = from_dict(type(config), tables)
    check_encoder(changed.encoder, given.get("encoder", {}))
    return changed


def check_encoder(encoder: Encoder, given: dict[str, Any]) -> None:
    """Raises ConfigError for settings of an encoder that do not go together.

    given: the settings that the user wrote; those that another kind of encoder has are refused,
    unless they ask for nothing but its default.
    """
    for key, value in given.items():
        kinds = [kind for kind in typing.get_args(Encoder) if hasattr(kind(), key)]
        if not hasattr(encoder, key) and value != getattr(kinds[0](), key):
            named = " or ".join(kind.kind for kind in kinds)
            raise ConfigError(f"encoder.{key} is for encoder.kind={named}")
    if isinstance(encoder, Factored) and len(encoder.attend) not in (0, 1, encoder.layers):
        raise ConfigError(
            f"encoder.attend has {len(encoder.attend)} entries for {encoder.layers} layers; it"
            " takes one for all, or one a layer"
        )
    if isinstance(encoder, SelfAttention) and encoder.relaxed and not encoder.window:
        raise ConfigError("encoder.relaxed is for an encoder.window; there is none")


def what_it_reads(inputs: Inputs) -> list[str]:
    """What a word is made of, in words."""
    vectors, context = inputs.vectors, inputs.context
    characters = {"lstm": "characters", "concat": "characters (CharConcat)"}[inputs.char_kind]
    file = vectors.file.replace("\\", "/").rpartition("/")[2]
    vector_kind = f"pretrained vectors ({file}, {'tuned' if vectors.tune else 'frozen'})"
    chosen = {
        "single": f"layer {context.available - context.top} of {context.available - 1}",
        "average": f"average of the {context.top or context.available} last layers",
        "mix": f"mix of the {context.top or context.available} last layers",
    }[context.layers]
    revision = f" at revision {context.revision}" if context.revision else f", {context.digest}"
    contextual = {
        "none": "",
        "transformer": f"transformer {context.model}{revision}"
        f" ({'tuned' if context.tune else 'frozen'}, {chosen})",
        "elmo": f"ELMo vectors ({chosen})",
    }[context.source]
    parts = [
        (inputs.word, "words"),
        (vectors.file, vector_kind),
        (inputs.char, characters),
        (inputs.tag, f"tags ({inputs.tag_column})"),
        (contextual, contextual),
    ]
    return [told for there, told in parts if there]
