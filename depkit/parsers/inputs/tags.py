"""The input of tags that a sentence already has."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from depkit.corpus.sentence import Sentence
from depkit.files.bounds import setting
from depkit.files.errors import FormatError
from depkit.parsers.inputs.part import EncodingInput, Part, Rows
from depkit.parsers.inputs.tables import PAD, ROOT, SPECIAL, UNKNOWN, TableRule

if TYPE_CHECKING:
    from depkit.parsers.inputs.vocabulary import Vocabulary


@dataclass(frozen=True)
class TagSettings:
    """The settings of section inputs for tags of the input."""

    tag: int = 0  # size of the embedding of the input's tag
    # The column of the tag; "ppos" is PPOS, the predicted tag in CoNLL-09
    tag_column: Literal["upos", "xpos", "ppos"] = setting("xpos", needs="tag")
    # dropout of the tag embedding, with one mask for a whole sentence
    tag_dropout: float = setting(0.0, below=1, needs="tag")


class Tags(Part):
    """Embeddings of the tags in a column of the input."""

    settings = TagSettings
    inputs: TagSettings
    name = main_setting = "tag"
    group = "tag"
    table = "tags"
    first_symbols = SPECIAL
    suits_pieces = True

    @property
    def table_label(self) -> str:
        return self.inputs.tag_column

    @property
    def vector_dropout(self) -> float:
        return self.inputs.tag_dropout

    def table_rule(self) -> TableRule | None:
        return TableRule(self.table, self.read, SPECIAL) if self.size else None

    def read(self, sentence: Sentence) -> list[str]:
        """Return the tags of a sentence.

        "ppos" stands for the predicted tags of CoNLL-09; in other formats, all its values are `_`.
        """
        column = self.inputs.tag_column
        if column != "ppos":
            return getattr(sentence, column)
        if not sentence.format.has_argument_columns or sentence.problem:
            return ["_"] * len(sentence)
        index = sentence.format.index("pxpos")
        return [sentence.lines[row].split("\t", index + 1)[index] for row in sentence.rows]

    def check(self, sentence: Sentence) -> None:
        column = self.inputs.tag_column
        if set(self.read(sentence)) == {"_"}:
            needs_conll09 = column == "ppos"
            advice = (
                "give a CoNLL-09 file with this column" if needs_conll09 else "tag the file first"
            )
            raise FormatError(
                *sentence.location(),
                f"the sentence has no {column.upper()}, but the parser reads it; {advice}, or train"
                " a parser with another inputs.tag_column or with inputs.tag=0",
            )

    def encode(self, source: EncodingInput, vocabulary: "Vocabulary") -> dict[str, Rows]:
        get = vocabulary.tables[self.table].get
        return {"tag": source.per_word(lambda sentence: map(get, self.read(sentence)), PAD, ROOT)}

    def module(self, vocabulary: "Vocabulary", transformer: Any) -> Any:
        from torch import nn

        module = nn.Embedding(len(vocabulary.tables[self.table]), self.size, padding_idx=PAD)
        module.weight.data[UNKNOWN].zero_()  # This row is never trained.
        return module

    def vectors(self, module: Any, batch: Any) -> Any:
        return module(batch["tag"])

    def embeddings(self, module: Any) -> dict[str, Any]:
        return {"tag": module}

    def describe(self) -> str:
        return f"tags ({self.inputs.tag_column})"
