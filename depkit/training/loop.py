"""The training loop: one can read it from top to bottom."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from depkit.corpus.digest import digest
from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parser
from depkit.parsers.device import mixed, named_precision, out_of_memory
from depkit.parsers.families import family_of
from depkit.parsers.inputs.batches import (
    Examples,
    Laid,
    layout,
    length_batches,
    sentence_vectors,
)
from depkit.parsers.inputs.vocabulary import SPECIAL, Table, Vocabulary, extended
from depkit.parsers.model_directory import CARD, write_config, write_description, write_weights
from depkit.parsers.network import ParserNetwork
from depkit.training.checkpoint import (
    State,
    check_kept,
    load_state,
    read_state,
    save_finished,
    save_state,
    sweep,
)
from depkit.training.data import digests
from depkit.training.origin import check_origin, make_origin, tables_of, with_batches_of
from depkit.training.progress import Progress
from depkit.training.recipe import Recipe
from depkit.training.schedule import grouped, rate_factor
from depkit.training.sources import Sources, scaled

SLOW = 3.0  # seconds of compiling that are worth a line


class TrainingError(ValueError):
    """A training that cannot go on."""


@dataclass(frozen=True)
class Feed:
    """What each epoch is trained on, by its number from 0, where that is not the treebank as it is.

    sizes: of an epoch's examples; data: the epoch's examples, always the same for the same number;
    key: a digest of what the recipe and the treebank don't tell.
    """

    sizes: Callable[[int], np.ndarray]
    data: Callable[[int], Examples]
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
    keep_state: bool = False,
) -> State:
    """Train a parser; the model directory holds the best epoch's weights at any moment.

    recipe: as `data.resolve_auto` leaves it. max_time: seconds, over all resumptions; a linear
    schedule is then through when the time is. initial: a parser to start from; its vocabulary is
    extended by the new treebank's. sources: what the recipe reads beside the treebank, if anything.
    vocabulary: instead of that of the sentences; symbols that do not occur in these get the vector
    of the unknown symbol, unless there is a feed. feed: what to train on instead of the sentences.
    keep_state: keep the optimiser's state of a finished run, so that it can go on with more epochs,
    patience or time; it is several times as large as the model. On the CPU a resumed run ends with
    the same weights as one never interrupted; the state of a finished run is returned as it is.
    Raises ResumeError, and TrainingError if the loss is no longer finite or a batch does not fit
    in memory.
    """
    config, training, family = recipe.parser, recipe.training, family_of(recipe.parser)
    progress = progress or Progress(directory, quiet=True)
    sources = sources or Sources()
    shared = vocabulary is not None and feed is None
    vocabulary = vocabulary or family.vocabulary(train_sentences, config)
    vocabulary = vocabulary.with_lemmas([*train_sentences, *sources.lexicon])
    if sources.vectors:
        vocabulary = replace(vocabulary, vectors=Table(SPECIAL + sources.vectors.words))
    if initial:
        vocabulary = extended(initial.vocabulary, vocabulary)
    found = read_state(directory) if resume else None
    if found:  # if `training.updates` has set their size, batches stay as large as they were
        recipe = with_batches_of(found.origin, recipe)
        training = recipe.training
    data_of = digests(train_sentences, dev_sentences) | {
        "other vectors, features, lexicon or transformer": sources.key,
        "another vocabulary": vocabulary.digest() if shared else "",
        "another teacher or other text": feed.key if feed else "",
        "another --init": digest_of_weights(initial.network) if initial else "",
    }
    origin = make_origin(seed, tables_of(recipe), data_of)
    if found:
        check_origin(directory, found.origin, origin)
        if is_through(found, recipe, max_time):
            return found
        check_kept(directory)

    torch.manual_seed(seed)
    transformer = sources.transformer
    if transformer and config.inputs.context.tune:  # another seed is to start from the same
        transformer = replace(transformer, body=deepcopy(transformer.body))
    network = family.network(config, vocabulary, transformer)
    if sources.vectors and network.inputs.pretrained is not None:
        table = scaled(sources.vectors, config.inputs.vectors.scale)
        network.inputs.pretrained.weight.data = torch.from_numpy(table)
    if initial:
        put_smaller(network, initial.network)
    network.to(device)
    precision = named_precision(training.precision, device)
    parser = family.parser(config, vocabulary, network, device, precision, torch.get_num_threads())
    optimizer = torch.optim.Adam(
        grouped(network, training), betas=(training.beta1, training.beta2),
        eps=training.epsilon, weight_decay=training.weight_decay, fused=device.type != "mps",
    )  # fmt: skip

    sweep(directory)
    (directory / CARD).unlink(missing_ok=True)  # it is of a training that was through
    state = found or State(origin, seed)
    if found:
        load_state(directory, network, optimizer)
        write_config(directory, recipe.tables())  # settings such as the number of epochs may be new
    else:
        write_description(directory, recipe.tables(), vocabulary, network.transformer)
        save_state(directory, state, network, optimizer)  # so no model is ever without one
    progress.resume(state.epoch)

    if feed is None:
        treebank = family.examples(
            train_sentences, vocabulary, config, device, sources.train, transformer
        )
        feed = Feed(lambda epoch: treebank.sizes, lambda epoch: treebank)
    updates = updates_of(feed, recipe)
    if training.warmup >= updates:
        progress.say(
            f"depkit: note: the warm-up of {training.warmup} updates is longer than the training"
            f" of {updates}; lower training.warmup or training.batch_tokens"
        )
    if state.epoch:
        progress.say(f"{progress.label}resuming after epoch {state.epoch}")
    began = time.monotonic()
    parser.warm_up()
    if (took := time.monotonic() - began) > SLOW:
        progress.say(f"compiled the decoder in {took:.0f} s; this is done once after installation")
    began = time.monotonic() - state.seconds  # as if the run had never stopped
    saved = time.monotonic()
    while not is_through(state, recipe, max_time):
        random = np.random.default_rng([seed, state.epoch])
        data = None  # so that two are never in memory
        data = feed.data(state.epoch)
        network.start_epoch(data.dataset)
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
            for numbers in group_of_batches:
                try:
                    batch = data.batch(numbers)
                    with mixed(device, precision):
                        loss = network(batch) / len(group_of_batches)
                    loss.backward()
                except (RuntimeError, MemoryError) as error:
                    if not out_of_memory(error):
                        raise
                    longest = data.sizes[numbers].max()
                    raise TrainingError(
                        f"a batch of {len(numbers)} sentences, {longest - 1} words the longest,"
                        " does not fit in memory; lower training.batch_tokens"
                    ) from error
                total += loss.detach()
                words += batch.words
            nn.utils.clip_grad_norm_(network.parameters(), training.clip)
            optimizer.step()
            optimizer.zero_grad()
            state.update += 1
            state.batch += len(group_of_batches)
            if now > max_time:
                break
            if progress.bars.due():
                progress.show(
                    max(state.update / updates, now / max_time),
                    f"epoch {state.epoch + 1} of {training.epochs}"
                    f"  loss {float(total) / -(-state.batch // training.accumulate):.3f}"
                    f"  {words / (time.monotonic() - epoch_began):,.0f} words/s",
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
            network.inputs.leave_unknown(data.dataset)
        scores = dev_scores(parser, dev_sentences, sources.dev)
        score = scores[training.select]
        better = score > state.best
        if better:
            write_weights(directory, network, training.storage)
            write_config(directory, recipe.tables())  # a calibration was of other weights
            state.best, state.best_epoch = score, state.epoch + 1
        state.seconds = time.monotonic() - began
        mean = state.loss / -(-state.batch // training.accumulate)
        state.epoch, state.batch, state.loss = state.epoch + 1, 0, 0.0
        left_epochs = training.epochs - state.epoch
        left = min(state.seconds / state.epoch * left_epochs, max_time - state.seconds)
        progress.epoch(
            {
                "epoch": state.epoch, "update": state.update, "loss": mean,
                "rate": optimizer.param_groups[0]["lr"],
                "words_per_second": speed, "seconds": state.seconds, "left": max(0.0, left),
                "best": better,
            },
            scores,
        )  # fmt: skip
        if is_through(state, recipe, max_time) and not keep_state:
            save_finished(directory, state)
        else:
            save_state(directory, state, network, optimizer)
        saved = time.monotonic()
    return state


def is_through(state: State, recipe: Recipe, max_time: float = math.inf) -> bool:
    """Whether a run has had all its epochs, its patience or its time."""
    return (
        state.epoch >= recipe.training.epochs
        or state.epoch - state.best_epoch >= recipe.training.patience
        or state.seconds > max_time
    )


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
    """A parser's scores by the names of its family's metrics, in percent.

    context: the contextual vectors of the sentences, laid out as a Dataset.
    """
    predicted = parser.predict(sentences, dev_vectors(sentences, context))
    return family_of(parser.config).evaluate(parser.config, sentences, predicted)


def digest_of_weights(network: ParserNetwork) -> str:
    """A digest of a network that is kept in float32; raises ValueError for another."""
    weights = network.state_dict().values()
    low = (torch.bfloat16, torch.float16)
    if any(not isinstance(each, Tensor) or each.dtype in low for each in weights):
        raise ValueError(
            "the initial parser is kept in int8 or bfloat16; load it with precision='float32'"
        )
    return digest(*(each.cpu().numpy().data for each in weights))


def dev_vectors(sentences: Sequence[Sentence], context: Laid | None) -> Iterator[np.ndarray] | None:
    """The contextual vectors of each sentence, if there are any; context: as for `dev_scores`."""
    return None if context is None else sentence_vectors(context, layout(sentences)[0])


def put_smaller(network: ParserNetwork, smaller: ParserNetwork) -> None:
    """Copy a smaller network's weights into the first rows of a larger one's tables; the other rows
    keep their initial weights."""
    old, new = smaller.state_dict(), network.state_dict()
    for name, weight in new.items():
        weight[tuple(slice(size) for size in old[name].shape)] = old[name].to(weight)


def _check_finite(loss: float, network: nn.Module) -> None:
    if not (
        math.isfinite(loss) and all(weight.isfinite().all() for weight in network.parameters())
    ):
        raise TrainingError(
            "the loss or a weight is not finite; lower training.rate or training.clip"
        )
