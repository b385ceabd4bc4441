"""The training loop, to be read from top to bottom."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from depkit.corpus.sentence import Sentence
from depkit.files.digest import digest
from depkit.parsers.base import Parser
from depkit.parsers.engine.device import autocast, is_out_of_memory, resolve_precision
from depkit.parsers.engine.torch_engine import TorchEngine
from depkit.parsers.engine.transfer import send_batch
from depkit.parsers.families import get_family
from depkit.parsers.inputs.batching import length_batches
from depkit.parsers.inputs.dataset import Examples, layout, split_context
from depkit.parsers.inputs.part import Rows
from depkit.parsers.inputs.parts import reads_dictionary
from depkit.parsers.inputs.tables import SPECIAL, Table
from depkit.parsers.inputs.vocabulary import Vocabulary, extend_vocabulary
from depkit.parsers.model_directory import CARD, write_config, write_description, write_weights
from depkit.parsers.network import ParserNetwork
from depkit.training.budget import fit_to_time
from depkit.training.checkpoint import (
    State,
    check_checkpoint,
    load_state,
    read_state,
    save_finished,
    save_state,
)
from depkit.training.data import digests
from depkit.training.distributed import (
    batches_per_update,
    clock,
    fail_together,
    first_before_others,
    on_first,
    own_part,
    own_seed,
    share_value,
    sum_gradients,
)
from depkit.training.origin import check_origin, make_origin, retain_batch_size, weight_settings
from depkit.training.progress import Progress
from depkit.training.recipe import Recipe, Training
from depkit.training.schedule import parameter_groups, rate_factor
from depkit.training.sources import Sources, make_vector_table

OPTIMIZERS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
MIN_REPORTED_SECONDS = 3.0  # shorter compilations of the decoder are not reported
# Dev is scored after each epoch if it has fewer than SMALL_DEV words, or at most half as many words
# as train; a larger dev part is scored after each DEV_RATIO * dev / train epochs.
SMALL_DEV = 3000
DEV_RATIO = 3.0


class TrainingError(ValueError):
    """Training cannot continue."""


@dataclass(frozen=True)
class Feed:
    """Functions that return the training examples of an epoch; epochs are numbered from 0 here.

    A feed replaces the treebank as training data; a student, for example, also learns from text.
    """

    sizes: Callable[[int], np.ndarray]  # the sizes of an epoch's examples
    data: Callable[[int], Examples]  # an epoch's examples, the same in every call for that epoch
    # a digest of everything that the examples depend on besides the recipe and the treebank
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
    """Train a parser, and save the weights of the best epoch in the model directory.

    The weights are saved after every epoch that is better than all epochs before it.

    On the CPU a resumed run ends with the same weights as a run that was never interrupted.

    Args:
        recipe: The recipe, resolved by `data.resolve_auto`.
        train_sentences: The treebank to train on.
        dev_sentences: The treebank that selects the best epoch.
        directory: The model directory.
        device: The device to train on.
        seed: The seed of all random numbers.
        resume: Resume the run in the directory, if there is one.
        max_time: The maximum number of seconds of training, including the parts before
            interruptions. A linear schedule ends with the time or with the epochs, whichever ends
            sooner.
        initial: A parser to start from. Its vocabulary is extended by the treebank's.
        progress: Where progress is reported; by default only the log is written.
        sources: The data that the recipe needs besides the treebank, such as word vectors.
        vocabulary: A vocabulary to use instead of the treebank's. Unless there is a feed, symbols
            that the treebank does not have get the vector of the unknown symbol.
        feed: Training examples to use instead of the treebank.
        keep_state: Keep the optimiser's state of a finished run, so that it can be resumed with
            more epochs, patience or time. It is several times as large as the model.

    Returns:
        The state of the run. If the run in the directory is already finished, it is not changed.

    Raises:
        ResumeError: If the run cannot be resumed.
        TrainingError: If the loss is no longer finite, or a batch does not fit in memory.
    """
    config, training, family = recipe.parser, recipe.training, get_family(recipe.parser)
    progress = progress or Progress(directory, quiet=True)
    sources = sources or Sources()
    has_shared_vocabulary = vocabulary is not None and feed is None
    vocabulary = vocabulary or family.vocabulary(train_sentences, config)
    vocabulary = vocabulary.with_lemmas(
        [*train_sentences, *sources.lexicon], tags=reads_dictionary(config.inputs)
    )
    if sources.vectors:
        vocabulary = vocabulary.with_table("vectors", Table(SPECIAL + sources.vectors.words))
    if initial:
        vocabulary = extend_vocabulary(initial.vocabulary, vocabulary)
    saved_state = on_first(read_state, directory) if resume else None
    if saved_state:
        recipe = retain_batch_size(saved_state.origin, recipe)
        training = recipe.training
    # The keys are the words that an error message uses if the digests differ; see `Origin.data`.
    data_digests = digests(train_sentences, dev_sentences) | {
        "other vectors, features, lexicon or transformer": sources.key,
        "other names of treebanks": digest(*vocabulary.tables["treebanks"].symbols)
        if "treebanks" in vocabulary.tables
        else "",
        "another vocabulary": vocabulary.digest() if has_shared_vocabulary else "",
        "another teacher or other text": feed.key if feed else "",
        "another --init": digest_weights(initial.network) if initial else "",
    }
    origin = make_origin(seed, weight_settings(recipe), data_digests)
    difference = share_value(origin).describe_difference(origin)
    fail_together(
        TrainingError(
            f"the first process of torchrun was started with {difference}; start all processes with"
            " the same settings and the same files"
        )
        if difference else None
    )  # fmt: skip
    if saved_state:
        check_origin(directory, saved_state.origin, origin)
        if is_finished(saved_state, recipe, max_time):
            return saved_state
        check_checkpoint(directory)

    torch.manual_seed(seed)
    transformer = sources.transformer
    if transformer and config.inputs.context.tune:  # keep the original for runs with other seeds
        transformer = replace(transformer, body=deepcopy(transformer.body))
    network = family.network(config, vocabulary, transformer)
    if sources.vectors:
        table = make_vector_table(sources.vectors, config.inputs.vectors.scale)
        network.inputs.part("pretrained").weight.data = torch.from_numpy(table)
    if initial:
        copy_initial_weights(network, initial.network)
    network.to(device)
    precision = resolve_precision(training.precision, device)
    engine = TorchEngine(network, device, precision)
    parser = family.parser(config, vocabulary, engine, torch.get_num_threads())
    optimizer = OPTIMIZERS[training.optimizer](
        parameter_groups(network, training), betas=(training.beta1, training.beta2),
        eps=training.epsilon, weight_decay=training.weight_decay, fused=device.type != "mps",
    )  # fmt: skip

    if feed is None:
        treebank = family.examples(
            train_sentences, vocabulary, config, sources.train, network.transformer
        )
        feed = Feed(lambda epoch: treebank.sizes, lambda epoch: treebank)
    if training.updates and math.isfinite(max_time) and not saved_state:
        first = feed.data(0)
        network.start_epoch(first.dataset)

        def update(indices: np.ndarray) -> None:
            _backward(network, first, indices, device, precision).tolist()  # this waits for a GPU

        training = share_value(fit_to_time(training, first.sizes, update, max_time))
        optimizer.zero_grad()
        del first, update
        if training != recipe.training:
            recipe = replace(recipe, training=training)
            origin = make_origin(seed, weight_settings(recipe), data_digests)
            progress.say(
                f"{progress.label}batches of {training.batch_tokens} tokens, for"
                f" {training.updates:,} updates in the time"
            )

    on_first((directory / CARD).unlink, True)  # it describes the run before it was resumed
    state = saved_state or State(origin, seed)
    if saved_state:
        load_state(directory, network, optimizer)
        # The number of epochs, for example, may be new.
        on_first(write_config, directory, recipe.tables())
    else:
        on_first(write_description, directory, recipe.tables(), vocabulary, network.transformer)
        # Save the state before any weights: a run with weights but without a state cannot be
        # resumed.
        on_first(save_state, directory, state, network, optimizer)
    on_first(progress.truncate_log, state.epoch)

    updates = count_updates(feed, recipe)
    if state.epoch:
        progress.say(f"{progress.label}resuming after epoch {state.epoch}")
    started = time.monotonic()
    with first_before_others():
        parser.warm_up()
    if (compile_seconds := time.monotonic() - started) > MIN_REPORTED_SECONDS:
        progress.say(
            f"compiled the decoder in {compile_seconds:.0f} s; this is necessary once after"
            " installation"
        )
    dev_interval = dev_epochs(sum(map(len, dev_sentences)), int(feed.sizes(0).sum()))
    started = clock() - state.seconds  # including earlier parts of a resumed run
    group_size = batches_per_update(training.accumulate)
    while not is_finished(state, recipe, max_time):
        random = np.random.default_rng([seed, state.epoch])
        data = None  # free the last epoch's data before the next epoch's data are made
        data = feed.data(state.epoch)
        network.start_epoch(data.dataset)
        batches = length_batches(data.sizes, training.batch_tokens, random)
        network.train()
        totals = torch.tensor([state.loss, 0.0], device=device)  # loss and number of words
        epoch_started = time.monotonic()
        while state.batch < len(batches):
            # Seed each update, so that a resumed run draws the same random numbers.
            torch.manual_seed(own_seed(seed * 1_000_003 + state.update))
            seconds = clock() - started
            fraction = max(state.update / updates, seconds / max_time)  # finished part of the run
            for group in optimizer.param_groups:
                factor = rate_factor(training, state.update, fraction, updates, state.reductions)
                group["lr"] = group["rate"] * factor
            update_batches = batches[state.batch : state.batch + group_size]
            with sum_gradients(network, totals) as own_totals:
                for indices in own_part(update_batches):
                    share = 1 / len(update_batches)
                    own_totals += _backward(network, data, indices, device, precision, share)
            if training.clip:
                nn.utils.clip_grad_norm_(network.parameters(), training.clip)
            optimizer.step()
            optimizer.zero_grad()
            state.update += 1
            state.batch += len(update_batches)
            if seconds > max_time:
                break
            if progress.bars.is_due():
                progress.show(
                    max(state.update / updates, seconds / max_time),
                    f"epoch {state.epoch + 1} of {training.epochs}"
                    f"  loss {float(totals[0]) / math.ceil(state.batch / group_size):.3f}"
                    f"  {float(totals[1]) / (time.monotonic() - epoch_started):,.0f} words/s",
                )
            if seconds - state.seconds > training.save_every and state.batch < len(batches):
                state.loss, state.seconds = float(totals[0]), clock() - started
                _check_finite(state.loss, network)
                on_first(save_state, directory, state, network, optimizer)

        state.loss = float(totals[0])
        _check_finite(state.loss, network)
        speed = float(totals[1]) / (time.monotonic() - epoch_started)
        if has_shared_vocabulary:  # those of left-out folds are not trained
            network.inputs.reset_unseen(data.dataset)
        state.seconds = clock() - started
        state.epoch += 1
        scores: dict[str, float] = {}
        if state.epoch % dev_interval == 0 or is_finished(state, recipe, max_time):
            scores = on_first(score_dev, parser, dev_sentences, sources.dev, training.punct)
        is_best = bool(scores) and scores[training.select] > state.best
        if is_best:
            on_first(write_weights, directory, network, training.storage)
            # This removes temperatures, which were fitted for the former weights.
            on_first(write_config, directory, recipe.tables())
            state.best, state.best_epoch = scores[training.select], state.epoch
        if scores:  # otherwise this could be the end of the time, with dev not scored
            state.seconds = clock() - started
        mean_loss = state.loss / math.ceil(state.batch / group_size)
        state.batch, state.loss = 0, 0.0
        if state.update <= training.warmup:
            state.reduced_epoch = state.epoch  # stagnant epochs count from the end of the warm-up
        elif scores and is_stagnant(state, training):
            state.reductions, state.reduced_epoch = state.reductions + 1, state.epoch
        epochs_left = training.epochs - state.epoch
        seconds_per_epoch = state.seconds / state.epoch
        seconds_left = min(seconds_per_epoch * epochs_left, max_time - state.seconds)
        on_first(
            progress.write_epoch,
            {
                "epoch": state.epoch, "update": state.update, "loss": mean_loss,
                "rate": optimizer.param_groups[0]["lr"],
                "words_per_second": speed, "seconds": state.seconds, "left": max(0.0, seconds_left),
                "best": is_best,
            },
            scores,
        )  # fmt: skip
        if is_finished(state, recipe, max_time) and not keep_state:
            on_first(save_finished, directory, state)
        else:
            on_first(save_state, directory, state, network, optimizer)
    return state


def _backward(
    network: ParserNetwork, data: Examples, indices: np.ndarray, device: torch.device,
    precision: torch.dtype, share: float = 1.0,
) -> Tensor:  # fmt: skip
    """Compute the gradients of a batch; return [2], its loss times `share` and its number of words.

    Raises TrainingError if the batch does not fit in memory.
    """
    try:
        batch = send_batch(data.batch(indices), device)
        with autocast(device, precision):
            loss = network(batch) * share
        loss.backward()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        longest = data.sizes[indices].max()
        raise TrainingError(
            f"a batch of {len(indices)} sentences of up to {longest - 1} words does not fit in"
            " memory; lower training.batch_tokens"
        ) from error
    loss = loss.detach().float()
    return torch.stack((loss, torch.full_like(loss, batch.words)))


def is_finished(state: State, recipe: Recipe, max_time: float = math.inf) -> bool:
    """Whether a run has used up its epochs, its patience or its time."""
    return (
        state.epoch >= recipe.training.epochs
        or state.epoch - state.best_epoch >= recipe.training.patience
        or state.seconds > max_time
    )


def dev_epochs(dev_words: int, train_words: int) -> int:
    """Return the number of epochs from one dev score to the next.

    It is 1 unless dev is so large that scoring it would take much of the time of a short epoch.
    """
    return 1 if dev_words < SMALL_DEV else max(1, round(DEV_RATIO * dev_words / train_words))


def is_stagnant(state: State, training: Training) -> bool:
    """Whether the schedule "plateau" reduces the rate after the epoch that has just ended."""
    last_change = max(state.best_epoch, state.reduced_epoch)
    return training.schedule == "plateau" and state.epoch - last_change >= training.plateau


def count_updates(feed: Feed, recipe: Recipe) -> int:
    """Count the updates of all epochs."""
    training = recipe.training
    random = np.random.default_rng()
    counts: dict[bytes, int] = {}  # number of updates by the sizes of an epoch's examples
    updates = 0
    for epoch in range(training.epochs):
        sizes = feed.sizes(epoch)
        key = sizes.tobytes()
        if key not in counts:
            batches = len(length_batches(sizes, training.batch_tokens, random))
            counts[key] = math.ceil(batches / batches_per_update(training.accumulate))
        updates += counts[key]
    return updates


def score_dev(
    parser: Parser,
    sentences: Sequence[Sentence],
    context: Rows | None,
    punct: str = "keep",
) -> dict[str, float]:
    """Score a parser on dev sentences.

    Args:
        parser: The parser.
        sentences: The sentences with gold annotation.
        context: The contextual vectors of the sentences, in the order of a Dataset's entries; None
            if the parser does not read precomputed vectors.
        punct: As for `Family.evaluate`.

    Returns:
        The scores in percent, by the names of the metrics of the parser's family.
    """
    predicted = parser.predict(sentences, dev_vectors(sentences, context))
    return get_family(parser.config).evaluate(parser.config, sentences, predicted, punct)


def digest_weights(network: ParserNetwork) -> str:
    """Return a digest of a network's weights; raise ValueError if they are not in float32."""
    weights = network.state_dict().values()
    half_precision = (torch.bfloat16, torch.float16)
    if any(not isinstance(weight, Tensor) or weight.dtype in half_precision for weight in weights):
        raise ValueError(
            "the initial parser is loaded in int8 or bfloat16; load it with precision='float32'"
        )
    return digest(*(weight.cpu().numpy().data for weight in weights))


def dev_vectors(sentences: Sequence[Sentence], context: Rows | None) -> Iterator[np.ndarray] | None:
    """Split contextual vectors by sentence, if there are any; context: as for `score_dev`."""
    return None if context is None else split_context(context, layout(sentences)[0])


def copy_initial_weights(network: ParserNetwork, initial: ParserNetwork) -> None:
    """Copy all weights of an initial network into a network with an extended vocabulary.

    The rows of symbols that the initial network does not have keep their random weights.
    """
    old, new = initial.state_dict(), network.state_dict()
    for name, weight in new.items():
        weight[tuple(slice(size) for size in old[name].shape)] = old[name].to(weight)


def _check_finite(loss: float, network: nn.Module) -> None:
    if not (
        math.isfinite(loss) and all(weight.isfinite().all() for weight in network.parameters())
    ):
        raise TrainingError(
            "the loss or a weight is no longer finite; lower training.rate, or set training.clip to"
            " a lower number above 0"
        )
