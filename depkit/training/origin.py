"""What the result of a training run depends on: all this must be the same when it is resumed."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from depkit.training.recipe import Recipe

# Settings that may be others when a run is resumed: when it stops, and how its model is stored.
_FREE = {f"training.{name}" for name in ("epochs", "patience", "save_every", "storage")}
_FREE |= {"inputs.lexicon", "inputs.vectors.file"}  # paths of files that are compared by content
_NAMED = 3  # an error names at most so many settings that differ


class ResumeError(ValueError):
    """A run that cannot be resumed."""


@dataclass(frozen=True)
class Origin:
    """What a run was begun with.

    settings: as text, by the names that a user knows: "--seed", "training.rate", ...; data: digests
    of everything else, by the words with which an error tells that they differ: "other training
    sentences", ...
    """

    settings: dict[str, str]
    data: dict[str, str]

    def difference(self, now: "Origin") -> str:
        """In words, what this run was begun with that is different now; "" if all is the same."""
        names = [
            name
            for name in self.settings | now.settings
            if name not in _FREE and self.settings.get(name) != now.settings.get(name)
        ]
        told = [
            f"{name}{' ' if name.startswith('--') else '='}{self.settings.get(name, '(unset)')}"
            f" (now {now.settings.get(name, 'unset')})"
            for name in names[:_NAMED]
        ]
        if len(names) > _NAMED:
            told.append(f"{len(names) - _NAMED} more settings that differ")
        told += [each for each in self.data | now.data if self.data.get(each) != now.data.get(each)]
        return ", ".join(told)


def check_origin(directory: Path, begun: Origin, now: Origin) -> None:
    """Raises ResumeError if a run was begun with something else than it is to be resumed with."""
    if difference := begun.difference(now):
        raise ResumeError(
            f"{directory}: the run there was begun with {difference}; resume with the same recipe"
            " and settings, or train into another directory"
        )


def make_origin(seed: int, tables: Mapping[str, Any], data: Mapping[str, str]) -> Origin:
    """tables: the settings, nested; data: as in Origin, with "" for what the run does not have."""
    settings = {"--seed": str(seed)} | dict(_flat(tables))
    return Origin(settings, {name: key for name, key in data.items() if key})


def with_batches_of(origin: Origin, recipe: Recipe) -> Recipe:
    """The recipe with the batch size of the run that is resumed.

    Where `training.updates` is set, the batch size was computed from the number of epochs, and must
    stay when the run goes on with more.
    """
    training, begun = recipe.training, origin.settings
    if not training.updates or begun.get("training.epochs") == str(training.epochs):
        return recipe
    size = int(begun.get("training.batch_tokens", training.batch_tokens))
    return replace(recipe, training=replace(training, batch_tokens=size))


def tables_of(recipe: Recipe) -> dict[str, Any]:
    """The settings of a recipe without those that the weights do not depend on."""
    tables = recipe.tables()
    for name in ("about", "tokenizer", "calibration"):
        tables.pop(name, None)
    return tables


def _flat(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in tables.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value if isinstance(value, str) and value else json.dumps(value)
