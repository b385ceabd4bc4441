"""The input of a parse that the parser corrects (Mohammadshahi and Henderson 2021)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from depkit.corpus.sentence import Sentence
from depkit.files.errors import FormatError
from depkit.parsers.inputs.part import Part, Rows, Text

if TYPE_CHECKING:
    from depkit.parsers.inputs.vocabulary import Vocabulary


class Draft(Part):
    """Embeddings of the relations of a parse. The encoder reads its arcs."""

    name = "draft"
    group = "draft"
    is_combined = False
    is_exported = False

    @property
    def size(self) -> int:
        return self.inputs.draft

    def check(self, sentence: Sentence) -> None:
        draft = sentence.draft
        if draft and -1 in draft.head:
            raise FormatError(
                *draft.location(draft.head.index(-1)),
                "the word has no HEAD, but this parser corrects parses; parse the file with another"
                " model first",
            )

    def encode(self, text: Text, vocabulary: "Vocabulary") -> dict[str, Rows]:
        """Return heads, -1 for none, and 1 + the indices of labels, 0 for none."""
        labels = vocabulary.columns["deprel"].indices

        def heads(sentence: Sentence) -> Sequence[int]:
            assert sentence.draft is not None  # the sentence itself may have the gold tree
            return sentence.draft.head

        def relations(sentence: Sentence) -> list[int]:
            assert sentence.draft is not None
            return [1 + labels.get(label, -1) for label in sentence.draft.deprel]

        return {
            "draft.head": text.per_word(heads, -1, -1),
            "draft.label": text.per_word(relations, 0, 0),
        }

    def module(self, vocabulary: "Vocabulary", transformer: Any) -> Any:
        from torch import nn

        return nn.Embedding(1 + len(vocabulary.columns["deprel"]), self.size)

    def vectors(self, module: Any, batch: Any) -> Any:
        return module(batch["draft.label"])

    def describe(self) -> str:
        return "a parse that is corrected"
