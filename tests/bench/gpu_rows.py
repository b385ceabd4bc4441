"""What `python -m tests.bench gpu` measures: functions of what is given and of the time (of
`time.monotonic`) at which the row's share is over. A row is figures by name, and a note.

Training is that of training/loop.py, update by update.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cached_property
from itertools import cycle
from operator import attrgetter
from pathlib import Path
from statistics import median
from tempfile import mkdtemp
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor, nn
from torch._dynamo.utils import counters
from torch.profiler import profile

from depkit.corpus.files import write
from depkit.parsers.device import find_device, mixed, named_precision
from depkit.parsers.families import family_of
from depkit.parsers.graph.network import BiaffineNetwork, Scores
from depkit.parsers.inputs.batches import Batch, length_batches
from depkit.parsers.inputs.form_cache import FormCache
from depkit.parsers.model_directory import load
from depkit.serving.files import Job, annotate_files
from depkit.training import loop
from depkit.training.recipe import make_recipe
from depkit.training.run import Data, Prepared, prepare, read_data
from depkit.training.schedule import grouped
from tests.bench.contest import SAME, peers, supar_training
from tests.bench.corpus import exhaust
from tests.bench.measure import Bench, BenchError, Peer, timed
from tests.bench.whole import parsing, training

FEW = 100  # sentences of dev, where they are only to be there
WARM_UP = 40  # updates, if there is time for them
PROFILED = 30  # updates
SHOWN = 15  # operators of a profile

Found = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Given:
    """The options of the command; what is made of them, and what rows leave to others."""

    options: argparse.Namespace
    folder: Path = field(default_factory=lambda: Path(mkdtemp()))
    learners: dict[str, "Learner"] = field(default_factory=dict)  # one at most, for the memory
    epochs: list[int] = field(default_factory=list)

    @cached_property
    def device(self) -> torch.device:
        return find_device(self.options.device)

    def make_ready(self) -> None:
        """What all rows need: the device, the data."""
        torch.zeros(1, device=self.device)
        assert self.data.train

    @property
    def is_cuda(self) -> bool:
        return self.device.type == "cuda"

    @cached_property
    def data(self) -> Data:
        files = [self.options.treebank], self.options.dev
        return read_data(make_recipe().parser, *files, None, "utf-8")

    @cached_property
    def bench(self) -> Bench:
        """For processes: plain files, of the treebank on a GPU, else of dev, and all threads."""
        sentences = self.data.train if self.is_cuda else self.data.dev
        files = [self.folder / f"{name}.conllu" for name in ("all", "one", "few")]
        some = sentences, sentences[:1], self.data.dev[:FEW]
        for file, part in zip(files, some, strict=True):
            write(part, file)
        whole, one, few = files
        return Bench(
            whole, sentences, sum(map(len, sentences)), whole, one, one, few, self.folder,
            self.options.model, str(self.device), torch.get_num_threads(), 1,
            supar=Peer(self.options.supar, str(self.folder / "supar")),
        )  # fmt: skip

    def seconds(self, action: Callable[[], object]) -> float:
        return timed(action, str(self.device))().seconds

    def prepared(self, recipe: str, *settings: str) -> Prepared:
        """A recipe as it is trained, its batches not made smaller for a small treebank."""
        own = [each.partition(":")[2] for each in self.options.set if each.startswith(f"{recipe}:")]
        if recipe == "finetune":
            if not self.options.transformer:
                raise BenchError("no transformer; name its directory with --transformer")
            own.append(f"inputs.context.model={self.options.transformer}")
        chosen = make_recipe(recipe, None, ["training.updates=0", *own, *settings])
        return prepare(chosen, self.data, self.device)

    def learner(self, recipe: str, precision: str = "auto") -> "Learner":
        """precision: "tf32", or of training.precision."""
        if recipe not in self.learners:
            self.learners.clear()
            self.learners[recipe] = Learner(self.prepared(recipe), self.device)
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
        learner, name = self.learners[recipe], "float32" if precision == "tf32" else precision
        learner.parser.precision = named_precision(name, self.device)
        return learner

    def rate(
        self, update: Callable[[np.ndarray], int], batches: Sequence[np.ndarray], end: float
    ) -> Found:
        """Words/s of as many updates as there is time for, after a warm-up; the peak memory."""
        endless, counts = cycle(batches), [0]
        left = end - time.monotonic()

        def several(limit: float, most: int) -> None:
            counts[:] = [update(next(endless))]
            stop = time.monotonic() + limit
            while time.monotonic() < stop and len(counts) < most:
                counts.append(update(next(endless)))

        warm_up = self.seconds(lambda: several(0.2 * left, WARM_UP))
        reset_peak()
        seconds = self.seconds(lambda: several(0.3 * left, 100_000))
        note = f"{len(counts)} updates after {warm_up:.1f} s of warm-up"
        return {"words/s": sum(counts) / seconds, "note": note} | peak()


class Learner:
    """A network in training, as loop.train makes it. loss: the network, or what stands for it."""

    def __init__(self, prepared: Prepared, device: torch.device) -> None:
        config, training, transformer = (
            prepared.recipe.parser, prepared.recipe.training, prepared.sources.transformer
        )  # fmt: skip
        family = family_of(config)
        vocabulary = family.vocabulary(prepared.train, config)
        self.training, self.compiled = training, ""
        self.network: Any = family.network(config, vocabulary, transformer).to(device).train()
        self.loss: Callable[[Batch], Tensor] = self.network
        self.parser = family.parser(config, vocabulary, self.network, device)
        self.optimizer = torch.optim.Adam(
            grouped(self.network, training), betas=(training.beta1, training.beta2),
            eps=training.epsilon, weight_decay=training.weight_decay, fused=True,
        )  # fmt: skip
        self.data = family.examples(prepared.train, vocabulary, config, device, None, transformer)
        self.network.start_epoch(self.data.dataset)

    def batches(self, tokens: int = 0) -> list[np.ndarray]:
        tokens = tokens or self.training.batch_tokens
        return length_batches(self.data.sizes, tokens, np.random.default_rng(0))

    def gradients(self, batch: Batch) -> None:
        with mixed(self.parser.device, self.parser.precision):
            loss = self.loss(batch)
        loss.backward()

    def step(self) -> None:
        nn.utils.clip_grad_norm_(self.network.parameters(), self.training.clip)
        self.optimizer.step()

    def update(self, numbers: np.ndarray) -> int:
        """One update; returns its words."""
        batch = self.data.batch(numbers)
        self.gradients(batch)
        self.step()
        self.optimizer.zero_grad()
        return batch.words


def reset_peak() -> None:
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def peak() -> Found:
    """The most memory allocated on the GPU since `reset_peak`."""
    available = torch.cuda.is_available()
    return {"peak MB": torch.cuda.max_memory_allocated() / 1e6} if available else {}


# Training


def train(given: Given, recipe: str, precision: str, tokens: int, end: float) -> Found:
    learner = given.learner(recipe, precision)
    return given.rate(learner.update, learner.batches(tokens), end)


def train_compiled(given: Given, recipe: str, part: str, tokens: int, end: float) -> Found:
    """part: "encoder" (or the transformer in its place), or all from a batch to its loss."""
    learner = given.learner(recipe)
    if learner.compiled != part:
        given.learners.clear()
        torch._dynamo.reset()
        learner = given.learner(recipe)
        learner.compiled, network = part, learner.network
        if part == "network":
            learner.loss = torch.compile(network, dynamic=True)
        elif network.transformer:
            network.transformer.body.compile(dynamic=True)
        else:
            network.encoder.compile(dynamic=True)
    batches = learner.batches(tokens)
    first = given.seconds(lambda: learner.update(batches[0]))
    found = given.rate(learner.update, batches, end)
    graphs, breaks = counters["stats"]["unique_graphs"], sum(counters["graph_break"].values())
    found["note"] += f", first {first:.1f} s; {graphs} graphs, {breaks} breaks"
    return found


def train_graphed(given: Given, recipe: str, tokens: int, end: float) -> Found:
    """The largest batch again and again, its forward and backward a CUDA graph; the host makes the
    batch and copies it in each time, as it would for other sentences of the same shape."""
    if not given.is_cuda:
        raise BenchError("needs CUDA")
    learner = given.learner(recipe)
    numbers = max(learner.batches(tokens), key=lambda each: int(learner.data.sizes[each].sum()))
    middle = (time.monotonic() + end) / 2
    plain = given.rate(learner.update, [numbers], middle)["words/s"]
    batch = learner.data.batch(numbers)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            learner.gradients(batch)
            learner.optimizer.zero_grad()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        learner.gradients(batch)

    def update(numbers: np.ndarray) -> int:
        fresh = learner.data.batch(numbers)
        for old, new in zip(tensors(batch), tensors(fresh), strict=True):
            old.copy_(new)
        graph.replay()  # writes the gradients where those of the capture are
        learner.step()
        return fresh.words

    found = given.rate(update, [numbers], end)
    learner.optimizer.zero_grad()
    found["note"] += f"; without the graph {plain:,.0f} words/s"
    return found


def tensors(part: object) -> list[Tensor]:
    """All tensors of a batch."""
    if isinstance(part, Tensor):
        return [part]
    parts = part if isinstance(part, dict) else vars(part) if is_dataclass(part) else {}
    return [each for one in parts.values() for each in tensors(one)]


def dev_score(given: Given, precision: str, end: float) -> Found:
    """LAS of bilstm after as many epochs as float32, which is the first, has time for."""
    if not given.epochs:
        learner, left = given.learner("bilstm", "float32"), end - time.monotonic()
        rate = given.rate(learner.update, learner.batches(), end - 0.8 * left)["words/s"]
        fitting = int(0.5 * left * rate / sum(map(len, given.data.train)))
        given.epochs.append(max(1, min(fitting, 30)))
    settings = f"training.epochs={given.epochs[0]}", f"training.precision={precision}"
    prepared = given.prepared("bilstm", *settings)
    directory = given.folder / precision
    directory.mkdir()
    state = loop.train(
        prepared.recipe, prepared.train, prepared.dev, directory, given.device,
        max_time=0.8 * (end - time.monotonic()),
    )  # fmt: skip
    note = f"{state.epoch} of {given.epochs[0]} epochs in {state.seconds:.0f} s"
    return {"LAS": state.best, "note": note}


# Parsing


def parse_untrained(given: Given, recipe: str, tokens: int, end: float) -> Found:
    """Memory for the treebank's longest sentences. Best heads, for there are no trees yet."""
    parser = given.learner(recipe).parser
    longest = sorted(given.data.train, key=len)[-tokens // 25 :]
    reset_peak()
    seconds = given.seconds(
        lambda: exhaust(parser.parse(longest, batch_tokens=tokens, algorithm="argmax"))
    )
    parser.network.train()
    return rates(longest, seconds, "untrained, cold")


def rates(sentences: Sequence[Any], seconds: float, note: str) -> Found:
    words = sum(map(len, sentences))
    figures = {"words/s": words / seconds, "sentences/s": len(sentences) / seconds}
    return figures | peak() | {"note": note}


def parse(given: Given, tokens: int, end: float) -> Found:
    """`depkit parse` without start-up."""
    middle = (time.monotonic() + end) / 2
    bench = given.bench
    job = Job(
        [str(bench.file)], [bench.model], output=str(given.folder / "parsed.conllu"),
        device=bench.device, batch_tokens=tokens,
    )  # fmt: skip
    annotate_files(replace(job, files=[str(bench.few)]))  # what is built at first use
    reset_peak()
    took = [annotate_files(job).seconds]
    while time.monotonic() < middle:
        took.append(annotate_files(job).seconds)
    return rates(bench.sentences, median(took), f"median of {len(took)}")


def parse_without_network(given: Given, end: float) -> Found:
    """As `parse`, but each word's head is the one before it: the host's part alone."""

    def scores(network: BiaffineNetwork, batch: Batch) -> Scores:
        def zeros(values: int) -> Tensor:
            return torch.zeros(*batch.word.shape, values, device=batch.word.device)

        arc = zeros(batch.word.shape[1])
        arc[:, 1:, :-1].diagonal(dim1=1, dim2=2).fill_(1.0)
        columns = {name: zeros(each[-1].out_features) for name, each in network.columns.items()}
        return Scores(arc, lambda heads: zeros(network.label.labels), columns)

    def vectors(cache: FormCache, data: Any) -> Tensor:
        return torch.zeros(len(data.forms), 1, device=data.word.device)

    with patch.object(BiaffineNetwork, "score", scores):
        with patch.object(FormCache, "vectors", vectors):
            return parse(given, 4000, end)


def parse_as_a_process(given: Given, end: float) -> Found:
    bench = replace(given.bench, limit=end - time.monotonic())
    whole, one = (program().seconds for program in parsing(bench, bench.file, bench.sentence))
    return rates(bench.sentences, whole, f"{whole:.1f} s, of one sentence {one:.1f} s")


def supar(given: Given, what: str, end: float) -> Found:
    """SuPar's biaffine parser, and depkit's of the same architecture; an epoch."""
    if not given.options.supar:
        raise BenchError("SuPar is not there; name the Python that has it with --supar")
    bench = replace(given.bench, limit=0.9 * (end - time.monotonic()))
    if what == "SuPar parses":
        rest = "supar_run.py", bench.file, bench.sentence, bench.threads
        return rates(bench.sentences, peers(bench, bench.supar, *rest)[0]().seconds, "a process")
    measure = supar_training(bench) if what == "SuPar trains" else training(bench, *SAME)
    return rates(bench.sentences, measure().inside, "an epoch, batches of 5000")


# Profiles


def profiled(given: Given, words: int, action: Callable[[], object]) -> Found:
    """How long the GPU is idle, and the operators that take most of the device and of the host.

    Kernels take as long under the profiler, the host more, so the time is that of a run without.
    """
    action()
    seconds = given.seconds(action)
    with profile() as records:  # of host and GPU, where there is one
        given.seconds(action)
    found: Found = {"words/s": words / seconds, "note": "needs CUDA"}
    lines = [f"{words} words in {seconds:.2f} s without the profiler"]
    if given.is_cuda:
        busy = busy_seconds(records)
        found |= {"GPU idle": 1 - busy / seconds, "note": f"{busy:.3f} s of {seconds:.3f} s busy"}
        lines += ["", "by time on the device:", *operators(records, "self_device_time_total")]
    lines += ["", "by time on the host:", *operators(records, "self_cpu_time_total")]
    return found | {"text": "\n".join(("```", *lines, "```"))}


def busy_seconds(records: profile) -> float:
    """How long the GPU computes or copies something."""
    spans = [
        (event.time_range.start, event.time_range.end)
        for event in records.events()
        if event.device_type == torch.autograd.DeviceType.CUDA
        and not getattr(event, "is_user_annotation", False)  # such a one spans many kernels
    ]
    busy, last = 0.0, 0.0
    for start, end in sorted(spans):
        busy += max(0.0, end - max(start, last))
        last = max(last, end)
    return busy / 1e6


def operators(records: profile, order: str) -> list[str]:
    key = attrgetter(order)
    most = sorted(records.key_averages(), key=key)[: -SHOWN - 1 : -1]
    return [f"{key(each) / 1e3:10.1f} ms  {each.count:6} x  {each.key[:80]}" for each in most]


def profile_training(given: Given, recipe: str, end: float) -> Found:
    """Some tens of updates, with the recipe's own batches."""
    learner = given.learner(recipe)
    batches = learner.batches()
    first = given.seconds(lambda: learner.update(batches[0]))  # the slowest
    some = batches[: max(1, min(PROFILED, int(0.1 * (end - time.monotonic()) / first)))]
    words = sum(int(learner.data.sizes[numbers].sum()) - len(numbers) for numbers in some)
    return profiled(given, words, lambda: exhaust(map(learner.update, some)))


def profile_parsing(given: Given, end: float) -> Found:
    """Dev, file to file; on a CPU a part of it."""
    few = given.data.dev if given.is_cuda else given.data.dev[:FEW]
    source, target = given.folder / "dev.conllu", given.folder / "parsed.conllu"
    write(few, source)
    parser = load(given.options.model, str(given.device))

    def action() -> None:
        write(parser.parse(parser.read(source)), target)

    return profiled(given, sum(map(len, few)), action)
