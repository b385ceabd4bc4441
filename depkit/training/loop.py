"""The training loop: one can read it from top to bottom."""

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parser
from depkit.parsers.config import Calibration
from depkit.parsers.device import mixed, named_precision, out_of_memory
from depkit.parsers.graph.network import BiaffineNetwork
from depkit.parsers.inputs.batches import (
    Dataset,
    Laid,
    encode,
    layout,
    length_batches,
    make_batch,
    sentence_vectors,
)
from depkit.parsers.inputs.vocabulary import (
    SPECIAL,
    Table,
    Vocabulary,
    build_vocabulary,
    extended,
)  # fmt: skip
from depkit.parsers.model_directory import write_calibration, write_description, write_weights
from depkit.score.attachment import evaluate
from depkit.training.checkpoint import State, load_state, save_state, sweep
from depkit.training.data import fingerprint
from depkit.training.progress import Progress
from depkit.training.recipe import Recipe
from depkit.training.schedule import grouped, rate_factor
from depkit.training.sources import Sources, scaled


class TrainingError(ValueError):
    """A training that cannot go on."""


@dataclass(frozen=True)
class Feed:
    """What each epoch is trained on, by its number from 0, where that is not the treebank as it is.

    sizes: [sentences] of an epoch, as in a Dataset; data: the epoch's, always the same for the
    same number; key: a digest of what the recipe and the treebank don't tell.
    """

    sizes: Callable[[int], np.ndarray]
    data: Callable[[int], Dataset]
    key: str = ""


def train(
    recipe: Recipe,
    train_sentences: Sequence[Sentence],
    dev_sentences: Sequence[Sentence],
    directory: Path,
    device: torch.device,
    seed: int = 1,
    resume: bool = False,
    max_time: float = math.inf,
    initial: Parser | None = None,
    progress: Progress | None = None,
    sources: Sources | None = None,
    vocabulary: Vocabulary | None = None,
    feed: Feed | None = None,
) -> State:
    """Train a parser; the model directory holds the best epoch's weights at any moment.

    recipe: as `data.settle` leaves it. max_time: seconds, over all resumptions; a linear
    schedule is then through when the time is. initial: a parser to start from; its vocabulary is
    extended by the new treebank's. sources: what the recipe reads beside the treebank, if anything.
    vocabulary: instead of that of the sentences; what these lack of it stays unknown, unless it is
    fed. feed: what to train on instead of the sentences alone.
    On the CPU a resumed run ends with the same weights as one never interrupted.
    Raises ResumeError, and TrainingError if the loss is no longer finite.
    """
    training = recipe.training
    progress = progress or Progress(directory, quiet=True)
    sources = sources or Sources()
    torch.manual_seed(seed)
    shared = vocabulary is not None and feed is None
    vocabulary = vocabulary or build_vocabulary(train_sentences, recipe)
    if sources.vectors:
        vocabulary = replace(vocabulary, vectors=Table(SPECIAL + sources.vectors.words))
    if initial:
        vocabulary = extended(initial.vocabulary, vocabulary)
    transformer = sources.transformer
    if transformer and recipe.inputs.context.tune:  # another seed is to start from the same
        transformer = replace(transformer, body=deepcopy(transformer.body))
    network = BiaffineNetwork(recipe, vocabulary, transformer)
    if sources.vectors and network.inputs.pretrained is not None:
        table = scaled(sources.vectors, recipe.inputs.vectors.scale)
        network.inputs.pretrained.weight.data = torch.from_numpy(table)
    key = fingerprint(recipe, train_sentences, dev_sentences) + sources.key
    key += vocabulary.digest() if shared else ""
    key += feed.key if feed else ""
    if initial:
        key += put_smaller(network, initial.network)
    network.to(device)
    precision = named_precision(training.precision, device)
    parser = Parser(recipe, vocabulary, network, device, precision, torch.get_num_threads())
    optimizer = torch.optim.Adam(
        grouped(network, training), betas=(training.beta1, training.beta2),
        eps=training.epsilon, weight_decay=training.weight_decay, fused=device.type != "mps",
    )  # fmt: skip

    sweep(directory)
    state = load_state(directory, key, seed, network, optimizer) if resume else None
    if state is None:
        state = State(key, seed)
        write_description(directory, recipe, vocabulary, network.transformer)
        save_state(directory, state, network, optimizer)  # so no model is ever without one
    progress.resume(state.epoch)

    if feed is None:
        treebank = encode(
            train_sentences, vocabulary, recipe, device,
            context=sources.train, transformer=transformer,
        )  # fmt: skip
        feed = Feed(lambda epoch: treebank.sizes, lambda epoch: treebank)
    updates = updates_of(feed, recipe)
    if training.warmup >= updates:
        progress.say(
            f"depkit: note: the warm-up of {training.warmup} updates is longer than the training"
            f" of {updates}; lower training.warmup or training.batch_tokens"
        )
    began = time.monotonic() - state.seconds  # as if the run had never stopped
    saved = time.monotonic()
    while not (
        state.epoch >= training.epochs
        or state.epoch - state.best_epoch >= training.patience
        or state.seconds > max_time
    ):
        random = np.random.default_rng([seed, state.epoch])
        data = None  # so that two are never in memory
        data = feed.data(state.epoch)
        network.inputs.counts = torch.bincount(data.word, minlength=len(vocabulary.words))
        batches = length_batches(data.sizes, training.batch_tokens, random)
        network.train()
        total = torch.tensor(state.loss, device=device)
        epoch_began, words = time.monotonic(), 0
        while state.batch < len(batches):
            torch.manual_seed(seed * 1_000_003 + state.update)
            now = time.monotonic() - began
            done = max(state.update / updates, now / max_time)
            for group in optimizer.param_groups:
                group["lr"] = group["rate"] * rate_factor(training, state.update, done, updates)
            group_of_batches = batches[state.batch : state.batch + training.accumulate]
            for sentences in group_of_batches:
                batch = make_batch(data, sentences)
                try:
                    with mixed(device, precision):
                        loss = network.loss(batch) / len(group_of_batches)
                    loss.backward()
                except (RuntimeError, MemoryError) as error:
                    if not out_of_memory(error):
                        raise
                    raise TrainingError(
                        f"a batch of {len(batch.sizes)} sentences, {batch.word.shape[1]} words the"
                        " longest, does not fit in memory; lower training.batch_tokens"
                    ) from error
                total += loss.detach()
                words += int(batch.sizes.sum()) - len(batch.sizes)
            nn.utils.clip_grad_norm_(network.parameters(), training.clip)
            optimizer.step()
            optimizer.zero_grad()
            state.update += 1
            state.batch += len(group_of_batches)
            if now > max_time:
                break
            if progress.due():
                progress.status(
                    f"epoch {state.epoch + 1}  {100 * state.batch / len(batches):.0f}%"
                    f"  loss {float(total) / -(-state.batch // training.accumulate):.3f}"
                    f"  {words / (time.monotonic() - epoch_began):,.0f} words/s"
                )
            if time.monotonic() - saved > training.save_every and state.batch < len(batches):
                state.loss, state.seconds = float(total), time.monotonic() - began
                _check_finite(state.loss, network)
                save_state(directory, state, network, optimizer)
                saved = time.monotonic()

        state.loss = float(total)
        _check_finite(state.loss, network)
        speed = words / (time.monotonic() - epoch_began)
        if shared:
            network.inputs.leave_unknown(data)
        scores = dev_scores(parser, dev_sentences, sources.dev)
        score = scores[training.select]
        better = score > state.best
        if better:
            write_weights(directory, network, training.storage)
            write_calibration(directory, Calibration())  # what was measured was of other weights
            state.best, state.best_epoch = score, state.epoch + 1
        state.seconds = time.monotonic() - began
        mean = state.loss / -(-state.batch // training.accumulate)
        state.epoch, state.batch, state.loss = state.epoch + 1, 0, 0.0
        left_epochs = training.epochs - state.epoch
        left = min(state.seconds / state.epoch * left_epochs, max_time - state.seconds)
        progress.epoch(
            {
                "epoch": state.epoch, "update": state.update, "loss": mean,
                "rate": optimizer.param_groups[0]["lr"], **scores,
                "words_per_second": speed, "seconds": state.seconds, "left": max(0.0, left),
                "best": better,
            }
        )  # fmt: skip
        save_state(directory, state, network, optimizer)
        saved = time.monotonic()
    return state


def updates_of(feed: Feed, recipe: Recipe) -> int:
    """How many updates all epochs have."""
    training = recipe.training
    random = np.random.default_rng()
    counts: dict[bytes, int] = {}  # most epochs are of the same sentences
    updates = 0
    for epoch in range(training.epochs):
        sizes = feed.sizes(epoch)
        key = sizes.tobytes()
        if key not in counts:
            batches = len(length_batches(sizes, training.batch_tokens, random))
            counts[key] = -(-batches // training.accumulate)
        updates += counts[key]
    return updates


def dev_scores(
    parser: Parser, sentences: Sequence[Sentence], context: Laid | None
) -> dict[str, float]:
    """UAS and LAS of a parser, or "tags" of a tagger, in percent.

    context: the contextual vectors of the sentences, laid out as a Dataset.
    """
    vectors = None
    if context is not None:
        vectors = sentence_vectors(context, layout(sentences)[0])
    if parser.config.scorer.tree:
        tags = "predict" if parser.config.scorer.predict else "keep"
        dev = evaluate(sentences, parser.parse(sentences, tags, context=vectors))
        return {"UAS": dev.UAS, "LAS": dev.LAS}
    right = words = 0
    for gold, tagged in zip(sentences, parser.tag(sentences, context=vectors), strict=True):
        for name in parser.config.scorer.predict:
            right += sum(map(str.__eq__, getattr(gold, name), getattr(tagged, name)))
            words += len(gold)
    return {"tags": 100.0 * right / words}


def put_smaller(network: nn.Module, smaller: nn.Module) -> str:
    """Weights of a network whose tables are shorter, into one whose tables go on behind.

    Returns a digest of the weights. What has no weight yet keeps its first one. Raises
    ValueError for a network that has been made ready for prediction in another precision.
    """
    digest = hashlib.sha256()
    old, new = smaller.state_dict(), network.state_dict()
    if old.keys() != new.keys() or any(old[name].dtype != new[name].dtype for name in new):
        raise ValueError(
            "the initial parser is kept in int8 or bfloat16; load it with precision='float32'"
        )
    for name, weight in new.items():
        part = old[name].float().cpu()
        weight[tuple(slice(size) for size in part.shape)] = part
        digest.update(part.numpy().tobytes())
    return digest.hexdigest()[:16]


def _check_finite(loss: float, network: nn.Module) -> None:
    if not (
        math.isfinite(loss) and all(weight.isfinite().all() for weight in network.parameters())
    ):
        raise TrainingError(
            "the loss or a weight is not finite; lower training.rate or training.clip"
        )
