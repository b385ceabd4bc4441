"""The engine that runs a network with torch, on a CPU or a GPU."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from depkit.parsers.engine.device import is_out_of_memory
from depkit.parsers.engine.engine import Engine
from depkit.parsers.engine.form_cache import FormCache
from depkit.parsers.engine.precision import autocast
from depkit.parsers.engine.transfer import send_batch

if TYPE_CHECKING:
    from depkit.corpus.sentence import Sentence
    from depkit.parsers.chunks import Prepare
    from depkit.parsers.family import Family


@dataclass(frozen=True)
class TorchEngine(Engine):
    """A network on a device of torch."""

    network: Any  # a ParserNetwork of the family, or the MeanNetwork of an ensemble
    device: torch.device
    # The precision of matrix products. On a CPU, `load` converts the weights to it; to change it,
    # load the model again.
    precision: torch.dtype = torch.float32

    @property
    def kind(self) -> str:
        return self.device.type

    @property
    def device_name(self) -> str:
        return str(self.device)

    @property
    def one_batch_at_a_time(self) -> bool:
        # A transformer uses all threads, and some versions of transformers are not thread-safe.
        return self.network.transformer is not None

    def with_network(self, network: Any) -> "TorchEngine":
        return replace(self, network=network)

    def mean_network(self, family: "Family") -> type:
        return family.mean_network

    @contextmanager
    def context(self) -> Iterator[None]:
        """Within the block, the network predicts, and multiplies matrices in its precision."""
        with torch.inference_mode(), autocast(self.device, self.precision):
            yield

    def start(self, encode: "Prepare") -> "Prepare":
        self.network.eval()
        if not self.network.inputs.reads_forms:
            return encode
        forms = FormCache(self.network.inputs)

        def prepare(sentences: "Sequence[Sentence]", context: Sequence[np.ndarray]) -> Any:
            data: Any = encode(sentences, context)
            with self.context():
                vectors = forms.vectors(data, self.device)
            return replace(data, form_arrays={}, shared={"form_vectors": vectors})

        return prepare

    def send(self, batch: Any) -> Any:
        return send_batch(batch, self.device)

    def set_threads(self, threads: int) -> int:
        former = torch.get_num_threads()
        torch.set_num_threads(threads)
        return former

    def is_out_of_memory(self, error: BaseException) -> bool:
        return is_out_of_memory(error)
