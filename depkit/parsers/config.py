"""The settings of a parser, as dataclasses that are read from and written to TOML.

The comment beside a field documents the setting. A setting is named by its section and field, as in
`--set encoder.layers=2`. Fields that are "written by training" describe the files that a model was
trained with; do not set them.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from depkit.files.bounds import setting
from depkit.nn.settings import BiLSTM, Encoder
from depkit.parsers.encoders import KINDS, graph_encoders
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
# Settings of older versions that are constants now; they are ignored in the files of a model
RETIRED = (
    "scorer.tag_weight", "training.save_every", "tokenizer.embedding", "tokenizer.batch_characters",
)  # fmt: skip


@dataclass(frozen=True)
class Vectors:
    """Section inputs.vectors: pretrained word vectors.

    A word is looked up as it is written and, if the file does not have it, in lower case. A word
    that is not found gets the mean of all vectors in the file.
    """

    file: str = ""  # path of a GloVe, word2vec or fastText file; "" uses no pretrained vectors
    # how a pretrained vector is combined with the trainable embedding of the same word
    combine: Literal["sum", "concat"] = "sum"
    # "treebank" stores the vectors of the words in train and dev only; "all" stores every vector
    # of the file, so that words outside the treebank have one when the model parses other texts
    keep: Literal["treebank", "all"] = "treebank"
    tune: bool = False  # true trains the pretrained vectors; false keeps them frozen
    scale: bool = True  # divide all vectors by the standard deviation of their elements
    width: int = 0  # size of a vector; written by training


@dataclass(frozen=True)
class Context:
    """Section inputs.context: contextual vectors, from a transformer or a file of ELMo vectors.

    They are used besides the word embedding; set inputs.word=0 to replace it.
    """

    source: Literal["none", "transformer", "elmo"] = "none"
    # transformer: directory of a Hugging Face encoder, or its name on the hub
    model: str = setting("", at_test_time=True)
    revision: str = ""  # revision of the transformer on the hub; training writes the exact one
    # the pretrained weights that a transformer starts from: "all", or only the "embeddings" of its
    # word pieces, with all others initialised at random
    weights: Literal["all", "embeddings"] = setting("all", needs="tune")
    depth: int = 0  # only this many layers of the transformer are used, the first ones; 0: all
    # "single" takes one layer, the top-th from the last (top=1 is the last layer); "average" takes
    # the mean of the `top` last layers; "mix" takes a weighted sum of them and learns the weights
    layers: Literal["single", "average", "mix"] = "average"
    # see `layers`; with "average" and "mix", 0 takes all layers, including the embedding layer
    top: int = 4
    pooling: Literal["first", "last", "mean"] = "mean"  # how pieces of a word become one vector
    size: int = 100  # size of the learned projection of the vectors; 0 uses no projection
    # dropout of the elements of the vectors, before the projection
    dropout: float = setting(0.0, below=1)
    tune: bool = False  # true trains the transformer with the parser; false keeps it frozen
    # a sentence that is longer than the transformer's limit is read in segments of pieces;
    # two consecutive segments share at least this many pieces, but at most half a segment
    overlap: int = 64
    checkpointing: bool = False  # with tune=true: gradient checkpointing, less memory, more time
    digest: str = ""  # digest of the transformer's files; written by training
    available: int = 0  # number of layers, including the embedding layer; written by training
    width: int = 0  # size of the vector of one layer; written by training

    def check(self) -> None:
        if (self.source == "transformer") != bool(self.model):
            raise ValueError(
                "inputs.context.source=transformer and inputs.context.model go together; set both"
                " or neither"
            )
        if self.tune and self.source != "transformer":
            raise ValueError(
                "inputs.context.tune requires inputs.context.source=transformer; set both, or omit"
                " inputs.context.tune"
            )
        if self.source != "none" and self.layers == "single" and not self.top:
            raise ValueError(
                "inputs.context.top is 0, but inputs.context.layers=single needs the number of a"
                " layer: 1 for the last layer, 2 for the second last, and so on"
            )


@dataclass(frozen=True)
class Inputs:
    """Section inputs: the parts of the vector of a word, and their sizes. Size 0 omits a part."""

    word: int = 100  # size of the word embedding
    # words that occur less often in train are unknown words
    word_min_count: int = setting(2, minimum=1)
    # during training, a word that occurs c times in train is replaced by the unknown word with
    # probability z / (z + c), where z is this setting; 0 replaces no words
    word_unknown: float = 0.0
    # Standard deviation of the initial word embeddings. The code of Li et al. (2019) has 0.07 where
    # they are added to pretrained vectors, whose elements have a standard deviation of 1.
    word_std: float = setting(1.0, needs="word")
    # dropout of the vector of the word, pretrained vectors included, with one mask for a whole
    # sentence
    word_dropout: float = setting(0.0, below=1)
    lowercase: bool = True  # look words up in lower case
    tag: int = 0  # size of the embedding of the input's tag
    # The column of the tag; "ppos" is PPOS, the predicted tag in CoNLL-09
    tag_column: Literal["upos", "xpos", "ppos"] = setting("xpos", needs="tag")
    # dropout of the tag embedding, with one mask for a whole sentence
    tag_dropout: float = setting(0.0, below=1, needs="tag")
    char: int = 0  # size of the vector that is computed from the characters of a word
    # "lstm" is a bidirectional LSTM over all characters; "concat" concatenates the embeddings of
    # the first 8 and the last 8 characters (CharConcat, Kitaev and Klein 2018)
    char_kind: Literal["lstm", "concat"] = setting("lstm", needs="char")
    # size of the embedding of one character; with char_kind=concat, 16 embeddings are projected to
    # inputs.char unless inputs.char is 16 times this size
    char_embedding: int = setting(64, minimum=1, needs="char")
    char_dropout: float = setting(0.0, below=1, needs="char")  # dropout of the character embeddings
    # dropout of the vector from the characters, with one mask for a whole sentence
    char_vector_dropout: float = setting(0.0, below=1, needs="char")
    # true reads a special character before the first and after the last character of a word
    char_boundaries: bool = setting(False, needs="char")
    # size of a vector from hashed prefixes, suffixes and the shape of a word; it is concatenated
    # with the vector from the characters, and dropped together with it
    affix: int = 0
    # rows of the table that the affixes are hashed to
    affix_rows: int = setting(10_000, minimum=1, needs="affix")
    # probability that an affix is left out in training
    affix_dropout: float = setting(0.0, below=1, needs="affix")
    # size of a vector of the probabilities that tags and FEATS have for the word regardless of its
    # context, estimated from the words of train with the same form or the same endings
    prior: int = 0
    # size of a vector of the treebank that a sentence is from, for training on several treebanks
    # (Stymne et al. 2018). The name of a treebank is that of its file without the extension and
    # without -ud-train, -train, -dev and the like; that of ewt/train.conllu is ewt.
    treebank: int = 0
    # the treebank whose vector is used in parsing; "" takes the name of the file, or the largest
    # treebank if there was none of this name in training
    treebank_name: str = setting("", needs="treebank", at_test_time=True)
    # for a parser that corrects a parse of the sentence: size of a vector of the relation that a
    # word has in that parse; the encoder also reads the arcs (Mohammadshahi and Henderson 2021)
    draft: int = 0
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
    vectors: Vectors = field(default_factory=Vectors)
    context: Context = field(default_factory=Context)

    def check(self) -> None:
        pretrained = self.vectors.file or self.context.source != "none"
        if not (self.word or self.tag or self.char or self.affix or pretrained):
            raise ValueError(
                "the parser has nothing to read: give inputs.word, inputs.tag, inputs.char or"
                " inputs.affix a size, or set inputs.vectors.file or inputs.context.source"
            )


@dataclass(frozen=True)
class ParserConfig:
    """The configuration of a parser of any family.

    Each family has a subclass. It adds sections, and redefines `family` so that the name of the
    family is its only allowed value and its default.
    """

    family: str = field(default="", kw_only=True)
    inputs: Inputs = field(default_factory=Inputs)
    encoder: Encoder = field(default_factory=BiLSTM, metadata=KINDS)

    @property
    def predicted_tags(self) -> list[Column]:
        """The predicted columns among UPOS, XPOS, FEATS and LEMMA."""
        return []

    def check(self) -> None:
        """Raise ValueError if settings of different sections contradict each other."""
        if self.inputs.draft and not self.encoder.reads_graph:
            raise ValueError(
                f"a parser that corrects parses (inputs.draft) needs {graph_encoders()}, because no"
                " other encoder reads arcs"
            )
        if self.encoder.reads_pieces:
            _check_pretrained(self.inputs)
        if self.inputs.stop and self.encoder.is_identity:
            raise ValueError(
                f"inputs.stop has no effect with encoder.kind={self.encoder.kind}; set only one of"
                " them"
            )


def _check_pretrained(inputs: Inputs) -> None:
    """Raise ValueError for inputs that a transformer as the encoder cannot read."""
    if not inputs.context.tune:
        raise ValueError(
            "encoder.kind=transformer needs a transformer that is trained: set"
            " inputs.context.source=transformer, inputs.context.model and inputs.context.tune=true"
        )
    default = Context()
    for name, value, needed in (
        *((name, getattr(inputs, name), 0) for name in ("word", "char", "affix", "prior")),
        ("treebank", inputs.treebank, 0),
        ("stop", inputs.stop, False),
        ("vectors.file", inputs.vectors.file, ""),
        ("context.size", inputs.context.size, 0),
        ("context.pooling", inputs.context.pooling, default.pooling),
    ):
        if value != needed:
            raise ValueError(
                f"with encoder.kind=transformer, inputs.{name} must be {needed!r}, because the"
                " transformer reads only word pieces and tags"
            )


def drop_retired(tables: dict[str, Any]) -> None:
    """Remove settings of older versions, in place, from the tables of a model's config.toml."""
    for name in RETIRED:
        section, _, key = name.rpartition(".")
        table = tables
        for part in section.split("."):
            table = table.get(part, {}) if isinstance(table, dict) else {}
        if isinstance(table, dict):
            table.pop(key, None)


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
    result = from_dict(type(config), tables)
    check_effects(result, changes)
    return result
