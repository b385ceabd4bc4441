"""The checkpoint of a training run: weights, optimiser and State in one file, replaced as a whole.

Of a finished run only the State is kept, unless `keep_state` is given.
"""

import json
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from depkit.corpus.files import atomic
from depkit.parsers.model_directory import WEIGHTS
from depkit.training.origin import Origin, ResumeError

LAST = "last.safetensors"
FINISHED = "finished.json"


@dataclass
class State:
    """Where a run stands. What is random follows from (seed, epoch, update), so no generator
    needs to be kept.

    origin: what the run was begun with; update: updates done; epoch: epochs done; batch:
    batches done of the epoch after these; loss: its sum over them; best: the best dev score, after
    `best_epoch` epochs; seconds: of training so far.
    """

    origin: Origin
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


def save_finished(directory: Path, state: State) -> None:
    """Replace the checkpoint of a finished run by its State alone, which is far smaller."""
    with atomic(directory / FINISHED) as beside:
        beside.write_text(json.dumps(asdict(state), indent=0), encoding="utf-8")
    (directory / LAST).unlink(missing_ok=True)


def check_kept(directory: Path) -> None:
    """Raises ResumeError for a finished run whose checkpoint was not kept."""
    if not (directory / LAST).exists():
        name = shlex.quote(str(directory))
        raise ResumeError(
            f"{directory}: this training is finished and cannot go on, as it was run without"
            " --keep-state; train from its weights into another directory: depkit train --init"
            f" {name}"
        )


def is_begun(directory: Path) -> bool:
    """Whether the directory has a run, unfinished or finished."""
    return (directory / LAST).exists() or (directory / FINISHED).exists()


def read_state(directory: Path) -> State | None:
    """The state of a run; None if there is no run yet. Raises ResumeError if it is damaged."""
    if not is_begun(directory):
        if (directory / WEIGHTS).exists():
            raise ResumeError(
                f"{directory} has a model, but no {LAST} to resume from; train into another"
                " directory (--init starts from this model's weights)"
            )
        return None
    path = directory / LAST
    if path.exists():
        with _opened(path) as file:
            return _state(file.metadata()["state"])
    path = directory / FINISHED
    with _damage_told(path):
        return _state(path.read_text("utf-8"))


def _state(text: str) -> State:
    values = json.loads(text)
    origin = Origin(**values.pop("origin"))
    state = State(origin, **values)
    if not all(
        isinstance(table, dict) and all(isinstance(each, str) for each in table.values())
        for table in (origin.settings, origin.data)
    ):
        raise ValueError("its origin is not text")
    for field in fields(State)[1:]:
        value = getattr(state, field.name)
        if type(value) not in ((int, float) if field.type is float else (int,)):
            raise ValueError(f"its {field.name} is {value!r}")
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
                weight = parameters[parameter]
                if each.ndim and each.shape != weight.shape:  # Adam's count of steps has none
                    raise ValueError(f"{name} has shape {list(each.shape)}")
                optimizer.state[weight][part] = each.to(weight.device)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A checkpoint. Raises ResumeError if it is damaged."""
    with _damage_told(path), safe_open(path, framework="pt") as file:
        yield file


@contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    """Turn errors in the block, which reads a damaged or an old file, into a ResumeError."""
    try:
        yield
    except ResumeError:
        raise
    except (SafetensorError, LookupError, TypeError, AttributeError, ValueError, RuntimeError) as e:
        reason = str(e).splitlines()[-1].strip() if str(e) else type(e).__name__
        raise ResumeError(f"{path}: damaged, or of another version of depkit: {reason}") from None


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
