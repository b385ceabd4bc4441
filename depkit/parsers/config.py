"""What a parser is made of, as data; every field is a key of a recipe's TOML."""

import dataclasses
import typing
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

T = TypeVar("T")
Column = Literal["lemma", "upos", "xpos", "feats"]

# Settings of which nothing less makes sense; other numbers are 0 at least, dropouts under 1.
_FROM_ONE = frozenset(
    "layers size heads head_size feedforward arc label tag_hidden char_embedding word_min_count"
    " epochs patience batch_tokens batch_characters accumulate decay_updates embedding".split()
)


@dataclass(frozen=True)
class Inputs:
    """What a word is to the encoder: the sizes of its parts; 0 leaves a part out."""

    word: int = 100
    word_min_count: int = 2  # rarer words are unknown
    lowercase: bool = True
    tag: int = 0
    tag_column: Literal["upos", "xpos"] = "xpos"
    char: int = 0  # the CharLSTM's output
    char_embedding: int = 64
    char_dropout: float = 0.0
    part_dropout: float = 0.33  # of a token's word, tag, characters, each on its own
    dropout: float = 0.33  # of the features, one mask a sentence


@dataclass(frozen=True)
class Encoder:
    """BiLSTM (layers, size a direction) or self-attention (layers, size and the rest)."""

    kind: Literal["bilstm", "selfatt"] = "bilstm"
    layers: int = 3
    size: int = 400
    dropout: float = 0.33  # bilstm: between layers
    heads: int = 8
    head_size: int = 25
    feedforward: int = 800
    attention_dropout: float = 0.1
    feedforward_dropout: float = 0.1
    residual_dropout: float = 0.2
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    norm_first: bool = False  # the paper normalises after each sublayer


@dataclass(frozen=True)
class Scorer:
    """The MLPs' sizes, and the columns predicted beside the tree."""

    arc: int = 500
    label: int = 100
    dropout: float = 0.33
    predict: list[Column] = field(default_factory=lambda: ["upos", "xpos", "feats", "lemma"])
    tag_hidden: int = 200


@dataclass(frozen=True)
class Decoder:
    """How a tree is made of scores.

    root: children of the root; "auto": single if every training tree has one.
    root_label: the relation of the root's children and of no other word; "auto": learned
    from the training trees; "" for no such rule.
    """

    algorithm: Literal["mst", "eisner", "argmax"] = "mst"
    root: Literal["auto", "single", "multi"] = "auto"
    root_label: str = "auto"


@dataclass(frozen=True)
class ParserConfig:
    """A parser of the biaffine family."""

    inputs: Inputs = field(default_factory=Inputs)
    encoder: Encoder = field(default_factory=Encoder)
    scorer: Scorer = field(default_factory=Scorer)
    decoder: Decoder = field(default_factory=Decoder)


class ConfigError(ValueError):
    """A setting that is not known or has a value of the wrong kind."""


def from_dict(kind: type[T], values: dict[str, Any], path: str = "") -> T:
    """A configuration dataclass from nested tables, as TOML gives them.

    Raises ConfigError naming the key, and the keys that there are.
    """
    hints = typing.get_type_hints(kind)
    known = [f.name for f in dataclasses.fields(kind)]  # type: ignore[arg-type]
    given: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{path}{key}"
        if key not in known:
            raise ConfigError(f"no setting {name!r}; here there are {', '.join(known)}")
        if dataclasses.is_dataclass(hints[key]):
            if not isinstance(value, dict):
                raise ConfigError(f"{name} is a table, not {value!r}")
            given[key] = from_dict(typing.cast(type, hints[key]), value, f"{name}.")
        else:
            given[key] = _checked(hints[key], value, name)
    return kind(**given)


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
        least = 1 if key in _FROM_ONE else 0
        if not value >= least or (key.endswith("dropout") and value >= 1):
            bounds = "from 0 to less than 1" if key.endswith("dropout") else f"{least} or more"
            raise ConfigError(f"{name} is {value!r}; it takes {bounds}")
    return value


def to_toml(config: Any) -> str:
    """A configuration dataclass as TOML that `from_dict` reads back to an equal one."""
    return "".join(_tables(dataclasses.asdict(config), ""))


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
