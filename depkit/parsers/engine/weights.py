"""Files of weights: reading a network from one, and writing it. Nothing is pickled."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor, nn

from depkit.files.atomic import atomic
from depkit.files.errors import first_line
from depkit.nn.attributes import AttributeLinear
from depkit.nn.biaffine import ArcScorer, LabelScorer
from depkit.nn.initial import skip_initialisation
from depkit.nn.limit import find_difference, find_not_finite, limit_size
from depkit.parsers.engine.eight_bits import COLUMNS, ROWS, TRANSPOSED, pack, unpack, unpack_shapes
from depkit.parsers.model_directory import WEIGHTS, ModelError

MIN_SIZE = 16  # the smallest dimension of a matrix for which eight bits pay
# The end of the name in a file of weights that are the `folded_weight` of an AttributeLinear
FOLDED = ".folded"

N = TypeVar("N", bound=nn.Module)
Shapes = Mapping[str, Sequence[int]]


def read_shapes(path: Path) -> Shapes:
    """Read the shapes of the tensors in a file of weights, by name; only its header is read.

    Raises ModelError if the file is missing or damaged.
    """
    if not path.is_file():
        raise ModelError(f"{path.parent} is not a model: it has no {path.name}")
    try:
        with safe_open(path, framework="pt") as file:
            shapes = {name: file.get_slice(name).get_shape() for name in file.keys()}
    except SafetensorError as error:
        raise ModelError(f"{path} is damaged: {error}") from None
    return unpack_shapes(shapes)


def _unfold(weight: str) -> str:
    """Return the name in the network of a weight in a file, without the mark of a folded one."""
    return weight.removesuffix(FOLDED) + ".weight" if weight.endswith(FOLDED) else weight


def _zero_shared_weights(names: Iterable[str], network: nn.Module) -> dict[str, Tensor]:
    """Return zeros, by name, for the weights of attributes that folded weights include already.

    names: those of all weights in a file.
    """
    state = network.state_dict()
    shared = [name.removesuffix(FOLDED) + ".shared" for name in names if name.endswith(FOLDED)]
    return {name: torch.zeros_like(state[name]) for name in shared if name in state}


def make_network(path: Path, shapes: Shapes, make: Callable[[], N]) -> N:
    """Make a network with the weights in a file.

    Sizes in a file from elsewhere can be anything. While the network is made, it can therefore not
    become far larger than the weights, and weights are read only if they have the same shapes.

    Args:
        path: The file of weights.
        shapes: The shapes of its tensors.
        make: A function that makes the network with any weights.

    Raises:
        ModelError: The network cannot be made, or the weights do not match it or are not finite.
    """
    problem = f"{path} does not have the weights of this model"
    try:
        with skip_initialisation(), limit_size(shapes):
            network = make()
    except Exception as error:  # torch has no common class for errors about impossible sizes
        reason = first_line(error)
        raise ModelError(f"{problem}: {reason}") from error
    absent = _zero_shared_weights(shapes, network)
    expected = {name: list(tensor.shape) for name, tensor in network.state_dict().items()}
    found = {_unfold(name): shape for name, shape in shapes.items()}
    found |= {name: list(tensor.shape) for name, tensor in absent.items()}
    if difference := find_difference(expected, found):
        raise ModelError(f"{problem}: {difference}")
    try:
        weights = unpack(load_file(path))
        renamed = {_unfold(name): weight for name, weight in weights.items()}
        network.load_state_dict(renamed | absent)
    except (SafetensorError, RuntimeError, ValueError) as error:
        raise ModelError(f"{path} is damaged: {str(error).splitlines()[-1].strip()}") from None
    if problem := find_not_finite(network.state_dict()):
        raise ModelError(f"{path} is damaged: {problem}")
    return network


def write_weights(directory: Path, network: nn.Module, storage: str = "float32") -> None:
    """Write model.safetensors atomically; storage: as for `save_network`."""
    save_network(directory / WEIGHTS, network, {}, storage)


def save_network(
    path: Path, network: nn.Module, metadata: dict[str, str], storage: str = "float32"
) -> None:
    """Write the weights of a network atomically, with text beside them.

    storage: the type of the numbers: "float32"; "float16", for a file of half the size; or "int8",
    for one of about a quarter: matrices in eight bits, and the rest in float16.
    """
    dtype = torch.float32 if storage == "float32" else torch.float16
    kinds = _find_matrices(network) if storage == "int8" else {}
    state = network.state_dict()
    for name in [name for name in kinds if name.endswith(FOLDED)]:
        prefix = name.removesuffix(FOLDED)
        layer = network.get_submodule(prefix)
        assert isinstance(layer, AttributeLinear)
        state[name] = layer.folded_weight()
        del state[f"{prefix}.weight"], state[f"{prefix}.shared"]
    weights: dict[str, Tensor] = {}
    for name, tensor in state.items():
        if name in kinds:
            packed = pack(name, tensor.detach().float().cpu().numpy(), kinds[name])
            weights |= {key: torch.from_numpy(array) for key, array in packed.items()}
        else:
            weights[name] = tensor.to(dtype)
    weights = {name: tensor.contiguous() for name, tensor in weights.items()}
    with atomic(path) as temporary:
        # safetensors.torch.save_file would write a file that only its owner can read.
        temporary.write_bytes(save(weights, metadata))


def _find_matrices(network: nn.Module) -> dict[str, str]:
    """Find the weights that can be stored in eight bits, and how: see `eight_bits`."""
    kinds: dict[str, str] = {}
    for prefix, module in network.named_modules():
        if isinstance(module, AttributeLinear):
            kinds[prefix + FOLDED] = TRANSPOSED
            continue
        weight = getattr(module, "weight", None)
        if not isinstance(weight, Tensor) or weight.ndim != 2 or min(weight.shape) < MIN_SIZE:
            continue
        if isinstance(module, nn.Linear):
            kinds[f"{prefix}.weight"] = TRANSPOSED
        elif isinstance(module, nn.Embedding | nn.EmbeddingBag):
            kinds[f"{prefix}.weight"] = ROWS
        elif isinstance(module, ArcScorer | LabelScorer):
            kinds[f"{prefix}.weight"] = COLUMNS
    return kinds
