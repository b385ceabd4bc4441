"""The input of pretrained word vectors."""

from typing import TYPE_CHECKING, Any

from depkit.parsers.inputs.part import Part, Rows, Text
from depkit.parsers.inputs.tables import PAD, ROOT, SPECIAL, UNKNOWN
from depkit.parsers.settings import ConfigError

if TYPE_CHECKING:
    from depkit.parsers.inputs.vocabulary import Vocabulary


class PretrainedVectors(Part):
    """Pretrained vectors of words, added to or concatenated with their embeddings."""

    name = "pretrained"
    group = "word"
    table = "vectors"  # the words with a vector
    first_symbols = SPECIAL
    depends_on_form = True

    @property
    def is_used(self) -> bool:
        return bool(self.inputs.vectors.file)

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

    def encode(self, text: Text, vocabulary: "Vocabulary") -> dict[str, Rows]:
        rows = vocabulary.tables[self.table].indices

        def find(form: str) -> int:
            row = rows.get(form, rows.get(form.lower(), UNKNOWN))
            return row if row >= len(SPECIAL) else UNKNOWN  # a text may have the word "<pad>"

        return {"vector": text.per_form(find, PAD, ROOT)}

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
