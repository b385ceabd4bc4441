"""The input of pretrained word vectors."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from depkit.files.bounds import setting
from depkit.parsers.inputs.part import EncodingInput, Part, Rows
from depkit.parsers.inputs.tables import PAD, ROOT, SPECIAL, UNKNOWN
from depkit.parsers.settings import ConfigError

if TYPE_CHECKING:
    from depkit.parsers.inputs.vocabulary import Vocabulary


@dataclass(frozen=True)
class Vectors:
    """Section inputs.vectors: pretrained word vectors.

    A word is looked up as it is written and, if the file does not have it, in lower case. A word
    that is not found gets the mean of all vectors in the file.
    """

    file: str = ""  # path of a GloVe, word2vec or fastText file; "" uses no pretrained vectors
    # how a pretrained vector is combined with the trainable embedding of the same word
    combine: Literal["sum", "concat"] = setting("sum", needs="file")
    # "treebank" stores the vectors of the words in train and dev only; "all" stores every vector
    # of the file, so that words outside the treebank have one when the model parses other texts
    keep: Literal["treebank", "all"] = setting("treebank", needs="file")
    # true trains the pretrained vectors; false keeps them frozen
    tune: bool = setting(False, needs="file")
    # divide all vectors by the standard deviation of their elements
    scale: bool = setting(True, needs="file")
    width: int = 0  # size of a vector; written by training


@dataclass(frozen=True)
class VectorSettings:
    """The section within section inputs for pretrained word vectors."""

    vectors: Vectors = field(default_factory=Vectors)


class PretrainedVectors(Part):
    """Pretrained vectors of words, added to or concatenated with their embeddings."""

    settings = VectorSettings
    name = "pretrained"
    main_setting = "vectors.file"
    group = "word"
    table = "vectors"  # the words with a vector
    first_symbols = SPECIAL
    depends_on_form = True

    @property
    def table_label(self) -> str:
        return "pretrained vectors"

    @property
    def size(self) -> int:
        vectors = self.inputs.vectors
        if self.is_added and self.inputs.word not in (0, vectors.width):
            raise ConfigError(
                f"{vectors.file} has vectors of {vectors.width} numbers, which cannot be added to"
                f" word embeddings of inputs.word={self.inputs.word}; set"
                f" inputs.word={vectors.width}, or inputs.vectors.combine=concat"
            )
        return vectors.width

    @property
    def is_added(self) -> bool:
        return self.inputs.vectors.combine == "sum"

    def encode(self, source: EncodingInput, vocabulary: "Vocabulary") -> dict[str, Rows]:
        rows = vocabulary.tables[self.table].indices

        def find(form: str) -> int:
            row = rows.get(form, rows.get(form.lower(), UNKNOWN))
            return row if row >= len(SPECIAL) else UNKNOWN  # a text may have the word "<pad>"

        return {"vector": source.per_form(find, PAD, ROOT)}

    def module(self, vocabulary: "Vocabulary", transformer: Any) -> Any:
        from torch import nn

        table = nn.Embedding(len(vocabulary.tables[self.table]), self.size, padding_idx=PAD)
        return table.requires_grad_(self.inputs.vectors.tune)

    def vectors(self, module: Any, batch: Any) -> Any:
        return module(batch["vector"])

    def describe(self) -> str:
        vectors = self.inputs.vectors
        file = vectors.file.replace("\\", "/").rpartition("/")[2]
        return f"pretrained vectors ({file}, {'tuned' if vectors.tune else 'frozen'})"
