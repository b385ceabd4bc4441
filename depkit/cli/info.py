"""`depkit info`: describes the installation or a model."""

import json
import platform
from importlib import metadata
from math import prod
from pathlib import Path
from typing import Annotated, Any

import typer

from depkit.cli.options import Quiet, verbose_flag
from depkit.cli.output import count_noun, for_terminal, print_output
from depkit.cli.tables import render_facts
from depkit.version import __version__

_PACKAGES = ("torch", "transformers", "numpy", "numba")


def info_command(
    model: Annotated[str | None, typer.Argument(metavar="MODEL")] = None,
    recipes: Annotated[bool, typer.Option("--recipes")] = False,
    models: Annotated[bool, typer.Option("--models")] = False,
    settings: Annotated[bool, typer.Option("--settings")] = False,
    as_json: Annotated[bool, typer.Option("--json")] = False,
    quiet: Quiet = False,  # has no effect, but all commands accept it
    verbose: Annotated[
        bool, verbose_flag("Also print all settings of the model, as TOML.")
    ] = False,
) -> None:
    """Describe this installation of depkit, or a model.

    Without MODEL, the versions of depkit and other packages, the devices, the recipes and the
    bundled models are listed. With MODEL, its model card, its size, its vocabulary, its inputs and
    its predictions are described. If MODEL is a recipe, the rows of the tables of papers are listed
    that it belongs to, with the score of the paper, the data that they need, and the command.

    Example: depkit info en-ewt

    Example: depkit info kk2018

    Example: depkit info --models

    Example: depkit info --settings encoder
    """
    lists = {"recipes": recipes, "models": models, "settings": settings}
    given = [f"--{name}" for name, is_given in lists.items() if is_given]
    if len(given) > 1:
        raise typer.BadParameter(
            "they contradict each other; give only one of them", param_hint=" and ".join(given)
        )
    if model is not None and (recipes or models):
        raise typer.BadParameter(
            f"it lists all {given[0][2:]}; leave MODEL out", param_hint=given[0]
        )
    if settings:
        from depkit.cli.setting_tables import render_settings, select_settings, setting_facts

        selected = select_settings(model or "")
        if as_json:
            print_output(json.dumps(setting_facts(selected), indent=2, ensure_ascii=False))
        else:
            print_output(render_settings(selected))
        return
    if models:
        from depkit.cli.model_tables import model_facts, render_models

        if as_json:
            print_output(json.dumps(model_facts(), indent=2, ensure_ascii=False))
        else:
            print_output(render_models())
        return
    if recipes or (model is not None and _is_recipe(model)):
        _print_recipes(model, as_json, verbose)
        return
    facts = _model_facts(model) if model is not None else _system_facts()
    if as_json:
        print_output(json.dumps(facts, indent=2, ensure_ascii=False))
    elif model is None:
        print_output(render_facts(_system_rows(facts)), colours=True)
    else:
        parts = [for_terminal(facts["card"] or ""), render_facts(_model_rows(facts))]
        if verbose:
            parts.append(for_terminal(_read_settings(Path(facts["directory"]))))
        print_output("\n\n".join(part.strip() for part in parts if part), colours=True)


def _is_recipe(name: str) -> bool:
    """Whether a name is that of a recipe, and not that of a model."""
    from depkit.parsers.model_directory import bundled_models
    from depkit.training.recipe import recipe_names

    return name in recipe_names() and name not in bundled_models() and not Path(name).exists()


def _print_recipes(name: str | None, as_json: bool, verbose: bool) -> None:
    """Describe a recipe, or all of them; with `verbose`, also the settings of the recipe."""
    from depkit.cli import recipe_tables
    from depkit.parsers.settings import to_toml

    if as_json:
        facts = recipe_tables.recipe_facts(name) if name else recipe_tables.all_recipe_facts()
        print_output(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    text = recipe_tables.render_recipe(name) if name else recipe_tables.render_recipes()
    if name and verbose:
        text += "\n\n" + to_toml(recipe_tables.recipe_facts(name)["settings"]).strip()
    print_output(text)


def _system_facts() -> dict[str, Any]:
    from depkit.parsers.model_directory import bundled_models
    from depkit.training.recipe import recipe_names

    return {
        "depkit": __version__,
        "python": platform.python_version(),
        "packages": {name: _package_version(name) for name in _PACKAGES},
        "platform": platform.platform(),
        "devices": _devices(),
        "recipes": recipe_names(),
        "models": bundled_models(),
        "features": _cached_vectors(),
    }


def _cached_vectors() -> dict[str, Any] | None:
    """Return the directory of transformers' cached vectors and its size; None if it is empty."""
    from depkit.parsers.inputs.vector_cache import cache_directory

    try:
        directory = cache_directory() / "features"
    except OSError:
        return None
    size = sum(path.stat().st_size for path in directory.glob("*.npy"))
    return {"directory": str(directory), "bytes": size} if size else None


def _package_version(package: str) -> str | None:
    """Return the version in the package's metadata; importing the package may take seconds."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _devices() -> list[dict[str, Any]]:
    """Return the devices that --device can name on this machine; memory is in bytes."""
    import torch

    from depkit.parsers.engine.precision import best_precision

    has_bfloat16 = best_precision(torch.device("cpu")) == torch.bfloat16
    devices = [{"device": "cpu", "threads": torch.get_num_threads(), "bfloat16": has_bfloat16}]
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
        *(("device", _device_text(device)) for device in facts["devices"]),
        ("recipes", ", ".join(facts["recipes"])),
        ("models", ", ".join(facts["models"]) or "none"),
    ]
    if cached := facts["features"]:
        size, directory = _format_size(cached["bytes"]), cached["directory"]
        rows.append(("cache", f"{size} of vectors in {directory}; you can delete them"))
    return rows


def _device_text(facts: dict[str, Any]) -> str:
    parts = [facts["device"]]
    if "threads" in facts:
        threads, support = facts["threads"], "native" if facts["bfloat16"] else "not native"
        parts += [count_noun(threads, "thread"), f"bfloat16 {support}"]
    if "name" in facts:
        parts += [facts["name"], _format_size(facts["memory"])]
    return ", ".join(parts)


def _model_facts(name: str) -> dict[str, Any]:
    """Return the facts about a model; raises ModelError if the model is missing or damaged."""
    from depkit.parsers import model_directory as models
    from depkit.parsers.families import get_family
    from depkit.parsers.inputs.parts import describe_inputs, used_parts
    from depkit.parsers.model_card import read_card

    directory = models.find_model(name)
    tokenizer = directory / models.TOKENIZER
    common = {
        "directory": str(directory),
        "bytes": sum(path.stat().st_size for path in models.model_files(directory)),
        "files": _file_sizes(directory),
        "tokenizer": {"parameters": _count_parameters(tokenizer)} if tokenizer.is_file() else None,
        "card": read_card(directory),
    }
    if (directory / models.ENSEMBLE).is_file():
        ensemble = models.read_ensemble(directory)
        members = {name: _model_facts(str(directory / name)) for name in ensemble.members}
        return common | {
            "parameters": sum(member["parameters"] for member in members.values()),
            "mean": ensemble.mean,
            "members": members,
            "default_tokenizer": next(iter(members.values()))["default_tokenizer"],
        }
    config, recipe = models.read_config(directory)
    vocabulary = models.read_vocabulary(directory)
    if config.inputs.context.tune and not (directory / models.TRANSFORMER).is_dir():
        raise models.ModelError(f"{directory} is not a model: it has no {models.TRANSFORMER}")
    return common | {
        "parameters": _count_parameters(directory / models.WEIGHTS),
        "inputs": describe_inputs(config.inputs),
        "reads": {
            part.table_label: len(vocabulary.tables[part.table]) - len(part.first_symbols)
            for part in used_parts(config.inputs)
            if part.table
        },
        "predicts": {column: len(table) for column, table in vocabulary.columns.items()},
        "family": config.family,
        "default_tokenizer": get_family(config).default_tokenizer,
        "decoder": get_family(config).decoder(config),
        "recipe": recipe,
    }


def _file_sizes(directory: Path) -> dict[str, int]:
    """Return the sizes in bytes of a directory's files and folders, the largest first.

    Files that only the training needs are included.
    """
    sizes = {
        path.name: sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file())
        for path in directory.iterdir()
    }
    return dict(sorted(sizes.items(), key=lambda pair: (-pair[1], pair[0])))


def _count_parameters(path: Path) -> int:
    """Return the number of parameters in a file of weights, of which only the header is read."""
    from depkit.parsers.engine.weights import read_shapes

    return sum(map(prod, read_shapes(path).values()))


def _read_settings(directory: Path) -> str:
    """Return the text of a model's settings; newer versions of depkit may have more settings."""
    from depkit.parsers.model_directory import CONFIG, ENSEMBLE

    ensemble = directory / ENSEMBLE
    return (ensemble if ensemble.is_file() else directory / CONFIG).read_text("utf-8")


def _model_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    from depkit.parsers.families import FAMILIES

    text = "no, because the model has no tokenizer"
    if default := facts["default_tokenizer"]:
        text = f"yes, with the tokenizer of {default}"
    if tokenizer := facts["tokenizer"]:
        text = f"yes, with a tokenizer of {tokenizer['parameters']:,} parameters"
    rows = [
        ("directory", f"{facts['directory']}, {_format_size(facts['bytes'])}"),
        (
            "files",
            ", ".join(f"{name} {_format_size(size)}" for name, size in facts["files"].items()),
        ),
        ("parameters", f"{facts['parameters']:,}"),
    ]
    if "members" in facts:
        members = ("members", ", ".join(facts["members"]))
        return [*rows, members, ("mean", facts["mean"]), ("raw text", text)]
    family = FAMILIES[facts["family"]]
    rows += [
        ("inputs", ", ".join(facts["inputs"])),
        ("reads", ", ".join(f"{count:,} {name}" for name, count in facts["reads"].items())),
        ("predicts", ", ".join(family.describe_predictions(facts["predicts"]))),
        ("raw text", text),
    ]
    if decoder := facts["decoder"]:
        rows.append(("decoder", family.describe_decoder(decoder)))
    return rows


def _format_size(count: float) -> str:
    """Return a number of bytes in a readable unit."""
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"
