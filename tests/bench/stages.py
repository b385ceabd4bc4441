"""The stages of parsing and training in this process, from raw text to scores, one at a time.

Rates count words; operations are counted with the padding that is read along. The matrix rate that
a stage is held against is measured in turn with it, in the precision that it computes in. Stages
of parsing share their batches out among threads as parsing does; training has all threads for one
batch.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from depkit.parsers.base import CPU_TOKENS, GPU_TOKENS, Parser
from depkit.parsers.device import best_precision, best_values
from depkit.parsers.families import family_of
from depkit.parsers.graph.ensemble import GraphEnsemble
from depkit.parsers.graph.parser import GraphParser
from depkit.parsers.inputs.batches import Batch, Dataset, encode, length_batches
from depkit.parsers.inputs.form_cache import FormCache
from depkit.parsers.model_directory import find_model, load, read_config
from depkit.parsers.text.tokenizer import Tokenizer
from depkit.training.recipe import Training
from depkit.training.tokenizer import passages
from tests.bench.corpus import exhaust
from tests.bench.flops import flops_of
from tests.bench.measure import Bench, BenchError, Row, in_turn, timed
from tests.bench.roofline import matrices

Action = Callable[[], object]


@dataclass(frozen=True, eq=False)
class Stage:
    """A parser, and data laid out for it as it parses: characters read, in padded batches.

    numbers: those of each batch's sentences.
    """

    parser: GraphParser
    data: Dataset
    numbers: list[np.ndarray]
    batches: list[Batch]

    def each(self, call: Callable[[Batch], object]) -> None:
        """Call a function on each batch, on the parser's threads."""
        if self.parser.workers == 1:
            exhaust(map(call, self.batches))
            return
        with ThreadPoolExecutor(
            self.parser.workers, initializer=torch.set_num_threads, initargs=(1,)
        ) as pool:
            exhaust(pool.map(call, self.batches))


@cache
def stage_of(bench: Bench, counted: bool = False) -> Stage:
    """The model as it parses; counted: in float32 on one thread of the CPU, where its operations
    can be counted. Raises BenchError for an ensemble or a tagger."""
    torch.set_num_threads(bench.threads)
    device, precision = ("cpu", "float32") if counted else (bench.device, "auto")
    parser = load(bench.model, device, precision)
    if isinstance(parser, GraphEnsemble) or not isinstance(parser, GraphParser):
        raise BenchError(f"{bench.model} is an ensemble or a tagger; name a parser with --model")
    parser = replace(parser, threads=1 if counted else bench.threads)
    data = parser.preparer()(bench.sentences, ())
    tokens = CPU_TOKENS if bench.device == "cpu" else GPU_TOKENS
    numbers = length_batches(data.sizes, tokens, filled=True)
    return Stage(parser, data, numbers, list(map(data.batch, numbers)))


def form_vectors(parser: Parser, data: Dataset) -> Tensor:
    """The vectors of all distinct forms, read anew."""
    with parser.mixed():
        return FormCache(parser.network.inputs).vectors(data)


def precision_of(parser: Parser) -> str:
    """What its matrix products are computed in: "float32", "bfloat16" or "int8"."""
    if any("quantized" in type(module).__module__ for module in parser.network.modules()):
        return "int8"
    return str(parser.precision).removeprefix("torch.")


def held_against(
    bench: Bench,
    entry: str,
    name: str,
    precision: str,
    action: Action,
    flops: int,
    note: str = "",
    step: bool = True,
) -> Row:
    """The row of an action that reads all words, beside the matrix rate of a precision."""
    torch.set_num_threads(bench.threads)
    rate, limit_flops = matrices(precision, bench.device)
    found = in_turn(bench.runs, {"stage": timed(action, bench.device), "limit": rate})
    told = ", ".join(filter(None, (precision, note)))
    return Row(
        entry, name, found["stage"], bench.words, flops,
        limit=found["limit"], limit_flops=limit_flops, note=told, step=step,
    )  # fmt: skip


def padding(batches: Sequence[Batch]) -> str:
    """How much of what is read is padding."""
    real = sum(int(batch.sizes.sum()) for batch in batches)
    return f"{100 * (1 - real / sum(batch.word.numel() for batch in batches)):.0f}% padding"


def tokenizing(bench: Bench) -> Iterator[Row]:
    """Raw text to sentences, and the tokenizer's network and labels alone."""
    parser = stage_of(bench).parser
    if not parser.tokenizer:
        raise BenchError(f"{bench.model} has no tokenizer; name a model that has one with --model")
    texts = [passage.text for passage in passages(bench.sentences)]

    def segment(tokenizer: Tokenizer | None) -> Action:
        assert tokenizer
        return lambda: tokenizer.segment(texts)

    flops = flops_of(segment(stage_of(bench, True).parser.tokenizer))
    action = segment(parser.tokenizer)
    precision = str(parser.tokenizer.precision).removeprefix("torch.")
    yield held_against(
        bench, "tokenizing", "tokens and sentences", precision, action, flops, step=False
    )
    read = timed(lambda: exhaust(parser.read(bench.text, "text")), bench.device)
    found = in_turn(bench.runs, {"read": read})
    size = bench.text.stat().st_size
    yield Row(
        "tokenizing", "raw text to sentences", found["read"], bench.words, moved=size, step=True
    )


def batching(bench: Bench) -> Iterator[Row]:
    """Sentences to numbers, and numbers to padded batches."""
    stage = stage_of(bench)
    parser, data = stage.parser, stage.data

    def numbers() -> Dataset:
        return encode(
            bench.sentences, parser.vocabulary, parser.config.inputs, parser.device,
            transformer=parser.network.transformer,
        )  # fmt: skip

    measures = {
        "numbers": timed(numbers, bench.device),
        "padded batches": timed(lambda: list(map(data.batch, stage.numbers)), bench.device),
    }
    for name, runs in in_turn(bench.runs, measures).items():
        yield Row("batching", name, runs, bench.words, step=True)


def encoder(bench: Bench) -> Iterator[Row]:
    """Characters of distinct words to vectors, and the encoder forward, as in parsing."""
    stage, counted = stage_of(bench), stage_of(bench, True)
    precision = precision_of(stage.parser)
    if stage.parser.config.inputs.char:
        flops = flops_of(partial(form_vectors, counted.parser, counted.data))
        action: Action = partial(form_vectors, stage.parser, stage.data)
        least = "float32" if precision == "int8" else precision  # that of the rest is int8 alone
        note = f"{len(stage.data.forms) - 2:,} distinct words"
        yield held_against(bench, "encoder", "characters", least, action, flops, note)
    flops, action = flops_of(partial(encode_all, counted)), partial(encode_all, stage)
    note = padding(stage.batches)
    yield held_against(bench, "encoder", "forward", precision, action, flops, note)


def encode_all(stage: Stage) -> None:
    @torch.inference_mode()
    def call(batch: Batch) -> None:
        with stage.parser.mixed():
            stage.parser.network.encode(batch)

    stage.each(call)


def scoring(bench: Bench) -> Iterator[Row]:
    """Encoded words to arc scores, labels of given heads, and tags."""
    stage, counted = stage_of(bench), stage_of(bench, True)
    flops = flops_of(score_all(counted))
    precision, note = precision_of(stage.parser), padding(stage.batches)
    yield held_against(
        bench, "scoring", "arcs, labels, tags", precision, score_all(stage), flops, note
    )


def score_all(stage: Stage) -> Action:
    """What scores all batches, whose words are encoded beforehand."""
    parser = stage.parser
    encoded: dict[int, Tensor] = {}
    with torch.inference_mode(), parser.mixed():
        for batch in stage.batches:
            encoded[id(batch)] = parser.network.encode(batch)

    @torch.inference_mode()
    def call(batch: Batch) -> None:
        scores = parser.score(batch)
        best_values(scores.label_at(torch.zeros_like(batch.word)))
        for column in scores.columns.values():
            best_values(column)

    def action() -> None:
        with patch.object(parser.network, "encode", lambda batch: encoded[id(batch)]):
            stage.each(call)

    return action


def arc_scores(bench: Bench) -> list[tuple[np.ndarray, np.ndarray]]:
    """The model's arc scores of each batch, [batch, length, length], and its words, [batch]."""
    stage = stage_of(bench)
    with torch.inference_mode():
        return [
            (stage.parser.score(batch).arc.log_softmax(-1).cpu().numpy(), batch.sizes - 1)
            for batch in stage.batches
        ]


def backward(bench: Bench) -> Iterator[Row]:
    """Forward and backward in training: the encoder alone, and the whole loss."""
    _, tables = read_config(find_model(bench.model))
    tokens = tables.get("training", {}).get("batch_tokens", Training().batch_tokens)
    device = stage_of(bench).parser.device
    precision = best_precision(device)
    trained = replace(load(bench.model, str(device), "float32"), precision=precision)
    counted = stage_of(bench, True).parser
    for name, loss in (("encoder", encoder_loss), ("whole network", whole_loss)):
        batches = training_batches(bench, trained, tokens)
        flops = flops_of(learn(counted, training_batches(bench, counted, tokens), loss))
        yield held_against(
            bench, "backward", f"{name}, forward and backward",
            str(precision).removeprefix("torch."), learn(trained, batches, loss), flops,
            f"batches of {tokens}, {padding(batches)}", step=False,
        )  # fmt: skip


def training_batches(bench: Bench, parser: Parser, tokens: int) -> list[Batch]:
    """As training makes them: characters still to be read, targets, mixed."""
    data = family_of(parser.config).examples(
        bench.sentences, parser.vocabulary, parser.config, parser.device,
        transformer=parser.network.transformer,
    )  # fmt: skip
    return list(map(data.batch, length_batches(data.sizes, tokens, np.random.default_rng(0))))


def encoder_loss(parser: Parser, batch: Batch) -> Tensor:
    return parser.network.encode(batch).float().sum()


def whole_loss(parser: Parser, batch: Batch) -> Tensor:
    return parser.network(batch)


def learn(
    parser: Parser, batches: Sequence[Batch], loss: Callable[[Parser, Batch], Tensor]
) -> Action:
    """What takes the gradients of all batches."""

    def action() -> None:
        parser.network.train()
        for batch in batches:
            with parser.mixed():
                total = loss(parser, batch)
            total.backward()
            parser.network.zero_grad()
        parser.network.eval()

    return action
