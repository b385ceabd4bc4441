"""Exporting the graphs of a model, with which it is run without torch."""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from depkit.corpus.io import PathLike
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.files.atomic import atomic, atomic_directory, copy_directory
from depkit.files.hub import is_on_hub
from depkit.parsers.engine.names import ENGINE_VARIABLE
from depkit.parsers.families import get_family
from depkit.parsers.inputs.parts import used_parts
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.model_directory import (
    BUNDLED,
    TOKENIZER,
    TOKENIZER_GRAPH,
    WEIGHTS,
    find_model,
    read_ensemble,
)
from depkit.parsers.settings import ConfigError
from depkit.parsers.standalone import find_obstacle as find_standalone_obstacle
from depkit.parsers.standalone import write_standalone

if TYPE_CHECKING:
    from depkit.parsers.base import Parser

NUM_SENTENCES = 300  # on which the ranges of values are determined
_MAX_WORDS = 60  # of these sentences


def find_export_obstacle(config: Any) -> str:
    """Say why models with this configuration cannot be exported; "" if they can."""
    if get_family(config).array_network is None:
        return f"models of the family {config.family} cannot be exported"
    if config.encoder.reads_pieces:
        return "a model whose encoder is a transformer cannot be exported"
    for part in used_parts(config.inputs):
        if not part.is_exported:
            return f"a model that reads {part.describe()} cannot be exported"
    return ""


def wants_export(config: Any) -> bool:
    """Whether the graphs of a trained model are exported.

    They are not if the environment variable DEPKIT_ENGINE is "torch", because nothing would read
    them.
    """
    return os.environ.get(ENGINE_VARIABLE) != "torch" and not find_export_obstacle(config)


def export_model(
    model: PathLike,
    sentences: Iterable[Sentence] = (),
    output: PathLike | None = None,
    *,
    say: Callable[[str], object] | None = None,
) -> list[Path]:
    """Write the graphs of a model into its directory, or into a copy of the directory.

    The graphs of an ensemble are written into the directories of its members. The copy of a single
    model also has what is needed to run it without depkit, if this is possible; see `standalone`.

    Args:
        model: The directory of a model.
        sentences: Sentences like those that the model was trained on; the ranges of values in the
            network are determined on the first NUM_SENTENCES. By default, they are random words of
            the model's vocabulary.
        output: The copy to make, which must not exist; None writes into the model's directory.
        say: Called with a message before the graphs are made, which can take a minute.

    Returns:
        The files.

    Raises:
        ConfigError: The model cannot be exported, or the output exists.
        ModelError: See `loading.load`.
    """
    from depkit.parsers.torch_loading import load_on_torch

    directory = find_model(model)
    parser = load_on_torch(directory, "cpu", "float32")
    for member in parser.members or [parser]:
        if obstacle := find_export_obstacle(member.config):
            raise ConfigError(f"{directory}: {obstacle}")
    if output is None and (directory.parent == BUNDLED or is_on_hub(model)):
        kind = "model of the hub" if is_on_hub(model) else "bundled model"
        raise ConfigError(f"a {kind} is not changed; name a directory as `output`")
    if output is not None and os.path.lexists(output):
        raise ConfigError(f"{os.fspath(output)} exists already; name a new directory as `output`")
    if say:
        say(f"exporting {directory.name}, so that it is run without torch")
    graphs = _make_all_graphs(directory, parser, list(islice(sentences, NUM_SENTENCES)))
    if output is not None:
        with atomic_directory(output) as folder:
            copy_directory(directory, folder)
            for name, graph in graphs.items():
                (folder / name).write_bytes(graph.SerializeToString())
            if not parser.members and not find_standalone_obstacle(parser.config):
                write_standalone(folder, parser)
        return [Path(output, name) for name in graphs]
    with ExitStack() as stack:  # all are written before the first one replaces an old graph
        for name, graph in graphs.items():
            temporary = stack.enter_context(atomic(directory / name))
            temporary.write_bytes(graph.SerializeToString())
    return [directory / name for name in graphs]


def _make_all_graphs(
    directory: Path, parser: "Parser", sentences: Sequence[Sentence]
) -> dict[str, Any]:
    """Export the graphs of a model or of the members of an ensemble, by path in the directory."""
    models = {"": parser}
    if parser.members:
        models |= zip(read_ensemble(directory).members, parser.members, strict=True)
    files: dict[str, Any] = {}
    # Graphs by the file of weights, because members have copies of the ensemble's tokenizer
    tokenizers: dict[bytes, Any] = {}
    for name, model in models.items():
        graphs = {} if model.members else make_graphs(model, sentences, directory / name)
        path = directory / name / TOKENIZER
        if model.tokenizer and path.is_file():
            content = path.read_bytes()
            if content not in tokenizers:
                tokenizers[content] = make_tokenizer_graph(model, sentences, directory / name)
            graphs[TOKENIZER_GRAPH] = tokenizers[content]
        files |= {os.path.join(name, file): graph for file, graph in graphs.items()}
    return files


def export(
    model: PathLike, output: PathLike | None = None, *, sentences: Iterable[Sentence] = ()
) -> list[Path]:
    """Export the network of a model, so that it is run without torch, as `depkit export` does.

    >>> import depkit
    >>> depkit.export("my.model", "my-exported.model")  # doctest: +SKIP

    Args:
        model: The directory of a model.
        output: A copy of the directory to make; None changes the directory itself.
        sentences: As for `export_model`, which has the same errors and result.
    """
    return export_model(model, sentences, output)


def make_graphs(
    parser: "Parser",
    sentences: Sequence[Sentence],
    directory: Path | None = None,
    quantize: bool = True,
) -> dict[str, Any]:
    """Export the graphs of a parser's network, onnx.ModelProtos by file name.

    Args:
        parser: A parser on the CPU in float32.
        sentences: As for `export_model`.
        directory: The model's directory, to whose file of weights the graphs refer; None copies the
            weights into the graphs.
        quantize: Whether products are computed in eight bits.
    """
    from depkit.parsers.engine.export import export_network
    from depkit.parsers.engine.stored_weights import (
        NO_WEIGHTS,
        read_stored_weights,
        share_weights,
    )
    from depkit.parsers.inputs.dataset import encode

    sentences = _choose_sentences(parser, sentences)
    data = encode(sentences, parser.vocabulary, parser.config.inputs)
    weights = read_stored_weights(directory / WEIGHTS) if directory else NO_WEIGHTS
    graphs = export_network(parser.network, data, weights, quantize)
    return {f"{name}.onnx": share_weights(graph, weights) for name, graph in graphs.items()}


def make_tokenizer_graph(
    parser: "Parser",
    sentences: Sequence[Sentence],
    directory: Path,
) -> Any:
    """Export the graph of a parser's tokenizer as an onnx.ModelProto; see `make_graphs`."""
    from depkit.parsers.engine.export import export_tokenizer
    from depkit.parsers.engine.stored_weights import read_stored_weights, share_weights

    assert parser.tokenizer is not None
    sentences = _choose_sentences(parser, sentences)
    texts = [sentence.text or " ".join(sentence.form) for sentence in sentences]
    slices = parser.tokenizer.encode_slices(texts)
    weights = read_stored_weights(directory / TOKENIZER)
    graph = export_tokenizer(parser.tokenizer.network, slices, weights)
    return share_weights(graph, weights)


def _choose_sentences(parser: "Parser", sentences: Sequence[Sentence]) -> list[Sentence]:
    """Choose the short sentences; if there are none, make random ones of the vocabulary."""
    chosen = [s for s in sentences if 0 < len(s) <= _MAX_WORDS]
    return chosen or random_sentences(parser.vocabulary)


def random_sentences(vocabulary: Vocabulary) -> list[Sentence]:
    """Make sentences of words that are drawn from a vocabulary, frequent ones more often."""
    random = Random(1)
    forms, counts = [], []
    if vocabulary.lemmas:
        for form, readings in vocabulary.lemmas.forms.items():
            forms.append(form)
            counts.append(sum(readings[2::3]))
    else:
        forms = [word for word in vocabulary.words.symbols if not word.startswith("<")]
        counts = [1] * len(forms)
    forms, counts = forms or ["a"], counts or [1]
    return [
        new_sentence(random.choices(forms, counts, k=random.randint(3, 40)))
        for _ in range(NUM_SENTENCES)
    ]
