"""Arrays of a batch are sent together and come out as they were; a GPU is set up when found."""

import numpy as np
import pytest
import torch

from depkit.parsers.engine import transfer
from depkit.parsers.engine.device import find_device
from depkit.parsers.engine.transfer import send_batch
from depkit.parsers.inputs.batching import Batch
from tests.pretend_gpu import WHY_NOT, pretend_gpu

CPU = torch.device("cpu")
ARRAYS = {
    "lengths": np.array([3, 1]),
    "none": np.zeros((0, 4), dtype=np.int64),
    "half": np.arange(3, dtype=np.float16),  # its 6 bytes are followed by padding
    "probabilities": np.linspace(0, 1, 30, dtype=np.float32).reshape(2, 3, 5),
    "mask": np.array([[True, False, True]]),
    "transposed": np.arange(6).reshape(2, 3).T,
}


def test_packed_arrays_keep_their_types_shapes_and_values():
    packed = transfer._send_packed(ARRAYS, CPU)
    assert list(packed) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert packed[name].numpy().dtype == array.dtype
        np.testing.assert_array_equal(packed[name].numpy(), array)


def test_on_a_cpu_nothing_is_copied_and_the_host_keeps_the_arrays():
    known = torch.ones(2)
    rows = np.array([65_535], dtype=np.uint16)
    batch = Batch(np.array([3, 1]), 3, 2, ARRAYS | {"known": known, "soft": rows}, {"extra": [1]})
    first, second = send_batch([batch, batch], CPU)
    assert first["known"] is known and first.host["extra"] == [1]
    assert first["soft"].dtype == torch.int32 and first["soft"].tolist() == [65_535]
    first["lengths"][0] = 7
    assert second["lengths"][0] == first.host["lengths"][0] == 7
    ARRAYS["lengths"][0] = 3


@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
@pytest.mark.parametrize("name", ["auto", "cuda", "cuda:1"])
def test_attention_on_a_gpu_is_not_that_of_cudnn(name, monkeypatch):
    switched = []
    monkeypatch.setattr(torch.backends.cuda, "enable_cudnn_sdp", switched.append)
    assert find_device("cpu").type == "cpu" and not switched
    with pretend_gpu():
        assert find_device(name).type == "cuda"
    assert switched == [False]
