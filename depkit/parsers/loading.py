"""Loading a parser from a model directory: the choice of the engine that runs its network.

This module does not import torch. A model with exported graphs is run with ONNX Runtime on a CPU;
everything else needs torch, which `torch_loading` imports.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from depkit.corpus.io import PathLike
from depkit.files.system import GPU_FILES, count_available_cores
from depkit.parsers.base import Parser
from depkit.parsers.engine.names import ENGINE_VARIABLE, EngineName, Precision
from depkit.parsers.ensembles import load_ensemble
from depkit.parsers.families import get_family
from depkit.parsers.inputs.parts import used_parts
from depkit.parsers.model_directory import (
    DEFAULT,
    ENSEMBLE,
    ModelError,
    check_weights,
    find_graphs,
    find_missing_graph,
    find_model,
    read_config,
    read_ensemble,
    read_parser,
)
from depkit.parsers.settings import ConfigError


def load(
    model: PathLike = DEFAULT,
    device: str = "auto",
    precision: Precision = "auto",
    *,
    threads: int | None = None,
    settings: Sequence[str] | None = None,
    engine: EngineName = "auto",
) -> Parser:
    """Load a parser from a model directory, or a bundled model by name.

    >>> import depkit
    >>> parser = depkit.load("en-ewt", threads=1)
    >>> [(word.form, word.deprel) for word in parser("Birds sing.")[0]]
    [('Birds', 'nsubj'), ('sing', 'root'), ('.', 'punct')]

    Args:
        model: The path of the directory, the name of a bundled model, or hf:USER/NAME or
            hf:USER/NAME@REVISION, a model of the Hugging Face hub.
        device: "cpu", "cuda", "cuda:1", "mps" and so on, or "auto", see `device.find_device`.
        precision: "float32", "bfloat16", "int8" (only on a CPU, and not for every encoder) or
            "auto". With ONNX Runtime, "auto" is int8; with torch, it is bfloat16 if the device
            computes in it natively, else int8 if the model can be quantized, else float32.
        threads: The number of threads on a CPU; by default, ONNX Runtime uses that in
            OMP_NUM_THREADS or one for each core, and torch `torch.get_num_threads()`.
        settings: Settings KEY=VALUE, see `config.apply_test_time_settings`.
        engine: "onnx" is ONNX Runtime, which runs models with exported graphs on a CPU. "torch"
            runs all models. "auto" is the value of the environment variable DEPKIT_ENGINE if it has
            one, otherwise ONNX Runtime where it can be used, even if there is a GPU: with models
            that have graphs, a GPU waits for the CPU nearly all the time.

    Raises:
        ModelError: A file is missing or damaged, files do not belong together, or the model cannot
            be downloaded.
        TransformerError: The description of a tuned transformer is missing or damaged.
        ConfigError: There is no such device or setting, or the engine cannot run the model.
        ValueError: There is no such precision, the model cannot be quantized, or there are no
            threads.
    """
    path = find_model(model)
    name = choose_engine(engine)
    if precision not in get_args(Precision):
        *others, last = get_args(Precision)
        raise ValueError(
            f"there is no precision {precision!r}; it can be {', '.join(others)} or {last}"
        )
    if threads is not None and threads < 1:
        raise ValueError(f"the number of threads must be 1 or more, not {threads}")
    obstacle = "" if name == "torch" else find_obstacle(path, device, precision, settings or [])
    if name == "onnx" and obstacle:
        raise ConfigError(f"{path} cannot be run by the engine onnx: {obstacle}")
    if name == "torch" or obstacle:
        from depkit.parsers.torch_loading import load_on_torch

        return load_on_torch(model, device, precision, threads=threads, settings=settings)
    load_path = _load_ensemble if (path / ENSEMBLE).is_file() else _load_on_onnx
    return load_path(path, threads, settings or [])


def choose_engine(name: str) -> str:
    """Return "onnx" or "torch", or "auto" if neither is prescribed.

    name: "onnx", "torch", or "auto" for what the environment variable DEPKIT_ENGINE says.
    """
    value = name if name != "auto" else os.environ.get(ENGINE_VARIABLE) or "auto"
    if value not in get_args(EngineName):
        source = "" if name != "auto" else f" (from {ENGINE_VARIABLE})"
        raise ConfigError(f"there is no engine {value!r}{source}; it can be auto, onnx or torch")
    return value


def choose_common_engine(
    models: Sequence[PathLike], device: str, precision: str, settings: Sequence[str]
) -> EngineName:
    """Return the `engine` for loading models that are combined: "torch" if one of them needs it.

    The other arguments are those of `load`.
    """
    paths = map(find_model, models)
    obstacles = [find_obstacle(path, device, precision, settings) for path in paths]
    return "torch" if any(obstacles) else "auto"


def uses_torch(
    models: Sequence[PathLike],
    *,
    engine: EngineName,
    device: str,
    precision: str,
    settings: Sequence[str],
) -> bool:
    """Return whether `load` runs models that are combined with torch; its arguments are those."""
    name = choose_engine(engine)
    if name == "auto":
        name = choose_common_engine(models, device, precision, settings)
    return name == "torch"


def find_obstacle(path: Path, device: str, precision: str, settings: Sequence[str]) -> str:
    """Say why ONNX Runtime cannot run a model; "" if it can. The arguments are those of `load`."""
    if device not in ("auto", "cpu"):
        return f"ONNX Runtime runs on the CPU only, not on {device}"
    if precision not in ("auto", "int8"):
        return f"ONNX Runtime computes in int8 only, not in {precision}"
    if missing := find_missing_graph(path):
        message = f"the model lacks the exported graph {missing}; make it with depkit export"
        return _find_export_obstacle(path) or message
    for setting in settings:
        if setting.strip().startswith("encoder."):
            return f"the setting {setting} changes the graph"
    return ""


def _find_export_obstacle(path: Path) -> str:
    """Say why a model, or a member of an ensemble, cannot be exported; "" if all can."""
    from depkit.parsers.export import find_export_obstacle

    is_ensemble = (path / ENSEMBLE).is_file()
    for member in read_ensemble(path).members if is_ensemble else [""]:
        if reason := find_export_obstacle(read_config(path / member)[0]):
            return f"{member}: {reason}" if member else reason
    return ""


def has_gpu() -> bool:
    """Return whether torch finds a GPU; it is imported only if there may be one."""
    if not (sys.platform in ("darwin", "win32") or any(map(os.path.exists, GPU_FILES))):
        return False
    try:
        from depkit.parsers.engine.device import find_device
    except ImportError:
        return False
    return find_device().type != "cpu"


def _load_on_onnx(path: Path, threads: int | None, settings: Sequence[str]) -> Parser:
    from depkit.parsers.engine.onnx_engine import Graphs, OnnxEngine
    from depkit.parsers.text.tokenizer_file import read_tokenizer_on_onnx

    config, vocabulary = read_parser(path, settings)
    family = get_family(config)
    assert family.array_network is not None
    check_weights(path)  # ONNX Runtime reads them without their header.
    try:
        network = family.array_network(Graphs(find_graphs(path)))
    except ValueError as error:
        raise ModelError(
            f"{path} cannot be run by ONNX Runtime: {error}, or choose `engine` torch"
        ) from None
    engine = OnnxEngine(network, all(part.depends_on_form for part in used_parts(config.inputs)))
    tokenizer = read_tokenizer_on_onnx(path)
    return family.parser(config, vocabulary, engine, threads or count_cores(), tokenizer)


def _load_ensemble(path: Path, threads: int | None, settings: Sequence[str]) -> Parser:
    from depkit.parsers.text.tokenizer_file import read_tokenizer_on_onnx

    parser = load_ensemble(path, lambda member: _load_on_onnx(member, threads, settings))
    return replace(parser, tokenizer=read_tokenizer_on_onnx(path) or parser.tokenizer)


def count_cores() -> int:
    """Return the number of threads to use: that in OMP_NUM_THREADS, or that of the cores."""
    number = os.environ.get("OMP_NUM_THREADS", "")
    if number.isdigit() and int(number):
        return int(number)
    return count_available_cores()
