"""The input of a parse that the parser corrects (Mohammadshahi and Henderson 2021)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from depkit.corpus.sentence import Sentence
from depkit.files.errors import FormatError
from depkit.nn.settings import Encoder
from depkit.parsers.encoders import graph_encoders
from depkit.parsers.inputs.part import EncodingInput, Part, Rows

if TYPE_CHECKING:
    from depkit.parsers.inputs.vocabulary import Vocabulary


@dataclass(frozen=True)
class DraftSettings:
    """The settings of section inputs for a parse that is corrected."""

    # for a parser that corrects a parse of the sentence: size of a vector of the relation that a
    # word has in that parse; the encoder also reads the arcs (Mohammadshahi and Henderson 2021)
    draft: int = 0


class Draft(Part):
    """Embeddings of the relations of a parse. The encoder reads its arcs."""

    settings = DraftSettings
    inputs: DraftSettings
    name = main_setting = "draft"
    group = "draft"
    is_combined = False
    is_exported = False
    suits_pieces = True

    def check_encoder(self, encoder: Encoder) -> None:
        if not encoder.reads_graph:
            raise ValueError(
                f"a parser that corrects parses (inputs.draft) needs {graph_encoders()}, because no"
                " other encoder reads arcs"
            )

    def check(self, sentence: Sentence) -> None:
        draft = sentence.draft
        if draft and -1 in draft.head:
            raise FormatError(
                *draft.location(draft.head.index(-1)),
                "the word has no HEAD, but this parser corrects parses; parse the file with another"
                " model first",
            )

    def encode(self, source: EncodingInput, vocabulary: "Vocabulary") -> dict[str, Rows]:
        """Return heads, -1 for none, and 1 + the indices of labels, 0 for none."""
        labels = vocabulary.columns["deprel"].indices

        def heads(sentence: Sentence) -> Sequence[int]:
            assert sentence.draft is not None  # the sentence itself may have the gold tree
            return sentence.draft.head

        def relations(sentence: Sentence) -> list[int]:
            assert sentence.draft is not None
            return [1 + labels.get(label, -1) for label in sentence.draft.deprel]

        return {
            "draft.head": source.per_word(heads, -1, -1),
            "draft.label": source.per_word(relations, 0, 0),
        }

    def module(self, vocabulary: "Vocabulary", transformer: Any) -> Any:
        from torch import nn

        return nn.Embedding(1 + len(vocabulary.columns["deprel"]), self.size)

    def vectors(self, module: Any, batch: Any) -> Any:
        return module(batch["draft.label"])

    def describe(self) -> str:
        return "a parse that is corrected"
