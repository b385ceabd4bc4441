"""depkit info: what runs here, and what a model is."""

import dataclasses
import json
import platform
from importlib import metadata
from math import prod
from pathlib import Path
from typing import Annotated, Any

import typer

from depkit.cli.options import Quiet
from depkit.cli.tables import rendered_facts
from depkit.version import __version__

_PACKAGES = ("torch", "transformers", "numpy", "numba")


def info_command(
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="A model directory, or a bundled model's name."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    quiet: Quiet = False,  # nothing to silence, but every command takes it
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print a model's recipe, too, as TOML.")
    ] = False,
) -> None:
    """Tell what depkit runs on here, or what a model is.

    Without MODEL: versions, devices, recipes and bundled models. With it: the model's card, its
    size and vocabulary, and what it reads and predicts; the weights are not loaded.

    Example: depkit info en-ewt
    """
    facts = _model(model) if model is not None else _system()
    if as_json:
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
    elif model is None:
        typer.echo(rendered_facts(_system_rows(facts)))
    else:
        parts = [facts["card"] or "", rendered_facts(_model_rows(facts))]
        if verbose:
            parts.append(_recipe(Path(facts["directory"])))
        typer.echo("\n\n".join(part.strip() for part in parts if part))


def _system() -> dict[str, Any]:
    from depkit.parsers.model_directory import bundled_models
    from depkit.training.recipe import recipe_names

    return {
        "depkit": __version__,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "platform": platform.platform(),
        "devices": _devices(),
        "recipes": recipe_names(),
        "models": bundled_models(),
        "features": _kept_features(),
    }


def _kept_features() -> dict[str, Any] | None:
    """Where features are kept, and how many bytes of them; None without any."""
    from depkit.corpus.feature_cache import cache_directory

    try:
        directory = cache_directory() / "features"
    except OSError:
        return None
    size = sum(path.stat().st_size for path in directory.glob("*.npy"))
    return {"directory": str(directory), "bytes": size} if size else None


def _version(package: str) -> str | None:
    """From the package's metadata: importing transformers takes seconds."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _devices() -> list[dict[str, Any]]:
    """What --device can name here, in its words; memory in bytes."""
    import torch

    from depkit.parsers.device import best_precision

    native = best_precision(torch.device("cpu")) == torch.bfloat16
    devices = [{"device": "cpu", "threads": torch.get_num_threads(), "bfloat16": native}]
    for number in range(torch.cuda.device_count()):
        card = torch.cuda.get_device_properties(number)
        devices.append({"device": f"cuda:{number}", "name": card.name, "memory": card.total_memory})
    if torch.backends.mps.is_available():
        devices.append({"device": "mps"})
    return devices


def _system_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [
        ("depkit", facts["depkit"]),
        ("Python", facts["python"]),
        *((name, version or "not installed") for name, version in facts["packages"].items()),
        ("platform", facts["platform"]),
        *(("device", _device(device)) for device in facts["devices"]),
        ("recipes", ", ".join(facts["recipes"])),
        ("models", ", ".join(facts["models"]) or "none"),
    ]
    if kept := facts["features"]:
        size = _size(kept["bytes"])
        rows.append(("features", f"{size} kept in {kept['directory']}; they can be removed"))
    return rows


def _device(facts: dict[str, Any]) -> str:
    parts = [facts["device"]]
    if "threads" in facts:
        threads, native = facts["threads"], "native" if facts["bfloat16"] else "not native"
        parts += [f"{threads} thread{'s' * (threads > 1)}", f"bfloat16 {native}"]
    if "name" in facts:
        parts += [facts["name"], _size(facts["memory"])]
    return ", ".join(parts)


def _model(name: str) -> dict[str, Any]:
    """Raises ModelError for a model that is missing or damaged."""
    from depkit.parsers import model_directory as files
    from depkit.parsers.config import what_it_reads
    from depkit.parsers.inputs.vocabulary import SPECIAL

    directory = files.find_model(name)
    card, tokenizer = directory / files.CARD, directory / files.TOKENIZER
    common = {
        "directory": str(directory),
        "bytes": sum(path.stat().st_size for path in files.model_files(directory)),
        "files": _sizes(directory),
        "tokenizer": {"parameters": _parameters(tokenizer)} if tokenizer.is_file() else None,
        "card": card.read_text("utf-8", errors="replace") if card.is_file() else None,
    }
    if (directory / files.ENSEMBLE).is_file():
        ensemble = files.read_ensemble(directory)
        members = {name: _model(str(directory / name)) for name in ensemble.members}
        return common | {
            "parameters": sum(member["parameters"] for member in members.values()),
            "mean": ensemble.mean,
            "members": members,
        }
    config, recipe = files.read_config(directory)
    vocabulary = files.read_vocabulary(directory)
    if config.inputs.context.tune and not (directory / files.TRANSFORMER).is_dir():
        raise files.ModelError(f"{directory} is not a model: it has no {files.TRANSFORMER}")
    inputs = (
        ("words", config.inputs.word, vocabulary.words),
        ("characters", config.inputs.char, vocabulary.characters),
        (config.inputs.tag_column, config.inputs.tag, vocabulary.tags),
        ("pretrained vectors", vocabulary.vectors is not None, vocabulary.vectors or ()),
    )
    return common | {
        "parameters": _parameters(directory / files.WEIGHTS),
        "inputs": what_it_reads(config.inputs),
        "reads": {kind: len(table) - len(SPECIAL) for kind, size, table in inputs if size},
        "predicts": {column: len(table) for column, table in vocabulary.columns.items()},
        "family": config.family,
        "decoder": dataclasses.asdict(config).get("decoder"),
        "recipe": recipe,
    }


def _sizes(directory: Path) -> dict[str, int]:
    """The sizes in bytes of a directory's files and folders, the largest first.

    Those that only training needs are included.
    """
    sizes = {
        path.name: sum(each.stat().st_size for each in (path, *path.rglob("*")) if each.is_file())
        for path in directory.iterdir()
    }
    return dict(sorted(sizes.items(), key=lambda pair: (-pair[1], pair[0])))


def _parameters(path: Path) -> int:
    """How many numbers a weights file holds, by its header alone."""
    from safetensors import SafetensorError, safe_open

    from depkit.parsers.model_directory import ModelError

    if not path.is_file():
        raise ModelError(f"{path.parent} is not a model: it has no {path.name}")
    try:
        with safe_open(path, framework="numpy") as file:
            return sum(prod(file.get_slice(name).get_shape()) for name in file.keys())
    except SafetensorError as error:
        raise ModelError(f"{path}: damaged: {error}") from None


def _recipe(directory: Path) -> str:
    """As it stands in the model, which may hold more than this depkit knows."""
    from depkit.parsers.model_directory import CONFIG, ENSEMBLE

    ensemble = directory / ENSEMBLE
    return (ensemble if ensemble.is_file() else directory / CONFIG).read_text("utf-8")


def _model_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    text = "no: it has no tokenizer"
    if tokenizer := facts["tokenizer"]:
        text = f"yes, by a tokenizer of {tokenizer['parameters']:,} parameters"
    rows = [
        ("directory", f"{facts['directory']}, {_size(facts['bytes'])}"),
        ("files", ", ".join(f"{name} {_size(size)}" for name, size in facts["files"].items())),
        ("parameters", f"{facts['parameters']:,}"),
    ]
    if "members" in facts:
        members = ("members", ", ".join(facts["members"]))
        return [*rows, members, ("mean", facts["mean"]), ("raw text", text)]
    names = {"deprel": "relations", "lemma": "lemma rules"}
    predicts = [f"{count:,} {names.get(name, name)}" for name, count in facts["predicts"].items()]
    rows += [
        ("inputs", ", ".join(facts["inputs"])),
        ("reads", ", ".join(f"{count:,} {name}" for name, count in facts["reads"].items())),
        ("predicts", ", ".join(["heads"] * ("deprel" in facts["predicts"]) + predicts)),
        ("raw text", text),
    ]
    if decoder := facts["decoder"]:
        rows.append(("decoder", f"{decoder['algorithm']}, {decoder['root']} root"))
    return rows


def _size(count: float) -> str:
    """A number of bytes for people."""
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"
