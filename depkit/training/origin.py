"""The origin of a training run: everything that its result depends on.

A run can be resumed only if its origin is the same.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from depkit.training.distributed import num_ranks
from depkit.training.recipe import Recipe

# Settings that may change when a run is resumed: those that determine when the run ends and how its
# model is stored, and names of files whose contents are compared, by `Sources.key` or _DIGEST.
_CHANGEABLE = {"training.epochs", "training.patience", "training.storage"}
_CHANGEABLE |= {"inputs.lexicon", "inputs.vectors.file"}
_CHANGEABLE |= {"inputs.context.model", "inputs.context.revision"}
# Settings that training has written to describe a transformer
_DIGEST = "inputs.context.digest"
_OF_TRANSFORMER = {_DIGEST, "inputs.context.available", "inputs.context.width"}
TORCHRUN = "torchrun"  # the setting that contains the number of processes
SEED, FOLDS = "--seed", "--folds"  # options that are compared like settings
_MAX_NAMED = 3  # maximum number of settings that an error names


class ResumeError(ValueError):
    """A run that cannot be resumed."""


@dataclass(frozen=True)
class Origin:
    """The settings and the data that a run was started with."""

    # Values as text, by the names that a user knows: "--seed", "training.rate", ...
    settings: dict[str, str]
    # Digests of everything else. The names are the words that an error message uses if the digests
    # differ: "other training sentences", ...
    data: dict[str, str]

    def describe_difference(self, current: "Origin") -> str:
        """Describe what the run was started with that is different now; "" if nothing is."""
        names = [
            name
            for name in self.settings | current.settings
            if name not in _CHANGEABLE
            # A run without this setting can be resumed with any number of folds.
            and (name != FOLDS or name in self.settings)
            and not _same(self.settings.get(name), current.settings.get(name))
        ]
        is_same_transformer = _DIGEST not in names
        if not is_same_transformer:
            names = [name for name in names if name not in _OF_TRANSFORMER]
        differences = [
            f"{_name_argument(name)}{' ' if name.startswith('--') else '='}"
            f"{self.settings.get(name, '(unset)')} (now {current.settings.get(name, 'unset')})"
            for name in names[:_MAX_NAMED]
        ]
        if len(names) > _MAX_NAMED:
            differences.append(f"{len(names) - _MAX_NAMED} more settings that differ")
        if not is_same_transformer and "inputs.context.source" not in names:
            differences.append("another transformer")
        if FOLDS in self.settings and not {SEED, FOLDS}.isdisjoint(names):
            return ", ".join(differences)  # Other folds explain other sentences.
        differences += [
            _name_argument(_describe_data(name, name in self.data, name in current.data))
            for name in self.data | current.data
            if self.data.get(name) != current.data.get(name)
        ]
        return ", ".join(differences)


def _describe_data(name: str, was_given: bool, is_given: bool) -> str:
    """Describe data that differ, of which a run may have none; name: a key of `Origin.data`."""
    if was_given and is_given:
        return name
    noun = name.removeprefix("another ").removeprefix("other ")
    return f"{noun} (now none)" if was_given else f"no {noun}"


def _name_argument(text: str) -> str:
    """Replace the name of an option, as checkpoints have it, by that of the argument."""
    return re.sub(r"--(\w+)", r"`\1`", text)


def _same(first: str | None, second: str | None) -> bool:
    """Whether two values are the same; 200 and 200.0 are."""
    if first == second or first is None or second is None:
        return first == second
    try:
        return float(first) == float(second)
    except ValueError:
        return False


def check_origin(directory: Path, original: Origin, current: Origin) -> None:
    """Raise ResumeError unless a run is resumed with the origin that it was started with."""
    if difference := original.describe_difference(current):
        raise ResumeError(
            f"{directory}: the run there was started with {difference}; resume it with the same"
            " recipe and settings, or train into another directory"
        )


def make_origin(seed: int, tables: Mapping[str, Any], data: Mapping[str, str]) -> Origin:
    """Make an Origin; data: as in Origin, "" for data that the run does not have."""
    settings = {SEED: str(seed)} | dict(_flatten(tables))
    return Origin(settings, {name: digest for name, digest in data.items() if digest})


def retain_batch_size(origin: Origin, recipe: Recipe) -> Recipe:
    """Return the recipe with the batch size of the run that is resumed.

    If `training.updates` is set, the batch size was computed from the number of epochs and from the
    time. It must stay the same if the run is resumed with more epochs or time.
    """
    training, original = recipe.training, origin.settings
    if not training.updates:
        return recipe
    size = int(original.get("training.batch_tokens", training.batch_tokens))
    return replace(recipe, training=replace(training, batch_tokens=size))


def weight_settings(recipe: Recipe) -> dict[str, Any]:
    """Return the settings of a recipe that are compared when a run is resumed, as nested tables.

    Those in `_CHANGEABLE` are among them, but may differ. The number of processes is added if there
    are several.
    """
    tables = recipe.tables()
    if num_ranks() > 1:
        tables[TORCHRUN] = f"{num_ranks()} processes"
    for name in ("about", "tokenizer", "calibration"):
        tables.pop(name, None)
    return tables


def _flatten(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the settings of nested tables with their full names, such as "training.rate"."""
    for name, value in tables.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value if isinstance(value, str) and value else json.dumps(value)
