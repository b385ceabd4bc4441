"""The input of contextual vectors, from a transformer or from a file of ELMo vectors."""

from functools import partial
from typing import TYPE_CHECKING, Any

from depkit.corpus.sentence import Sentence
from depkit.parsers.config import Context
from depkit.parsers.inputs.part import MakeArrays, Part, Rows, Text
from depkit.parsers.inputs.pieces import find_segment_format, make_piece_arrays, split_into_pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from depkit.parsers.inputs.vocabulary import Vocabulary


class ContextPart(Part):
    """Contextual vectors. Those of a transformer are computed in the network, or in advance."""

    name = "context"
    group = "context"
    weight = 2.0
    is_exported = False

    @property
    def is_used(self) -> bool:
        return self.inputs.context.source != "none"

    @property
    def size(self) -> int:
        return self.inputs.context.size or self.inputs.context.width

    def encode(self, text: Text, vocabulary: "Vocabulary") -> dict[str, Rows]:
        return {} if text.context is None else {"context": text.context}

    def batch_arrays(self, text: Text) -> MakeArrays | None:
        if text.context is not None or text.transformer is None:
            return None
        return make_piece_batcher(text.sentences, text.transformer, self.inputs.context)

    def module(self, vocabulary: "Vocabulary", transformer: Any) -> Any:
        from depkit.parsers.inputs.context_vectors import ContextVectors

        return ContextVectors(self.inputs.context, transformer)

    def vectors(self, module: Any, batch: Any) -> Any:
        return module(batch)

    def describe(self) -> str:
        context = self.inputs.context
        layers = {
            "single": f"layer {context.available - context.top} of {context.available - 1}",
            "average": f"average of the {context.top or context.available} last layers",
            "mix": f"mix of the {context.top or context.available} last layers",
        }[context.layers]
        if context.source == "elmo":
            return f"ELMo vectors ({layers})"
        revision = f" at revision {context.revision}" if context.revision else f", {context.digest}"
        kind = "tuned" if context.tune else "frozen"
        return f"transformer {context.model}{revision} ({kind}, {layers})"


def make_piece_batcher(
    sentences: "Sequence[Sentence]", transformer: Any, config: Context
) -> MakeArrays:
    """Split sentences into pieces, and return the function that makes the pieces of a batch.

    Args:
        sentences: The sentences of a Dataset.
        transformer: The transformer that will read the pieces.
        config: The settings of contextual vectors.
    """
    pieces = split_into_pieces([sentence.form for sentence in sentences], transformer.tokenizer)
    return partial(
        make_piece_arrays, pieces,
        format=find_segment_format(transformer.tokenizer, transformer.max_pieces),
        pooling=config.pooling, overlap=config.overlap,
    )  # fmt: skip
