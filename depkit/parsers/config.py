"""The settings of a parser, as dataclasses that are read from and written to TOML.

The comment beside a field documents the setting. A setting is named by its section and field, as in
`--set encoder.layers=2`. Fields that are "written by training" describe the files that a model was
trained with; do not set them.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field, make_dataclass
from typing import Any, Literal, TypeVar

from depkit.files.bounds import setting
from depkit.nn.settings import BiLSTM, Encoder
from depkit.parsers.encoders import KINDS
from depkit.parsers.inputs.parts import PARTS, check_encoder, check_parts
from depkit.parsers.settings import (
    ConfigError,
    check_effects,
    from_dict,
    overlay,
    parse_setting,
    setting_names,
)

C = TypeVar("C", bound="ParserConfig")
Column = Literal["lemma", "upos", "xpos", "feats"]
# Metadata of the sections that the network and its weights do not depend on
UNTRAINED = {"trained": False}


# The settings of all parts; a dataclass has the fields of its last base first.
PartSettings: Any = make_dataclass(
    "PartSettings", (), bases=tuple(kind.settings for kind in reversed(PARTS)), frozen=True
)


@dataclass(frozen=True)
class Inputs(PartSettings):
    """Section inputs: the parts of the vector of a word, and how they are combined.

    The settings of each part stand in its file; size 0 omits a part.
    """

    # how the vectors of word, tag, characters and context are combined
    combine: Literal["concat", "sum"] = "concat"
    # dropout of whole parts (word, tag, characters, context), drawn separately for each part
    part_dropout: float = setting(0.33, below=1)
    # dropout of the combined vectors, with one mask for a whole sentence
    dropout: float = setting(0.33, below=1)
    # true lets the encoder read one more position, with a learned vector, after the last word (the
    # stop token of Kitaev and Klein 2018); it cannot be a head or a dependent. Of the dropouts of
    # this section, only `dropout` applies to its vector.
    stop: bool = False
    lexicon: str = ""  # CoNLL-U file whose words are added to the lemma dictionary

    def check(self) -> None:
        check_parts(self)


@dataclass(frozen=True)
class ParserConfig:
    """The configuration of a parser of any family.

    Each family has a subclass. It adds sections, and redefines `family` so that the name of the
    family is its only allowed value and its default.
    """

    # what is predicted, and how
    family: str = field(default="", kw_only=True)
    inputs: Inputs = field(default_factory=Inputs)
    encoder: Encoder = field(default_factory=BiLSTM, metadata=KINDS)

    @property
    def predicted_tags(self) -> list[Column]:
        """The predicted columns among UPOS, XPOS, FEATS and LEMMA."""
        return []

    @property
    def lemma_min_count(self) -> int:
        """The least number of occurrences in train of an edit script that is predicted."""
        return 1

    def check(self) -> None:
        """Raise ValueError if settings of different sections contradict each other."""
        if self.encoder.reads_pieces and not self.inputs.context.tune:
            raise ValueError(
                f"encoder.kind={self.encoder.kind} needs a transformer that is trained: set"
                " inputs.context.source=transformer, inputs.context.model and"
                " inputs.context.tune=true"
            )
        check_encoder(self.inputs, self.encoder)
        if self.inputs.stop and (self.encoder.is_identity or self.encoder.reads_pieces):
            raise ValueError(
                f"inputs.stop has no effect with encoder.kind={self.encoder.kind}; set only one of"
                " them"
            )


def apply_test_time_settings(config: C, settings: Sequence[str]) -> C:
    """Return the configuration of a trained parser with some settings changed.

    settings: strings KEY=VALUE with settings that no weights depend on. Raises ConfigError for
    another key or an invalid value.
    """
    known = setting_names(type(config), at_test_time=True)
    tables = dataclasses.asdict(config)
    changes: dict[str, Any] = {}
    for text in settings:
        if text.partition("=")[0].strip() not in known:
            raise ConfigError(
                f"{text!r} cannot be set for a trained model; the settings that can be changed"
                f" are {', '.join(known)}"
            )
        overlay(changes, parse_setting(text))
    overlay(tables, changes)
    if tables["inputs"]["context"]["model"] != config.inputs.context.model:
        # The revision is one of the former repository; the digest of the files is compared anyway.
        tables["inputs"]["context"]["revision"] = ""
    result = from_dict(type(config), tables)
    # The only such setting that needs another one is inputs.treebank_name, which
    # `model_directory.read_parser` checks.
    check_effects(result, changes, check_needs=False)
    return result
