"""The checkpoint of a training run: weights, optimiser and State in one file.

The file is always replaced as a whole. When a run is finished, only its State is retained, unless
the run has the option `keep_state`.
"""

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from depkit.files.atomic import atomic
from depkit.parsers.model_directory import WEIGHTS
from depkit.training.origin import Origin, ResumeError

CHECKPOINT = "last.safetensors"
FINISHED = "finished.json"


@dataclass
class State:
    """The state of a run.

    Everything random follows from (seed, epoch, update), so no generator needs to be saved.
    """

    origin: Origin  # what the run was started with
    seed: int
    update: int = 0  # number of finished updates
    epoch: int = 0  # number of finished epochs
    batch: int = 0  # number of finished batches of the current epoch
    loss: float = 0.0  # sum over the finished batches of the current epoch
    best: float = -1.0  # the dev score of the weights that are kept
    best_epoch: int = 0  # the number of epochs after which these weights were saved
    seconds: float = 0.0  # of training so far
    reductions: int = 0  # how often the schedule "plateau" has reduced the rate
    # number of epochs after which it did so last, or else of the epochs in the warm-up
    reduced_epoch: int = 0
    scored_update: int = 0  # number of finished updates when dev was last scored


def save_state(directory: Path, state: State, network: nn.Module, optimizer: object) -> None:
    """Write the checkpoint. A process killed at any moment leaves the previous one or this one.

    Weights that are not trained are omitted. Raises OSError if it cannot be written.
    """
    untrained = _untrained_names(network)
    weights = {name: value for name, value in network.state_dict().items() if name not in untrained}
    tensors = {f"network.{name}": weight for name, weight in weights.items()}
    for name, parts in _optimizer_states(network, optimizer).items():
        tensors |= {f"optimizer.{name}.{part}": value for part, value in parts.items()}
    metadata = {"state": json.dumps(asdict(state))}
    with atomic(directory / CHECKPOINT) as temporary:
        try:
            save_file({k: v.detach().contiguous() for k, v in tensors.items()}, temporary, metadata)
        except SafetensorError as error:  # raised if the disk is full, for example
            raise OSError(f"{directory / CHECKPOINT}: cannot be written: {error}") from None


def save_finished(directory: Path, state: State) -> None:
    """Replace the checkpoint of a finished run by its State alone, which is far smaller."""
    with atomic(directory / FINISHED) as temporary:
        temporary.write_text(json.dumps(asdict(state), indent=0), encoding="utf-8")
    (directory / CHECKPOINT).unlink(missing_ok=True)


def check_checkpoint(directory: Path) -> None:
    """Raise ResumeError if the directory has no checkpoint because the run is finished."""
    if not (directory / CHECKPOINT).exists():
        name = shlex.quote(str(directory))
        raise ResumeError(
            f"{directory}: this training is finished and cannot be resumed, because it was run"
            " without `keep_state`; train from its weights into another directory, with `init`"
            f" {name}"
        )


def has_run(directory: Path) -> bool:
    """Whether the directory has a run, unfinished or finished."""
    return (directory / CHECKPOINT).exists() or (directory / FINISHED).exists()


def read_state(directory: Path) -> State | None:
    """Read the state of a run; None if there is no run yet.

    Raises ResumeError if the state is damaged, or if there is a model without a state.
    """
    if not has_run(directory):
        if (directory / WEIGHTS).exists():
            raise ResumeError(
                f"{directory} has a model, but no {CHECKPOINT} to resume from; train into another"
                " directory (`init` starts from this model's weights)"
            )
        return None
    path = directory / CHECKPOINT
    if path.exists():
        with _open_checkpoint(path) as file:
            return _parse_state(file.metadata()["state"])
    path = directory / FINISHED
    with _wrapped_errors(path):
        return _parse_state(path.read_text("utf-8"))


def _parse_state(text: str) -> State:
    """Parse a State in JSON. If it is damaged, raises errors that `_wrapped_errors` catches."""
    values = json.loads(text)
    origin = Origin(**values.pop("origin"))
    state = State(origin, **values)
    if not all(
        isinstance(table, dict) and all(isinstance(value, str) for value in table.values())
        for table in (origin.settings, origin.data)
    ):
        raise ValueError("its origin has values that are not strings")
    for field in fields(State)[1:]:
        value = getattr(state, field.name)
        if type(value) not in ((int, float) if field.type is float else (int,)):
            raise ValueError(f"its {field.name} is {value!r}")
    return state


def load_state(directory: Path, network: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Load the checkpoint's weights and moments into a network and its optimiser.

    The untrained weights of the network are set already. Raises ResumeError if the checkpoint is
    damaged.
    """
    with _open_checkpoint(directory / CHECKPOINT) as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}
        weights = {
            name: tensors.get(f"network.{name}", weight)  # untrained weights are not in the file
            for name, weight in network.state_dict().items()
        }
        network.load_state_dict(weights)
        parameters = dict(network.named_parameters())
        for name, value in tensors.items():
            if name.startswith("optimizer."):
                parameter, _, part = name.removeprefix("optimizer.").rpartition(".")
                weight = parameters[parameter]
                if value.ndim and value.shape != weight.shape:  # Adam's step counts are scalars
                    raise ValueError(f"{name} has shape {list(value.shape)}")
                optimizer.state[weight][part] = value.to(weight.device)


@contextmanager
def _open_checkpoint(path: Path) -> Iterator[Any]:
    """Open a checkpoint. Raises ResumeError if it is damaged."""
    with _wrapped_errors(path), safe_open(path, framework="pt") as file:
        yield file


@contextmanager
def _wrapped_errors(path: Path) -> Iterator[None]:
    """Turn errors of reading a damaged or an old file in the block into a ResumeError."""
    try:
        yield
    except (ResumeError, torch.OutOfMemoryError):
        raise
    except (SafetensorError, LookupError, TypeError, AttributeError, ValueError, RuntimeError) as e:
        reason = str(e).splitlines()[-1].strip() if str(e) else type(e).__name__
        raise ResumeError(
            f"{path}: damaged, or written by another version of depkit: {reason}"
        ) from None


def _untrained_names(network: nn.Module) -> set[str]:
    """Return the names of weights that are not trained, for example frozen pretrained vectors."""
    return {name for name, weight in network.named_parameters() if not weight.requires_grad}


def _optimizer_states(network: nn.Module, optimizer: object) -> dict[str, dict[str, Tensor]]:
    """Return the optimiser's moments and step counts by the weight's name."""
    states = optimizer.state  # type: ignore[attr-defined]
    return {name: states[weight] for name, weight in network.named_parameters() if weight in states}
