"""A training run's state in one file, so that it is replaced whole: weights, optimiser, place."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from depkit.corpus.files import atomic
from depkit.parsers.model_directory import WEIGHTS

LAST = "last.safetensors"


class ResumeError(ValueError):
    """A checkpoint that cannot be gone on from."""


@dataclass
class State:
    """Where a run stands. What is random follows from (seed, epoch, update), so no generator
    needs to be kept.

    fingerprint: of the data and the recipe; update: updates done; epoch: epochs
    done; batch: of the next one's batches, those done; loss: summed over these; best: the
    best dev score, after `best_epoch` epochs; seconds: of training so far.
    """

    fingerprint: str
    seed: int
    update: int = 0
    epoch: int = 0
    batch: int = 0
    loss: float = 0.0
    best: float = -1.0
    best_epoch: int = 0
    seconds: float = 0.0


def save_state(directory: Path, state: State, network: nn.Module, optimizer: object) -> None:
    """Write the checkpoint; a kill at any moment leaves the previous one or this one.

    What is not trained is not in it. Raises OSError.
    """
    fixed = _fixed(network)
    weights = {name: each for name, each in network.state_dict().items() if name not in fixed}
    tensors = {f"network.{name}": each for name, each in weights.items()}
    for name, parts in _moments(network, optimizer).items():
        tensors |= {f"optimizer.{name}.{part}": each for part, each in parts.items()}
    metadata = {"state": json.dumps(asdict(state))}
    with atomic(directory / LAST) as beside:
        try:
            save_file({k: v.detach().contiguous() for k, v in tensors.items()}, beside, metadata)
        except SafetensorError as error:  # a full disk, say
            raise OSError(f"{directory / LAST}: cannot be written: {error}") from None


def read_state(directory: Path, fingerprint: str, seed: int) -> State | None:
    """The state of a run; None if there is no checkpoint yet.

    Raises ResumeError if it is damaged or of other data, another recipe or another seed.
    """
    path = directory / LAST
    if not path.exists():
        if (directory / WEIGHTS).exists():
            raise ResumeError(
                f"{directory} has a model but no {LAST} to go on from; train into another directory"
            )
        return None
    with _opened(path) as file:
        state = State(**json.loads(file.metadata()["state"]))
    if (state.fingerprint, state.seed) != (fingerprint, seed):
        raise ResumeError(
            f"{path} was written with other data, another recipe, --init or seed;"
            " resume with the same ones, or train into another directory"
        )
    return state


def load_state(directory: Path, network: nn.Module, optimizer: torch.optim.Adam) -> None:
    """Put a checkpoint's weights and moments into a network and its optimizer.

    Raises ResumeError if it is damaged.
    """
    with _opened(directory / LAST) as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}
        now = network.state_dict()
        weights = {
            name: tensors.get(f"network.{name}", weight)  # what is not trained is not kept
            for name, weight in now.items()
        }
        network.load_state_dict(weights)
        parameters = dict(network.named_parameters())
        for name, each in tensors.items():
            if name.startswith("optimizer."):
                parameter, _, part = name.removeprefix("optimizer.").rpartition(".")
                device = parameters[parameter].device
                optimizer.state[parameters[parameter]][part] = each.to(device)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A checkpoint. Raises ResumeError if it is damaged."""
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ResumeError(f"{path}: damaged: {error}") from None


def sweep(directory: Path) -> None:
    """Remove what killed runs left half-written."""
    for part in directory.glob(".*.part"):
        if part.is_dir():
            shutil.rmtree(part)
        else:
            part.unlink()


def _fixed(network: nn.Module) -> set[str]:
    """The names of weights that are not trained, pretrained vectors say."""
    return {name for name, each in network.named_parameters() if not each.requires_grad}


def _moments(network: nn.Module, optimizer: object) -> dict[str, dict[str, Tensor]]:
    states = optimizer.state  # type: ignore[attr-defined]
    return {name: states[each] for name, each in network.named_parameters() if each in states}
