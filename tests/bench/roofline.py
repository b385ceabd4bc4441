"""The limits of this machine: matrix products in each precision, and memory throughput."""

from collections.abc import Iterator

import torch
from torch import nn

from depkit.parsers.engine.quantisation import can_quantize, quantize
from tests.bench.measure import Bench, Measure, Row, run_alternately, timed

SIZE = 1024  # of square matrices on a CPU, small enough for its caches
GPU_SIZE = 8192
REPEATS = 16
BYTES = 1 << 28  # of an array, much larger than the caches


def roofline(bench: Bench) -> Iterator[Row]:
    """Matrix products of 1024 x 1024 (a GPU's: 8192), and copying and reading 256 MB."""
    torch.set_num_threads(bench.threads)
    cpu = bench.device == "cpu"
    precisions = ["float32", "bfloat16"] + ["int8"] * (cpu and can_quantize())
    measures: dict[str, Measure] = {}
    flops = {}
    for precision in precisions:
        measures[precision], flops[precision] = matrix_product(precision, bench.device)
    source = torch.ones(BYTES // 4, device=bench.device)
    target = torch.zeros_like(source)
    measures["copy"] = timed(lambda: target.copy_(source), bench.device)
    measures["read"] = timed(source.sum, bench.device)
    runs = run_alternately(bench.runs, measures)
    for precision in precisions:
        yield Row("roofline", f"matrices, {precision}", runs[precision], flops=flops[precision])
    yield Row("roofline", "memory, copying", runs["copy"], moved=2 * BYTES, note="read + written")
    yield Row("roofline", "memory, reading", runs["read"], moved=BYTES)


def matrix_product(precision: str, device: str) -> tuple[Measure, float]:
    """Return a measure of a linear layer's matrix products, and the flops of one run."""
    size, repeats = (SIZE, REPEATS) if device == "cpu" else (GPU_SIZE, 4 * REPEATS)
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    x = torch.randn(size, size, dtype=dtype, device=device)
    layer: nn.Module = nn.Linear(size, size, dtype=dtype, device=device)
    if precision == "int8":
        layer = quantize(nn.Sequential(layer))

    @torch.inference_mode()
    def run() -> None:
        for _ in range(repeats):
            layer(x)

    return timed(run, device), repeats * 2.0 * size**3
