"""What a parser is made of, as data that is read from and written to TOML."""

import dataclasses
import math
import tomllib
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, Literal, TypeVar

T = TypeVar("T")
C = TypeVar("C", bound="ParserConfig")
Column = Literal["lemma", "upos", "xpos", "feats"]
UNTRAINED = {"trained": False}  # marks a parser's sections that its network does not depend on
Algorithm = Literal["mst", "eisner", "argmax"]

# Settings of which nothing less makes sense; other numbers are 0 at least, dropouts under 1.
_FROM_ONE = frozenset(
    "layers heads head_size feedforward tag_hidden char_embedding word_min_count"
    " epochs patience batch_tokens batch_characters accumulate decay_updates embedding"
    " encoder.size tokenizer.size scorer.arc scorer.label".split()
)


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


class ConfigError(ValueError):
    """A setting or an option that is not known, of the wrong kind, or does not fit another."""


def from_dict(
    kind: type[T], values: dict[str, Any], path: str = "", others: Iterable[type] = ()
) -> T:
    """A configuration dataclass from nested tables, as TOML gives them.

    A field whose type is a union of dataclasses becomes the one whose `kind` the table names, the
    first if it names none. Keys that only alternatives to the dataclass have are left out: the
    other members of a union, or `others`.
    Raises ConfigError naming the key, and the keys that there are.
    """
    hints, alternatives = _types_of(kind), list(map(_types_of, others))
    known = list(hints)
    given: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{path}{key}"
        if key not in known:
            if any(key in each for each in alternatives):
                continue
            raise ConfigError(f"no setting {name!r}; here there are {', '.join(known)}")
        classes = _dataclasses_of(hints[key])
        if classes:
            if not isinstance(value, dict):
                raise ConfigError(f"{name} is a table, not {value!r}")
            chosen = _chosen(classes, value, name)
            further = chain(classes, *(_dataclasses_of(each.get(key)) for each in alternatives))
            given[key] = from_dict(chosen, value, f"{name}.", [c for c in further if c != chosen])
        else:
            given[key] = _checked(hints[key], value, name)
    return kind(**given)


def _types_of(kind: type) -> dict[str, Any]:
    """The types of a dataclass's fields, by name."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _dataclasses_of(hint: Any) -> list[Any]:
    """A dataclass, or the members of a union of them; none for another type."""
    members: Sequence[Any] = typing.get_args(hint) or [hint]
    return [each for each in members if dataclasses.is_dataclass(each)]


def _chosen(classes: Sequence[type], table: dict[str, Any], name: str) -> type:
    """The member of a union that a table is meant for."""
    if len(classes) == 1 or "kind" not in table:
        return classes[0]
    by_kind = {each.kind: each for each in classes}  # type: ignore[attr-defined]
    return by_kind[_checked(Literal[tuple(by_kind)], table["kind"], f"{name}.kind")]


def _checked(hint: Any, value: Any, name: str) -> Any:
    origin = typing.get_origin(hint)
    if origin is Literal:
        if value not in typing.get_args(hint):
            choices = ", ".join(map(str, typing.get_args(hint)))
            raise ConfigError(f"{name} is {value!r}; it can be {choices}")
        return value
    if origin is list:
        (item,) = typing.get_args(hint)
        if not isinstance(value, list):
            raise ConfigError(f"{name} is {value!r}; it takes a list")
        return [_checked(item, each, name) for each in value]
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise ConfigError(f"{name} is {value!r}; it takes a value of type {hint.__name__}")
    if hint in (int, float):
        key = name.rpartition(".")[2]
        least = 1 if key in _FROM_ONE or name in _FROM_ONE else 0
        if name.startswith("calibration.") and not 0 < value < math.inf:
            raise ConfigError(f"{name} is {value!r}; a temperature is above 0")
        if not value >= least or (key.endswith("dropout") and value >= 1):
            bounds = "from 0 to less than 1" if key.endswith("dropout") else f"{least} or more"
            raise ConfigError(f"{name} is {value!r}; it takes {bounds}")
    return value


def overlay(tables: dict[str, Any], over: dict[str, Any]) -> None:
    """Put values over those in nested tables."""
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(tables.get(key), dict):
            overlay(tables[key], value)
        else:
            tables[key] = value


def nested(setting: str) -> dict[str, Any]:
    """`a.b=VALUE` as tables; the value as TOML, else as a bare string."""
    key, equals, text = setting.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"{setting!r} is not KEY=VALUE, for example training.epochs=10")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
        if text[:1] == "[" and text[-1:] == "]":  # the shell took the quotes
            value = [each.strip() for each in text[1:-1].split(",")]
    nested: Any = value
    for part in reversed(key.strip().split(".")):
        nested = {part: nested}
    return nested


def at_test_time(config: C, settings: Sequence[str]) -> C:
    """A trained parser's configuration with other settings of those that are not trained: what is
    attended to, and where a frozen transformer now is.

    Raises ConfigError for any other.
    """
    known = ("encoder.window", "encoder.relaxed", "encoder.attend", "inputs.context.model")
    tables = dataclasses.asdict(config)
    given: dict[str, Any] = {}
    for setting in settings:
        if setting.partition("=")[0].strip() not in known:
            raise ConfigError(
                f"{setting!r} cannot be set in parsing; what can is {', '.join(known)}"
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


def to_toml(config: Any) -> str:
    """A configuration dataclass, or its tables, as TOML that `from_dict` reads back to the same."""
    tables = config if isinstance(config, dict) else dataclasses.asdict(config)
    return "".join(_tables(tables, ""))


def _tables(values: dict[str, Any], path: str) -> list[str]:
    scalars = {key: value for key, value in values.items() if not isinstance(value, dict)}
    lines = [f"\n[{path}]\n"] if path and scalars else []
    lines += [f"{key} = {_toml(value)}\n" for key, value in scalars.items()]
    for key, value in values.items():
        if isinstance(value, dict):
            lines += _tables(value, f"{path}.{key}" if path else key)
    return lines


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(c if c >= " " else f"\\u{ord(c):04x}" for c in escaped) + '"'
    return repr(value)
