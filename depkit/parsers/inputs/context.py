"""The input of contextual vectors, from a transformer or from a file of ELMo vectors."""

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from depkit.corpus.sentence import Sentence
from depkit.files.bounds import setting
from depkit.nn.settings import Encoder
from depkit.parsers.inputs.part import EncodingInput, MakeArrays, Part, Rows
from depkit.parsers.inputs.pieces import find_segment_format, make_piece_arrays, split_into_pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from depkit.parsers.inputs.vocabulary import Vocabulary

# How the layers of a transformer, or of ELMo, become one vector of a word
Layers = Literal["single", "average", "mix"]
# What settings need that are only for a transformer, and those for all contextual vectors
OF_TRANSFORMER = {"source": ["transformer"]}
OF_VECTORS = {"source": ["transformer", "elmo"]}


@dataclass(frozen=True)
class Context:
    """Section inputs.context: contextual vectors, from a transformer or a file of ELMo vectors.

    They are used besides the word embedding; set inputs.word=0 to replace it.
    """

    # what computes contextual vectors of words: "transformer" is the encoder that `model` names;
    # "elmo" means vectors that were computed before, see --elmo of depkit train
    source: Literal["none", "transformer", "elmo"] = "none"
    # transformer: directory of a Hugging Face encoder, or its name on the hub
    model: str = setting("", at_test_time=True)
    # revision of the transformer on the hub; training writes the exact one
    revision: str = setting("", needs="model")
    # the pretrained weights that a transformer starts from: "all", or only the "embeddings" of its
    # word pieces, with all others initialised at random
    weights: Literal["all", "embeddings"] = setting("all", needs="tune")
    # only this many layers of the transformer are used, the first ones; 0: all
    depth: int = setting(0, needs=OF_TRANSFORMER)
    # "single" takes one layer, the top-th from the last (top=1 is the last layer); "average" takes
    # the mean of the `top` last layers; "mix" takes a weighted sum of them and learns the weights
    layers: Layers = setting("average", needs=OF_VECTORS)
    # see `layers`; with "average" and "mix", 0 takes all layers, including the embedding layer, and
    # the default, 4, takes all layers if there are fewer than 4
    top: int = setting(4, needs=OF_VECTORS)
    # how the vectors of a word's pieces become one vector
    pooling: Literal["first", "last", "mean"] = setting("mean", needs=OF_TRANSFORMER)
    # size of the learned projection of the vectors; 0 uses no projection
    size: int = setting(100, needs=OF_VECTORS)
    # dropout of the elements of the vectors, before the projection
    dropout: float = setting(0.0, below=1, needs=OF_VECTORS)
    tune: bool = False  # true trains the transformer with the parser; false keeps it frozen
    # a sentence that is longer than the transformer's limit is read in segments of pieces;
    # two consecutive segments share at least this many pieces, but at most half a segment
    overlap: int = setting(64, needs=OF_TRANSFORMER)
    # gradient checkpointing: training takes less memory and more time
    checkpointing: bool = setting(False, needs="tune")
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
class ContextSettings:
    """The section within section inputs for contextual vectors."""

    context: Context = field(default_factory=Context)


class ContextPart(Part):
    """Contextual vectors. Those of a transformer are computed in the network, or in advance."""

    settings = ContextSettings
    inputs: ContextSettings
    name = "context"
    main_setting = "context.source"
    group = "context"
    weight = 2.0
    is_exported = False

    @property
    def is_used(self) -> bool:
        return self.inputs.context.source != "none"

    def check_encoder(self, encoder: Encoder) -> None:
        unused = {"size": 0, "pooling": Context.pooling}
        for name, value in unused.items() if encoder.reads_pieces else ():
            if getattr(self.inputs.context, name) != value:
                raise ValueError(
                    f"with encoder.kind={encoder.kind}, inputs.context.{name} must be {value!r},"
                    " because the transformer reads only word pieces and tags"
                )

    @property
    def size(self) -> int:
        return self.inputs.context.size or self.inputs.context.width

    def encode(self, source: EncodingInput, vocabulary: "Vocabulary") -> dict[str, Rows]:
        return {} if source.context is None else {"context": source.context}

    def batch_arrays(self, source: EncodingInput) -> MakeArrays | None:
        if source.context is not None or source.transformer is None:
            return None
        return make_piece_batcher(source.sentences, source.transformer, self.inputs.context)

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
