"""The rows of `python -m tests.bench gpu`.

A row is a function of a Setup, further arguments, and the time (as time.monotonic()) at which its
share of the time ends. It returns figures by name, and a note. Training performs the updates of
training/loop.py.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cache, cached_property
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

from depkit.corpus.io import write
from depkit.corpus.sentence import Sentence
from depkit.corpus.tree import Tree
from depkit.parsers.columns.network import ColumnScores
from depkit.parsers.engine.device import find_device
from depkit.parsers.engine.form_cache import FormCache
from depkit.parsers.engine.precision import autocast, resolve_precision
from depkit.parsers.engine.torch_engine import TorchEngine
from depkit.parsers.engine.transfer import send_batch
from depkit.parsers.families import get_family
from depkit.parsers.graph.network import BiaffineNetwork, Scores
from depkit.parsers.inputs.batching import Batch, length_batches
from depkit.parsers.inputs.parts import reads_dictionary
from depkit.parsers.loading import load
from depkit.serving.files import annotate_files
from depkit.serving.job import Job
from depkit.training import loop
from depkit.training.data import Data, read_data
from depkit.training.job import BaseJob
from depkit.training.plan import Plan
from depkit.training.recipe import make_recipe
from depkit.training.run import prepare
from depkit.training.schedule import parameter_groups
from tests.bench.comparison import SAME, peer_programs, supar_measure
from tests.bench.corpus import exhaust
from tests.bench.measure import Bench, BenchError, Peer, timed
from tests.bench.processes import parse_programs, train_measure
from tests.pretend_gpu import counting

NUM_DEV_SENTENCES = 100  # for programs that need dev but are not scored on it
WARM_UP = 40  # maximum number of updates before the measurement
NUM_PRETEND_SENTENCES = 4  # of each treebank, for a pretend GPU
NUM_PROFILED = 30  # maximum number of updates
NUM_OPERATORS = 15  # shown in a profile

Figures = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Setup:
    """The options of the command, data made from them, and results that several rows share."""

    options: argparse.Namespace
    folder: Path = field(default_factory=lambda: Path(mkdtemp()))
    # By recipe; at most one, to save memory.
    learners: dict[str, "Learner"] = field(default_factory=dict)
    epochs: list[int] = field(default_factory=list)

    @property
    def is_pretend(self) -> bool:
        """Whether the GPU is the pretend one of the tests."""
        return bool(self.options.device == "pretend")

    @cached_property
    def device(self) -> torch.device:
        return find_device("cuda" if self.is_pretend else self.options.device)

    def prepare_data(self) -> None:
        """Initialise the device and read the data, which all rows need."""
        torch.zeros(1, device=self.device)
        assert self.data.train

    @property
    def is_cuda(self) -> bool:
        return self.device.type == "cuda" and not self.is_pretend

    @cached_property
    def data(self) -> Data:
        job = BaseJob(train=self.options.treebank, dev=self.options.dev, output=self.folder)
        data = read_data(make_recipe().parser, job)
        few = slice(NUM_PRETEND_SENTENCES if self.is_pretend else None)
        return replace(data, train=data.train[few], dev=data.dev[few])

    @cached_property
    def bench(self) -> Bench:
        """The data for other processes: the treebank on a GPU, otherwise dev, and all threads."""
        sentences = self.data.train if self.is_cuda else self.data.dev
        files = [self.folder / f"{name}.conllu" for name in ("all", "one", "few")]
        parts = sentences, sentences[:1], self.data.dev[:NUM_DEV_SENTENCES]
        for file, part in zip(files, parts, strict=True):
            write(part, file)
        whole_file, first_sentence, dev_file = files
        return Bench(
            whole_file, sentences, sum(map(len, sentences)), whole_file, first_sentence,
            first_sentence, dev_file, self.folder,
            self.options.model, str(self.device), torch.get_num_threads(), 1,
            supar=Peer(self.options.supar, str(self.folder / "supar")),
        )  # fmt: skip

    def seconds(self, action: Callable[[], object]) -> float:
        return timed(action, str(self.device))().seconds

    def prepared(self, recipe: str, *settings: str) -> Plan:
        """Prepare a recipe for training, without smaller batches for a small treebank."""
        prefix = f"{recipe}:"
        options = [option for option in self.options.set if option.startswith(prefix)]
        recipe_settings = [option.removeprefix(prefix) for option in options]
        if recipe == "finetune":
            if not self.options.transformer:
                raise BenchError("a transformer is needed; name its directory with --transformer")
            recipe_settings.append(f"inputs.context.model={self.options.transformer}")
        if self.is_pretend and recipe != "finetune":  # which has no encoder
            recipe_settings.insert(0, "encoder.layers=1")
        all_settings = ["training.updates=0", *recipe_settings, *settings]
        made = make_recipe(recipe, "", all_settings)
        change = get_change(made.parser)
        train, dev = (list(map(change, part)) for part in (self.data.train, self.data.dev))
        return prepare(made, replace(self.data, train=train, dev=dev), self.folder, self.device)

    def learner(self, recipe: str, precision: str = "auto") -> "Learner":
        """Return the learner of a recipe; precision is "tf32" or a value of training.precision."""
        if recipe not in self.learners:
            self.learners.clear()
            self.learners[recipe] = Learner(self.prepared(recipe), self.device)
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
        learner, name = self.learners[recipe], "float32" if precision == "tf32" else precision
        learner.precision = resolve_precision(name, self.device)
        return learner

    def rate(
        self, update: Callable[[np.ndarray], int], batches: Sequence[np.ndarray], end: float
    ) -> Figures:
        """Measure words/s of as many updates as there is time for, after a warm-up, and memory."""
        endless, counts = cycle(batches), [0]
        remaining = end - time.monotonic()

        def run_updates(limit: float, max_updates: int) -> None:
            counts[:] = [update(next(endless))]
            stop = time.monotonic() + limit
            while time.monotonic() < stop and len(counts) < max_updates:
                counts.append(update(next(endless)))

        warm_up = self.seconds(lambda: run_updates(0.2 * remaining, WARM_UP))
        reset_peak()
        seconds = self.seconds(lambda: run_updates(0.3 * remaining, 100_000))
        note = f"{len(counts)} updates after {warm_up:.1f} s of warm-up"
        return {"words/s": sum(counts) / seconds, "note": note} | peak()


def get_change(config: Any) -> Callable[[Sentence], Sentence]:
    """Return the change of a sentence of a treebank to what a parser is trained on.

    A parser that corrects parses reads gold trees; a constituency parser learns the tree in which
    each word has a constituent of itself and of all words after it.
    """
    if config.inputs.draft:
        return lambda sentence: sentence.with_draft(sentence)
    if config.family == "constituency":
        return with_branches
    return lambda sentence: sentence


def with_branches(sentence: Sentence) -> Sentence:
    """Return a sentence with a constituency tree that branches to the right."""
    *leaves, tree = [
        Tree(tag, (), word) for word, tag in zip(sentence.form, sentence.upos, strict=True)
    ]
    for leaf in reversed(leaves):
        tree = Tree("X", (leaf, tree))
    return sentence.with_constituents(Tree("S", (tree,)))


class Learner:
    """A network in training, as in loop.train. `loss` is the network or its compiled version."""

    def __init__(self, prepared: Plan, device: torch.device) -> None:
        config, training, transformer = (
            prepared.recipe.parser, prepared.recipe.training, prepared.sources.transformer
        )  # fmt: skip
        family = get_family(config)
        vocabulary = family.vocabulary(prepared.train, config)
        vocabulary = vocabulary.with_lemmas(prepared.train, reads_dictionary(config.inputs))
        self.training, self.compiled, self.precision = training, "", torch.float32
        self.network: Any = family.network(config, vocabulary, transformer).to(device).train()
        self.loss: Callable[[Batch], Tensor] = self.network
        self.parser = family.parser(config, vocabulary, TorchEngine(self.network, device))
        self.optimizer = torch.optim.Adam(
            parameter_groups(self.network, training), betas=(training.beta1, training.beta2),
            eps=training.epsilon, weight_decay=training.weight_decay, fused=True,
        )  # fmt: skip
        self.data = family.examples(
            prepared.train, vocabulary, config, context=None, transformer=transformer
        )
        self.network.start_epoch(self.data.dataset)
        self.dev = prepared.dev[:NUM_DEV_SENTENCES]

    def batches(self, tokens: int = 0) -> list[np.ndarray]:
        tokens = tokens or self.training.batch_tokens
        return length_batches(self.data.sizes, tokens, np.random.default_rng(0))

    def gradients(self, batch: Batch) -> None:
        with autocast(self.parser.device, self.precision):
            loss = self.loss(batch)
        loss.backward()

    def step(self) -> None:
        nn.utils.clip_grad_norm_(self.network.parameters(), self.training.clip)
        self.optimizer.step()

    def update(self, indices: np.ndarray) -> int:
        """Perform one update on the sentences with these indices; return its number of words."""
        batch = send_batch(self.data.batch(indices), self.parser.device)
        self.gradients(batch)
        self.step()
        self.optimizer.zero_grad()
        return batch.words


def reset_peak() -> None:
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def peak() -> Figures:
    """Return the maximum memory allocated on the GPU since `reset_peak`."""
    available = torch.cuda.is_available()
    return {"peak MB": torch.cuda.max_memory_allocated() / 1e6} if available else {}


# Families


def family(setup: Setup, recipe: str, end: float) -> Figures:
    """Train with a recipe, in its precision, and parse some sentences of dev with the network."""
    learner = setup.learner(recipe)
    middle = time.monotonic() + 0.7 * (end - time.monotonic())
    figures = setup.rate(learner.update, learner.batches(), middle)
    parser = learner.parser
    run = parser.parse if parser.trees else parser.tag
    tags = "predict" if parser.config.predicted_tags else "keep"

    def predict() -> None:
        exhaust(run(learner.dev, tags))

    with counting() as prediction:
        predict()  # also as a warm-up
    words, seconds = sum(map(len, learner.dev)), setup.seconds(predict)
    learner.network.train()
    figures["note"] += f"; parsing {words / seconds:,.0f} words/s, untrained"
    if setup.is_pretend:
        with counting() as update:
            learner.update(learner.batches()[0])
        figures["note"] += f"; an update: {update.summary}; parsing: {prediction.summary}"
    return figures


# Training


def train(setup: Setup, recipe: str, precision: str, tokens: int, end: float) -> Figures:
    learner = setup.learner(recipe, precision)
    return setup.rate(learner.update, learner.batches(tokens), end)


def train_compiled(setup: Setup, recipe: str, part: str, tokens: int, end: float) -> Figures:
    """Train with a compiled part: "encoder" (or the transformer, if there is one) or "network"."""
    if setup.is_pretend:
        raise BenchError("needs CUDA or a CPU")
    learner = setup.learner(recipe)
    if learner.compiled != part:
        setup.learners.clear()
        torch._dynamo.reset()
        learner = setup.learner(recipe)
        learner.compiled, network = part, learner.network
        if part == "network":
            learner.loss = torch.compile(network, dynamic=True)
        elif network.transformer:
            network.transformer.body.compile(dynamic=True)
        else:
            network.encoder.compile(dynamic=True)
    batches = learner.batches(tokens)
    first = setup.seconds(lambda: learner.update(batches[0]))
    figures = setup.rate(learner.update, batches, end)
    graphs, breaks = counters["stats"]["unique_graphs"], sum(counters["graph_break"].values())
    figures["note"] += f", first {first:.1f} s; {graphs} graphs, {breaks} breaks"
    return figures


def train_graphed(setup: Setup, recipe: str, tokens: int, end: float) -> Figures:
    """Train on the largest batch repeatedly, with a CUDA graph of its forward and backward pass.

    The host creates the batch and copies it into the graph's inputs each time, as it would have to
    for other sentences of the same shape.
    """
    if setup.device.type != "cuda":
        raise BenchError("needs CUDA")
    learner = setup.learner(recipe)
    indices = max(learner.batches(tokens), key=lambda batch: int(learner.data.sizes[batch].sum()))
    middle = (time.monotonic() + end) / 2
    plain = setup.rate(learner.update, [indices], middle)["words/s"]
    batch = send_batch(learner.data.batch(indices), learner.parser.device)
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

    def update(indices: np.ndarray) -> int:
        fresh = send_batch(learner.data.batch(indices), learner.parser.device)
        for old, new in zip(tensors(batch), tensors(fresh), strict=True):
            old.copy_(new)
        graph.replay()  # writes the gradients into the tensors of the capture
        learner.step()
        return fresh.words

    figures = setup.rate(update, [indices], end)
    learner.optimizer.zero_grad()
    figures["note"] += f"; without the graph {plain:,.0f} words/s"
    return figures


def tensors(part: object) -> list[Tensor]:
    """Return all tensors of a batch."""
    if isinstance(part, Tensor):
        return [part]
    parts = part if isinstance(part, dict) else vars(part) if is_dataclass(part) else {}
    return [tensor for value in parts.values() for tensor in tensors(value)]


def dev_score(setup: Setup, precision: str, end: float) -> Figures:
    """Return the LAS of bilstm after as many epochs as float32, which runs first, has time for."""
    if not setup.epochs:
        learner, remaining = setup.learner("bilstm", "float32"), end - time.monotonic()
        rate = setup.rate(learner.update, learner.batches(), end - 0.8 * remaining)["words/s"]
        fitting = int(0.5 * remaining * rate / sum(map(len, setup.data.train)))
        setup.epochs.append(max(1, min(fitting, 30)))
    settings = f"training.epochs={setup.epochs[0]}", f"training.precision={precision}"
    prepared = setup.prepared("bilstm", *settings)
    directory = setup.folder / precision
    directory.mkdir()
    max_time = 0.8 * (end - time.monotonic())
    state = loop.train(replace(prepared, directory=directory, max_time=max_time))
    note = f"{state.epoch} of {setup.epochs[0]} epochs in {state.seconds:.0f} s"
    return {"LAS": state.best, "note": note}


# Parsing


def parse_untrained(setup: Setup, recipe: str, tokens: int, end: float) -> Figures:
    """Measure memory for the longest sentences, with argmax: untrained parsers predict no trees."""
    parser = setup.learner(recipe).parser
    longest = sorted(setup.data.train, key=len)[-tokens // 25 :]
    reset_peak()
    seconds = setup.seconds(
        lambda: exhaust(parser.parse(longest, batch_tokens=tokens, algorithm="argmax"))
    )
    parser.network.train()
    return rates(longest, seconds, "untrained, cold")


def rates(sentences: Sequence[Any], seconds: float, note: str) -> Figures:
    words = sum(map(len, sentences))
    figures = {"words/s": words / seconds, "sentences/s": len(sentences) / seconds}
    return figures | peak() | {"note": note}


def parse(setup: Setup, tokens: int, end: float) -> Figures:
    """Measure `depkit parse` without start-up."""
    middle = (time.monotonic() + end) / 2
    bench = setup.bench
    job = Job(
        [str(bench.file)], [bench.model], output=str(setup.folder / "parsed.conllu"),
        device=bench.device, batch_tokens=tokens,
    )  # fmt: skip
    annotate_files(replace(job, files=[str(bench.dev_file)]))  # warm-up
    reset_peak()
    times = [annotate_files(job).seconds]
    while time.monotonic() < middle:
        times.append(annotate_files(job).seconds)
    return rates(bench.sentences, median(times), f"median of {len(times)}")


@cache
def column_sizes(network: BiaffineNetwork) -> dict[str, int]:
    """Return the number of values of each column that a network predicts."""
    device = next(network.parameters()).device
    logits = network.columns.scores(torch.zeros(1, network.size, device=device))
    return {name: scores.shape[-1] for name, scores in logits.items()}


def parse_without_network(setup: Setup, end: float) -> Figures:
    """Measure `parse` without the GPU's work; the head of every word is the previous word."""

    def scores(network: BiaffineNetwork, batch: Batch) -> Scores:
        def zeros(values: int) -> Tensor:
            return torch.zeros(*batch.shape, values, device=batch["lengths"].device)

        arc = zeros(batch.length)
        arc[:, 1:, :-1].diagonal(dim1=1, dim2=2).fill_(1.0)
        columns = {name: zeros(values) for name, values in column_sizes(network).items()}
        labels = network.label.labels
        return Scores(
            arc, lambda heads: zeros(labels), ColumnScores(columns),
            lambda rows, dependents, heads: zeros(labels)[rows, dependents],
        )  # fmt: skip

    def vectors(cache: FormCache, data: Any, device: torch.device) -> Tensor:
        return torch.zeros(len(data.forms), 1, device=device)

    with patch.object(BiaffineNetwork, "score", scores):
        with patch.object(FormCache, "vectors", vectors):
            return parse(setup, 16000, end)


def parse_as_a_process(setup: Setup, end: float) -> Figures:
    if setup.is_pretend:
        raise BenchError("other processes have no pretend GPU")
    bench = replace(setup.bench, limit=end - time.monotonic())
    whole_file, first_sentence = (
        program().seconds for program in parse_programs(bench, bench.file, bench.sentence)
    )
    note = f"{whole_file:.1f} s, of one sentence {first_sentence:.1f} s"
    return rates(bench.sentences, whole_file, note)


def supar(setup: Setup, task: str, end: float) -> Figures:
    """Measure SuPar's biaffine parser, or depkit's parser of the same architecture."""
    if not setup.options.supar or setup.is_pretend:
        raise BenchError("SuPar is not installed; name a Python that has it with --supar")
    bench = replace(setup.bench, limit=0.9 * (end - time.monotonic()))
    if task == "SuPar parses":
        rest = "supar_run.py", bench.file, bench.sentence, bench.threads
        return rates(
            bench.sentences, peer_programs(bench, bench.supar, *rest)[0]().seconds, "a process"
        )
    depkit = train_measure(bench, *SAME, recipe="bilstm")
    measure = supar_measure(bench) if task == "SuPar trains" else depkit
    return rates(bench.sentences, measure().reported_seconds, "an epoch, batches of 5000")


# Profiles


def profile_action(setup: Setup, words: int, action: Callable[[], object]) -> Figures:
    """Return how long the GPU is idle, and the slowest operators of the device and of the host.

    The profiler slows down the host, but not the kernels, so the total time is that of a run
    without the profiler.
    """
    action()
    seconds = setup.seconds(action)
    with profile() as records:  # of host and GPU, where there is one
        setup.seconds(action)
    figures: Figures = {"words/s": words / seconds, "note": "needs CUDA"}
    lines = [f"{words} words in {seconds:.2f} s without the profiler"]
    if setup.is_cuda:
        busy = busy_seconds(records)
        figures |= {"GPU idle": 1 - busy / seconds, "note": f"{busy:.3f} s of {seconds:.3f} s busy"}
        lines += ["", "by time on the device:", *operators(records, "self_device_time_total")]
    lines += ["", "by time on the host:", *operators(records, "self_cpu_time_total")]
    return figures | {"text": "\n".join(("```", *lines, "```"))}


def busy_seconds(records: profile) -> float:
    """Return the seconds in which the GPU computes or copies something."""
    spans = [
        (event.time_range.start, event.time_range.end)
        for event in records.events()
        if event.device_type == torch.autograd.DeviceType.CUDA
        and not getattr(event, "is_user_annotation", False)  # an annotation spans many kernels
    ]
    busy, last = 0.0, 0.0
    for start, end in sorted(spans):
        busy += max(0.0, end - max(start, last))
        last = max(last, end)
    return busy / 1e6


def operators(records: profile, order: str) -> list[str]:
    key = attrgetter(order)
    slowest = sorted(records.key_averages(), key=key)[: -NUM_OPERATORS - 1 : -1]
    return [f"{key(row) / 1e3:10.1f} ms  {row.count:6} x  {row.key[:80]}" for row in slowest]


def profile_training(setup: Setup, recipe: str, end: float) -> Figures:
    """Profile up to NUM_PROFILED updates, with the recipe's batches."""
    learner = setup.learner(recipe)
    batches = learner.batches()
    first = setup.seconds(lambda: learner.update(batches[0]))  # the slowest
    profiled = batches[: max(1, min(NUM_PROFILED, int(0.1 * (end - time.monotonic()) / first)))]
    words = sum(int(learner.data.sizes[indices].sum()) - len(indices) for indices in profiled)
    return profile_action(setup, words, lambda: exhaust(map(learner.update, profiled)))


def profile_parsing(setup: Setup, end: float) -> Figures:
    """Profile the parsing of dev, from file to file; on a CPU, of a part of dev."""
    sentences = setup.data.dev if setup.is_cuda else setup.data.dev[:NUM_DEV_SENTENCES]
    source, target = setup.folder / "dev.conllu", setup.folder / "parsed.conllu"
    write(sentences, source)
    parser = load(setup.options.model, str(setup.device))

    def action() -> None:
        write(parser.parse(parser.read(source)), target)

    return profile_action(setup, sum(map(len, sentences)), action)
