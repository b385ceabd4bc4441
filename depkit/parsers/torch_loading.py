"""Loading a parser whose network is run with torch."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from depkit.corpus.io import PathLike
from depkit.parsers.base import Parser
from depkit.parsers.engine.device import find_device
from depkit.parsers.engine.quantisation import make_engine
from depkit.parsers.engine.weights import Shapes, make_network, read_shapes
from depkit.parsers.ensembles import load_ensemble
from depkit.parsers.families import get_family
from depkit.parsers.inputs.context import Context
from depkit.parsers.inputs.transformer import (
    Transformer,
    TransformerError,
    from_description,
    load_transformer,
)
from depkit.parsers.model_directory import (
    CONFIG,
    DEFAULT,
    ENSEMBLE,
    TRANSFORMER,
    WEIGHTS,
    ModelError,
    find_model,
    read_parser,
)
from depkit.parsers.text.tokenizer_file import read_tokenizer


def load_on_torch(
    model: PathLike = DEFAULT,
    device: str = "auto",
    precision: str = "auto",
    *,
    threads: int | None = None,
    settings: Sequence[str] | None = None,
) -> Parser:
    """Load a parser; the arguments and errors are those of `loading.load`."""
    path = find_model(model)
    if (path / ENSEMBLE).is_file():
        parser = load_ensemble(
            path,
            lambda name: load_on_torch(name, device, precision, threads=threads, settings=settings),
        )
        tokenizer = read_tokenizer(path, parser.device, parser.precision)
        return replace(parser, tokenizer=tokenizer or parser.tokenizer)
    config, vocabulary = read_parser(path, settings or [])
    family = get_family(config)
    shapes = read_shapes(path / WEIGHTS)
    transformer = load_model_transformer(path, config.inputs.context, shapes)
    network = make_network(
        path / WEIGHTS, shapes, lambda: family.network(config, vocabulary, transformer)
    )
    torch_device = find_device(device)
    if threads:
        torch.set_num_threads(threads)
    engine = make_engine(network, torch_device, precision, config.encoder.int8_obstacle)
    tokenizer = read_tokenizer(path, torch_device, engine.precision)
    return family.parser(config, vocabulary, engine, threads or torch.get_num_threads(), tokenizer)


def load_model_transformer(directory: Path, context: Context, shapes: Shapes) -> Transformer | None:
    """Load the transformer that a model reads; None if it reads none.

    shapes: the shapes of the model's weights, which limit the size of a tuned transformer.

    Raises ModelError if a frozen transformer cannot be loaded or is not the one that the model was
    trained with, and TransformerError if the description of a tuned transformer is damaged.
    """
    if context.source != "transformer":
        return None
    if context.tune:  # its weights are among those of the model
        transformer = from_description(directory / TRANSFORMER, shapes)
        if (transformer.layers, transformer.width) != (context.available, context.width):
            raise ModelError(
                f"{directory / TRANSFORMER} has {transformer.layers} layers of {transformer.width}"
                f" numbers, but {CONFIG} says {context.available} layers of {context.width}"
            )
        return transformer
    try:
        transformer = load_transformer(context.model, context.revision, context.depth)
    except TransformerError as error:
        raise ModelError(
            f"the model {directory} needs a transformer, which cannot be loaded: {error}; if the"
            ' transformer is in another directory now, set model to it and revision to "" in'
            f" section [inputs.context] of {directory / CONFIG}; depkit parse also takes --set"
            " inputs.context.model=DIRECTORY, and depkit.load has an argument settings for it"
        ) from None
    if transformer.digest != context.digest:
        raise ModelError(
            f"{directory}: {context.model} is not the transformer that this model was trained with"
            f" (its digest is {transformer.digest}, not {context.digest})"
        )
    return transformer
