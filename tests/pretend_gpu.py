"""A pretend GPU, so that code for CUDA runs, and is checked, on a machine without one.

Within `pretend_gpu`, `torch.cuda.is_available()` is true, and a tensor that is sent to "cuda"
becomes a `PretendTensor`: it says that it is on a GPU, and keeps its values in a tensor on the CPU.
It is stricter than a GPU:

- Operations on tensors of two devices are errors (a tensor without dimensions may come from the
  CPU, as with CUDA), and so is `numpy()`.
- A copy to the host that the host does not wait for writes its values only when the host waits for
  the GPU. Until then, its memory is filled with bytes of 255, which are NaN or -1.
- Pinned memory that is copied to the GPU must not change before the host waits for the GPU.

What the host waits for is counted, see `Counts`. Random numbers are those of the CPU, and so are
results wherever the package does the same on both devices.

C++ sees CPU tensors with a key for Python. Autograd is therefore that of the CPU, and autocast for
"cuda" applies the CPU's list of operations.
"""

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from unittest.mock import patch

import torch
from torch.utils import _device, _foreach_utils
from torch.utils._pytree import tree_flatten, tree_map_only

# Why there can be no pretend GPU; "" if there can be
WHY_NOT = "this torch is built for CUDA" if torch.backends.cuda.is_built() else ""
CPU = torch.device("cpu")
NUM_DEVICES = 2
# Operations whose result the host needs, or whose result has a size that the host needs
WAITING = {
    "_local_scalar_dense", "_unique", "_unique2", "bincount", "equal", "is_nonzero",
    "masked_select", "nonzero", "unique_consecutive", "unique_dim",
}  # fmt: skip
# Operations besides views that start no kernel
NO_KERNEL = {
    "_local_scalar_dense", "_reshape_alias", "_unsafe_view", "empty", "empty_like",
    "empty_strided", "lift_fresh", "new_empty", "new_empty_strided",
}  # fmt: skip
FACTORIES = (
    "arange", "arange.start", "arange.start_step", "empty.memory_format", "empty_strided", "eye",
    "eye.m", "full", "linspace", "ones", "rand", "randint", "randint.low", "randn", "randperm",
    "scalar_tensor", "tril_indices", "triu_indices", "zeros",
)  # fmt: skip
# Functions that CUDA computes with one call of a library
FUSED = {torch.lstm, torch.nn.functional.scaled_dot_product_attention}


@dataclass
class Counts:
    """What happened on pretend GPUs. Places are the innermost lines of the package.

    launches counts operations that start kernels. Some of them start more than one.
    """

    launches: Counter[str] = field(default_factory=Counter)
    copies_in: Counter[str] = field(default_factory=Counter)  # by place
    copies_out: Counter[str] = field(default_factory=Counter)  # by place
    waits: Counter[str] = field(default_factory=Counter)  # by reason and place

    def waits_in(self, file: str) -> int:
        """Count the waits in a file of the package."""
        return sum(count for wait, count in self.waits.items() if f"{file}:" in wait)

    @property
    def summary(self) -> str:
        parts = {
            "launches": self.launches, "copies in": self.copies_in, "copies out": self.copies_out,
            "waits": self.waits,
        }  # fmt: skip
        return ", ".join(f"{counter.total()} {name}" for name, counter in parts.items())

    def __str__(self) -> str:
        parts = self.copies_in, self.copies_out, self.waits
        places = (f"{count} {place}" for part in parts for place, count in part.items())
        return "\n  ".join([self.summary, *places])


class _State:
    """The state of all pretend GPUs."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # the parser has several threads
        self.counts = Counts()
        self.pinned: list[torch.Tensor] = []  # kept, so that their addresses stay theirs
        self.to_host: list[tuple[torch.Tensor, torch.Tensor]] = []  # copies that are not finished
        self.from_host: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.is_active = False  # within `pretend_gpu`
        self.is_capturing = False  # a CUDA graph
        self.local = threading.local()

    def is_pinned(self, tensor: torch.Tensor) -> bool:
        address = tensor.untyped_storage().data_ptr()
        return any(address == pinned.untyped_storage().data_ptr() for pinned in self.pinned)

    def launch(self, name: str) -> None:
        if not getattr(self.local, "fused", False):
            with self.lock:
                self.counts.launches[name] += 1

    def wait(self, reason: str) -> None:
        with self.lock:
            if self.is_capturing:
                raise RuntimeError(f"CUDA error: {reason} is not permitted in a CUDA graph")
            self.counts.waits[f"{reason} {_place()}"] += 1
            for target, values in self.to_host:
                target.copy_(values)
            for source, values in self.from_host:
                if not torch.equal(_bytes(source), values):
                    raise RuntimeError("pinned memory was changed while it was copied to the GPU")
            self.to_host.clear()
            self.from_host.clear()


_state = _State()


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().reshape(-1).contiguous().view(torch.uint8).clone()


def _place() -> str:
    """Return the innermost line of the package in the stack."""
    frame, outermost = sys._getframe(1), ""
    while frame is not None:
        path = frame.f_code.co_filename
        if "/depkit/" in path:
            return f"{path.rpartition('/depkit/')[2]}:{frame.f_lineno} {frame.f_code.co_name}"
        if not path.endswith("pretend_gpu.py") and not outermost:
            outermost = f"{path.rpartition('site-packages/')[2]}:{frame.f_lineno}"
        frame = frame.f_back
    return outermost


class PretendTensor(torch.Tensor):
    """A tensor on a pretend GPU; `contents` has its values."""

    contents: torch.Tensor
    index: int  # of the GPU

    @staticmethod
    def __new__(cls, inner: torch.Tensor, index: int):
        tensor = torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), storage_offset=inner.storage_offset(),
            dtype=inner.dtype, layout=inner.layout, device=CPU,
        )  # fmt: skip
        tensor.contents, tensor.index = inner, index
        return tensor

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", self.index)

    @property
    def is_cuda(self) -> bool:
        return True

    @property
    def is_cpu(self) -> bool:
        return False

    def get_device(self) -> int:
        return self.index

    def numpy(self, **_options):
        raise TypeError("can't convert cuda:0 device type tensor to numpy; use Tensor.cpu() first")

    __array__ = numpy

    def tolist(self):
        return self.cpu().tolist()

    def data_ptr(self) -> int:
        return self.contents.data_ptr()

    def untyped_storage(self):
        return self.contents.untyped_storage()

    def record_stream(self, stream) -> None:
        pass

    # With these, `Module.to` puts the whole tensor in the place of a parameter. Without them, it
    # would only copy what C++ sees.
    def __tensor_flatten__(self):
        return ["contents"], self.index

    @staticmethod
    def __tensor_unflatten__(parts, index, _size, _stride):
        return PretendTensor(parts["contents"], index)

    def __repr__(self, **_options) -> str:
        return f"PretendTensor({self.contents!r}, device='{self.device}')"

    __str__ = __repr__

    def __format__(self, specification: str) -> str:
        return format(self.item(), specification) if self.dim() == 0 else repr(self)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        is_outermost = func in FUSED and not getattr(_state.local, "fused", False)
        if is_outermost:
            _state.launch(func.__name__)
            _state.local.fused = True
        try:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        finally:
            if is_outermost:
                _state.local.fused = False

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func._schema.name.removeprefix("aten::")
        if name == "copy_":
            return _copy(*args, **kwargs)
        if name not in ("lstm", "scaled_dot_product_attention"):
            result = func.decompose(*args, **kwargs)  # in inference mode, it is not yet
            if result is not NotImplemented:
                return result
        index = _check_devices(func, args, kwargs)
        _count(func, name, args, kwargs)
        inner_args, inner_kwargs = tree_map_only(
            PretendTensor, lambda tensor: tensor.contents, (args, kwargs)
        )
        if "device" in inner_kwargs:
            inner_kwargs["device"] = CPU
        # An operation in place returns its argument.
        arguments = {
            id(t.contents): t for t in _tensors(args, kwargs) if isinstance(t, PretendTensor)
        }

        def wrap(tensor: torch.Tensor) -> torch.Tensor:
            if (known := arguments.get(id(tensor))) is not None:
                return known
            # Views of a tensor that is not one of inference mode are none, either.
            with torch.inference_mode(tensor.is_inference()):
                return PretendTensor(tensor, index)

        return tree_map_only(torch.Tensor, wrap, func(*inner_args, **inner_kwargs))


def _tensors(*arguments) -> list[torch.Tensor]:
    return [leaf for leaf in tree_flatten(arguments)[0] if isinstance(leaf, torch.Tensor)]


def _check_devices(func, args, kwargs) -> int:
    """Return the index of the GPU of the tensors; raise RuntimeError if they are on two devices."""
    tensors = _tensors(args, kwargs)
    devices = {t.device for t in tensors if isinstance(t, PretendTensor) or t.dim()}
    if len(devices) > 1 and torch._C._current_graph_task_id() != -1:
        # C++ makes zeros for formulas of gradients where it sees the tensors: on the CPU.
        devices = {t.device for t in tensors if isinstance(t, PretendTensor) or t.any()}
    if len(devices) > 1:
        names = ", ".join(sorted(map(str, devices)))
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but {func} got tensors on {names}"
        )
    return next(t.index for t in tensors if isinstance(t, PretendTensor))


def _count(func, name: str, args, kwargs) -> None:
    is_mask = name.startswith(("index", "_index")) and any(
        index is not None and index.dtype in (torch.bool, torch.uint8)
        for indices in args[1:2] if isinstance(indices, list | tuple)
        for index in indices
    )  # fmt: skip
    has_size = kwargs.get("output_size") is not None
    if name in WAITING or is_mask or (name == "repeat_interleave" and not has_size):
        _state.wait(name)
    returns = [returned.alias_info for returned in func._schema.returns]
    is_view = any(alias is not None and not alias.is_write for alias in returns)
    if not is_view and name not in NO_KERNEL:
        _state.launch(name)


def _copy(target, source, non_blocking=False):
    """Do what `target.copy_(source)` does, between devices or on one."""
    inner_target, inner_source = (
        getattr(tensor, "contents", tensor) for tensor in (target, source)
    )
    if target.device == source.device:
        _state.launch("copy_")
        inner_target.copy_(inner_source)
        return target
    is_out = target.device == CPU
    with _state.lock:
        (_state.counts.copies_out if is_out else _state.counts.copies_in)[_place()] += 1
        is_pinned = _state.is_pinned(inner_target if is_out else inner_source)
        if CPU in (target.device, source.device) and not (is_pinned and non_blocking):
            _state.wait("copy to the host" if is_out else "copy from memory that is not pinned")
        elif is_out:
            values = inner_source.to(target.dtype).expand(target.shape).clone()
            _state.to_host.append((target, values))
            _bytes_of(target).fill_(255)
            return target
        else:
            _state.from_host.append((source, _bytes(source)))
        inner_target.copy_(inner_source)
    return target


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().view(-1).view(torch.uint8)


_original_to, _original_empty = torch.Tensor.to, torch.empty
_original_group = torch._C._group_tensors_by_device_and_dtype
_original_tensor, _original_as_tensor = torch.tensor, torch.as_tensor


def _parse_device(device) -> torch.device:
    device = torch.device(device)
    if device.type == "cuda" and device.index is None:
        return torch.device("cuda", 0)
    if device.type == "cuda" and device.index >= NUM_DEVICES:
        raise RuntimeError(f"CUDA error: invalid device ordinal {device.index}")
    return device


def _to(self, *args, device=None, dtype=None, non_blocking=False, copy=False, **options):
    rest = []
    for value in args:
        if isinstance(value, torch.Tensor):
            device, dtype = value.device, value.dtype
        elif isinstance(value, torch.dtype):
            dtype = value
        elif isinstance(value, bool):
            rest.append(value)
        elif value is not None:
            device = value
    non_blocking, copy = (*rest, *(non_blocking, copy)[len(rest) :])
    device = self.device if device is None else _parse_device(device)
    source = self if dtype is None else _original_to(self, dtype)
    if device == self.device:
        return _original_to(source, source.dtype, non_blocking, copy and source is self, **options)
    if CPU not in (device, self.device) and device.type != "cuda":
        return _original_to(source, device, **options)
    target = torch.empty_like(getattr(source, "contents", source), requires_grad=False)
    if device.type == "cuda":
        target = PretendTensor(target, device.index)
    return target.copy_(source, non_blocking=non_blocking)


def _pin(tensor: torch.Tensor) -> torch.Tensor:
    with _state.lock:
        _state.pinned.append(tensor)
    return tensor


def _empty(*size, pin_memory=False, **options):
    tensor = _original_empty(*size, **options)
    return _pin(tensor) if pin_memory else tensor


def _group_tensors(lists, with_indices=False):
    """Group tensors as foreach functions do, by the device that Python sees."""
    return {
        (group[0][0][0].device, dtype): group
        for (_, dtype), group in _original_group(lists, with_indices).items()
    }


def _on_device(make):
    """Return a function such as `torch.tensor` that copies its result to the device."""

    def made(data, *args, device=None, requires_grad=False, **options):
        tensor = make(data, *args, **options)
        tensor = tensor if device is None else tensor.to(device)
        return tensor.requires_grad_() if requires_grad else tensor

    return made


class _Autocast(torch.autocast):
    """Autocast that also applies to the CPU tensors that C++ sees."""

    def __enter__(self):
        self.parts = ExitStack()
        if self.device == "cuda":
            self.parts.enter_context(
                _original_autocast("cpu", self.fast_dtype, enabled=self._enabled)
            )
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self.parts.close()


_original_autocast = torch.autocast


class Event:
    """An event; the pretend GPU has done all of its work when the host waits for it."""

    def synchronize(self) -> None:
        _state.wait("event")


class Stream:
    def record_event(self, event=None) -> Event:
        return Event()

    def wait_stream(self, stream: "Stream") -> None:
        pass


class Graph:
    """A CUDA graph, which can be captured, but whose replay does nothing."""

    def replay(self) -> None:
        _state.launch("graph")


@contextmanager
def _capture(_graph: Graph) -> Iterator[None]:
    _state.is_capturing = True
    try:
        yield
    finally:
        _state.is_capturing = False


def _register_factories() -> None:
    """Make `torch.zeros(2, device="cuda")` return a PretendTensor within `pretend_gpu`."""

    def register(name: str) -> None:
        packet, _, overload = name.partition(".")
        function = getattr(getattr(torch.ops.aten, packet), overload or "default")

        def make(*args, device=None, pin_memory=None, **options):
            if not _state.is_active:
                raise AssertionError("Torch not compiled with CUDA enabled")
            if not packet.startswith("empty"):
                _state.launch(packet)
            index = _parse_device(device).index
            return PretendTensor(function(*args, device=CPU, **options), index)

        _library.impl(name, make)

    for name in FACTORIES:
        register(name)


_library = torch.library.Library("aten", "IMPL", "CUDA")
if not WHY_NOT:
    _register_factories()


def _fill_caches() -> None:
    """Fill the tables of functions that torch makes once, before functions are replaced."""
    from torch._dynamo import trace_rules

    trace_rules.get_torch_obj_rule_map()
    _device._device_constructors()


@contextmanager
def pretend_gpu() -> Iterator[None]:
    """Within the block, there are NUM_DEVICES pretend GPUs."""
    _fill_caches()
    nothing = lambda *args, **options: None  # noqa: E731
    of_cuda = {
        "is_available": lambda: True, "device_count": lambda: NUM_DEVICES, "_lazy_init": nothing,
        "current_device": lambda: 0, "set_device": nothing, "current_stream": lambda *_: Stream(),
        "is_bf16_supported": lambda *_: True, "synchronize": lambda *_: _state.wait("synchronize"),
        "manual_seed": nothing, "manual_seed_all": nothing, "empty_cache": nothing,
        "reset_peak_memory_stats": nothing, "max_memory_allocated": lambda *_: 0,
        "get_device_name": lambda *_: "pretend GPU", "get_device_capability": lambda *_: (9, 0),
        "Event": Event, "Stream": Stream, "stream": nullcontext, "CUDAGraph": Graph,
        "graph": _capture,
    }  # fmt: skip
    of_tensors = {
        "to": _to, "cpu": lambda self: self.to(CPU), "cuda": lambda self, d=0: self.to(f"cuda:{d}"),
        "pin_memory": lambda self: _pin(self.clone()),
    }  # fmt: skip
    of_torch = {
        "empty": _empty, "tensor": _on_device(_original_tensor), "autocast": _Autocast,
        "as_tensor": _on_device(_original_as_tensor),
    }  # fmt: skip
    supported = [*_foreach_utils._foreach_supported_types, PretendTensor]
    with ExitStack() as patches:
        for target, values in (
            (torch.cuda, of_cuda), (torch.Tensor, of_tensors), (torch, of_torch),
            (torch._C, {"_group_tensors_by_device_and_dtype": _group_tensors}),
            (torch.backends.cudnn, {"is_acceptable": lambda *_: False}),
            (_foreach_utils, {"_foreach_supported_types": supported}),
        ):  # fmt: skip
            patches.enter_context(patch.multiple(target, **values))
        _state.is_active = True
        try:
            yield
        finally:
            _state.__init__()


@contextmanager
def counting() -> Iterator[Counts]:
    """Count what happens on the pretend GPUs in the block, in all threads."""
    former, _state.counts = _state.counts, Counts()
    try:
        yield _state.counts
    finally:
        _state.counts = former
