"""The stages of parsing and training in this process, from raw text to scores, measured separately.

Words exclude padding, but operations include it. Each stage alternates with matrix products in the
same precision, whose rate is its limit. Stages of parsing process batches in parallel threads, as
parsing does; training uses all threads for one batch.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from depkit.parsers.base import CPU_TOKENS, GPU_TOKENS, Parser
from depkit.parsers.engine.device import best_indices
from depkit.parsers.engine.form_cache import FormCache
from depkit.parsers.engine.precision import autocast, best_precision
from depkit.parsers.engine.transfer import send_batch
from depkit.parsers.families import get_family
from depkit.parsers.graph.parser import GraphParser
from depkit.parsers.inputs.batching import Batch, length_batches
from depkit.parsers.inputs.dataset import Dataset, encode
from depkit.parsers.loading import load
from depkit.parsers.model_directory import find_model, read_config
from depkit.parsers.text.tokenizer import Tokenizer
from depkit.training.passages import make_passages
from depkit.training.recipe import Training
from tests.bench.corpus import exhaust
from tests.bench.flops import count_flops
from tests.bench.measure import Bench, BenchError, Row, run_alternately, timed
from tests.bench.roofline import matrix_product

Action = Callable[[], object]


@dataclass(frozen=True, eq=False)
class Stage:
    """A parser with its input data in padded batches, with the forms' vectors computed."""

    parser: GraphParser
    data: Dataset
    indices: list[np.ndarray]  # of each batch's sentences
    batches: list[Batch]

    def for_each_batch(self, call: Callable[[Batch], object]) -> None:
        """Call a function on each batch, on the parser's threads."""
        if self.parser.workers == 1:
            exhaust(map(call, self.batches))
            return
        with ThreadPoolExecutor(
            self.parser.workers, initializer=torch.set_num_threads, initargs=(1,)
        ) as pool:
            exhaust(pool.map(call, self.batches))


@cache
def make_stage(bench: Bench, counted: bool = False) -> Stage:
    """Return the benchmark's model and data as they are in parsing.

    If counted is True, the model is in float32 on one thread of the CPU, where its operations can
    be counted. Raises BenchError for an ensemble or a tagger.
    """
    torch.set_num_threads(bench.threads)
    device, precision = ("cpu", "float32") if counted else (bench.device, "auto")
    parser = load(bench.model, device, precision)
    if parser.members or not isinstance(parser, GraphParser):
        raise BenchError(f"{bench.model} is an ensemble or a tagger; name a parser with --model")
    parser = replace(parser, threads=1 if counted else bench.threads)
    data = parser.make_preparer()(bench.sentences, ())
    tokens = CPU_TOKENS if bench.device == "cpu" else GPU_TOKENS
    indices = length_batches(data.sizes, tokens, repeat_to_fill=True)
    return Stage(parser, data, indices, make_batches(data, indices, parser.device))


def make_batches(data: Any, indices: Sequence[np.ndarray], device: torch.device) -> list[Batch]:
    """Make the batches of the examples with these indices, on a device."""
    return [send_batch(data.batch(batch), device) for batch in indices]


def form_vectors(parser: Parser, data: Dataset) -> Tensor:
    """Compute the vectors of all distinct forms, without cached ones."""
    with parser.engine.context():
        return FormCache(parser.network.inputs).vectors(data, parser.device)


def precision_of(parser: Parser) -> str:
    """Return the precision of the parser's matrix products: "float32", "bfloat16" or "int8"."""
    if any("quantized" in type(module).__module__ for module in parser.network.modules()):
        return "int8"
    return str(parser.precision).removeprefix("torch.")


def compare_to_roofline(
    bench: Bench,
    entry: str,
    name: str,
    precision: str,
    action: Action,
    flops: int,
    note: str = "",
    step: bool = True,
) -> Row:
    """Return the row of an action that processes all words, with matrix products as its limit."""
    torch.set_num_threads(bench.threads)
    limit, limit_flops = matrix_product(precision, bench.device)
    runs = run_alternately(bench.runs, {"stage": timed(action, bench.device), "limit": limit})
    note = ", ".join(filter(None, (precision, note)))
    return Row(
        entry, name, runs["stage"], bench.words, flops,
        limit=runs["limit"], limit_flops=limit_flops, note=note, step=step,
    )  # fmt: skip


def describe_padding(batches: Sequence[Batch]) -> str:
    """Describe the share of padding in the batches."""
    real = sum(int(batch.sizes.sum()) for batch in batches)
    return f"{100 * (1 - real / sum(batch['word'].numel() for batch in batches)):.0f}% padding"


def tokenizing(bench: Bench) -> Iterator[Row]:
    """Raw text to sentences, and separately the tokenizer's network and labels."""
    parser = make_stage(bench).parser
    if not parser.tokenizer:
        raise BenchError(f"{bench.model} has no tokenizer; name a model that has one with --model")
    texts = [passage.text for passage in make_passages(bench.sentences)]

    def segment(tokenizer: Tokenizer | None) -> Action:
        assert tokenizer
        return lambda: tokenizer.segment(texts)

    flops = count_flops(segment(make_stage(bench, True).parser.tokenizer))
    action = segment(parser.tokenizer)
    precision = str(parser.tokenizer.engine.precision).removeprefix("torch.")
    yield compare_to_roofline(
        bench, "tokenizing", "tokens and sentences", precision, action, flops, step=False
    )
    read = timed(lambda: exhaust(parser.read(bench.text, "text")), bench.device)
    runs = run_alternately(bench.runs, {"read": read})["read"]
    size = bench.text.stat().st_size
    yield Row("tokenizing", "raw text to sentences", runs, bench.words, moved=size, step=True)


def batching(bench: Bench) -> Iterator[Row]:
    """Sentences to indices of symbols, and these to padded batches."""
    stage = make_stage(bench)
    parser, data = stage.parser, stage.data

    def encode_sentences() -> Dataset:
        return encode(
            bench.sentences, parser.vocabulary, parser.config.inputs,
            transformer=parser.network.transformer,
        )  # fmt: skip

    measures = {
        "numbers": timed(encode_sentences, bench.device),
        "padded batches": timed(
            lambda: make_batches(data, stage.indices, parser.device), bench.device
        ),
    }
    for name, runs in run_alternately(bench.runs, measures).items():
        yield Row("batching", name, runs, bench.words, step=True)


def encoder(bench: Bench) -> Iterator[Row]:
    """Characters of distinct words to vectors, and the encoder's forward pass, as in parsing."""
    stage, counted = make_stage(bench), make_stage(bench, True)
    precision = precision_of(stage.parser)
    if stage.parser.config.inputs.char:
        flops = count_flops(partial(form_vectors, counted.parser, counted.data))
        action: Action = partial(form_vectors, stage.parser, stage.data)
        # in int8 models, the character encoder is in float32
        char_precision = "float32" if precision == "int8" else precision
        note = f"{len(stage.data.forms) - 2:,} distinct words"
        yield compare_to_roofline(
            bench, "encoder", "characters", char_precision, action, flops, note
        )
    flops, action = count_flops(partial(encode_all, counted)), partial(encode_all, stage)
    note = describe_padding(stage.batches)
    yield compare_to_roofline(bench, "encoder", "forward", precision, action, flops, note)


def encode_all(stage: Stage) -> None:
    def call(batch: Batch) -> None:
        with stage.parser.engine.context():
            stage.parser.network.encode(batch)

    stage.for_each_batch(call)


def scoring(bench: Bench) -> Iterator[Row]:
    """Encoded words to arc scores, label scores of given heads, and tags."""
    stage, counted = make_stage(bench), make_stage(bench, True)
    flops = count_flops(score_all(counted))
    precision, note = precision_of(stage.parser), describe_padding(stage.batches)
    yield compare_to_roofline(
        bench, "scoring", "arcs, labels, tags", precision, score_all(stage), flops, note
    )


def score_all(stage: Stage) -> Action:
    """Return an action that scores all batches, whose words are encoded beforehand."""
    parser = stage.parser
    encoded: dict[int, Tensor] = {}
    with parser.engine.context():
        for batch in stage.batches:
            encoded[id(batch)] = parser.network.encode(batch)

    def call(batch: Batch) -> None:
        with parser.engine.context():
            scores = parser.network.score(batch)
            best_indices(scores.score_labels(torch.zeros_like(batch["form"])))
            for column in scores.columns.values():
                best_indices(column)

    def action() -> None:
        with patch.object(parser.network, "encode", lambda batch: encoded[id(batch)]):
            stage.for_each_batch(call)

    return action


def arc_scores(bench: Bench) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return each batch's arc scores, [batch, length, length], and lengths, [batch]."""
    stage = make_stage(bench)
    with torch.inference_mode():
        return [
            (stage.parser.engine.score(batch).arc.log_softmax(-1).cpu().numpy(), batch.sizes - 1)
            for batch in stage.batches
        ]


def backward(bench: Bench) -> Iterator[Row]:
    """Forward and backward pass in training, of the encoder and of the whole network."""
    _, tables = read_config(find_model(bench.model))
    tokens = tables.get("training", {}).get("batch_tokens", Training().batch_tokens)
    device = make_stage(bench).parser.device
    precision = best_precision(device)
    trained = load(bench.model, str(device), "float32")
    trained = replace(trained, engine=replace(trained.engine, precision=precision))
    counted = make_stage(bench, True).parser
    for name, loss in (("encoder", encoder_loss), ("whole network", whole_loss)):
        batches = training_batches(bench, trained, tokens)
        flops = count_flops(
            make_learning_action(counted, training_batches(bench, counted, tokens), loss)
        )
        yield compare_to_roofline(
            bench, "backward", f"{name}, forward and backward",
            str(precision).removeprefix("torch."), make_learning_action(trained, batches, loss),
            flops, f"batches of {tokens}, {describe_padding(batches)}", step=False,
        )  # fmt: skip


def training_batches(bench: Bench, parser: Parser, tokens: int) -> list[Batch]:
    """Return batches as in training: with targets, shuffled, without vectors of forms."""
    data = get_family(parser.config).examples(
        bench.sentences, parser.vocabulary, parser.config,
        transformer=parser.network.transformer,
    )  # fmt: skip
    indices = length_batches(data.sizes, tokens, np.random.default_rng(0))
    return make_batches(data, indices, parser.device)


def encoder_loss(parser: Parser, batch: Batch) -> Tensor:
    return parser.network.encode(batch).float().sum()


def whole_loss(parser: Parser, batch: Batch) -> Tensor:
    return parser.network(batch)


def make_learning_action(
    parser: Parser, batches: Sequence[Batch], loss: Callable[[Parser, Batch], Tensor]
) -> Action:
    """Return an action that computes the gradients of all batches."""

    def action() -> None:
        parser.network.train()
        for batch in batches:
            with autocast(parser.device, parser.precision):
                total = loss(parser, batch)
            total.backward()
            parser.network.zero_grad()
        parser.network.eval()

    return action
