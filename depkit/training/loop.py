"""The training loop, to be read from top to bottom."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parser
from depkit.parsers.engine.weights import write_weights
from depkit.parsers.families import get_family
from depkit.parsers.family import Scoring, count_correct
from depkit.parsers.inputs.batching import length_batches
from depkit.parsers.inputs.dataset import Examples, layout, split_context
from depkit.parsers.inputs.part import Rows
from depkit.parsers.model_directory import write_config
from depkit.training.checkpoint import State, save_finished, save_state
from depkit.training.distributed import (
    batches_per_update,
    clock,
    on_first,
    own_part,
    own_seed,
    sum_gradients,
)
from depkit.training.plan import Feed, Plan, TrainingError
from depkit.training.recipe import Recipe, Training
from depkit.training.schedule import finished_warmup, rate_factor
from depkit.training.start import Run, compute_gradients, is_finished, start

# Seconds between checkpoints within an epoch; there is also a checkpoint after each epoch.
CHECKPOINT_SECONDS = 300.0
# Dev is scored after each epoch if it has fewer than SMALL_DEV words, or at most half as many words
# as train; a larger dev part is scored after each DEV_RATIO * dev / train epochs.
SMALL_DEV = 3000
DEV_RATIO = 3.0


@dataclass(frozen=True)
class Epoch:
    """The result of an epoch."""

    record: dict[str, Any]  # for the log
    scores: dict[str, float]  # on dev; {} if dev was not scored
    is_kept: bool  # whether its weights are those of the model


def train(plan: Plan) -> State:
    """Train a model; save the weights of each epoch that `training.keep` keeps.

    On the CPU a resumed run ends with the same weights as a run that was never interrupted. If the
    run in the directory is already finished, it is not changed.

    Raises:
        ResumeError: If the run cannot be resumed.
        TrainingError: If the loss is no longer finite, or a batch does not fit in memory.
    """
    run = start(plan)
    if isinstance(run, State):
        return run
    plan, state, directory = run.plan, run.state, plan.directory
    for epoch in train_epochs(run):
        if epoch and epoch.is_kept:
            on_first(write_weights, directory, run.network, plan.recipe.training.storage)
            # This removes temperatures, which were fitted for the former weights.
            on_first(write_config, directory, plan.recipe.tables())
        if epoch:
            on_first(plan.reporter.write_epoch, epoch.record, epoch.scores)
        if epoch and is_finished(state, plan) and not plan.keep_state:
            on_first(save_finished, directory, state)
        else:
            on_first(save_state, directory, state, run.network, run.optimizer)
    return state


def train_epochs(run: Run) -> Iterator[Epoch | None]:
    """Train until the run is finished; yield after each epoch, when its state is to be saved.

    None is yielded where a checkpoint is due within an epoch.
    """
    plan, state, network, progress = run.plan, run.state, run.network, run.plan.reporter
    training = plan.recipe.training
    updates = count_updates(run.feed, plan.recipe)
    dev_interval = dev_epochs(sum(map(len, plan.dev)), int(run.feed.sizes(0).sum()))
    started = clock() - state.seconds  # including earlier parts of a resumed run
    if is_finished(state, plan):  # but its last weights have not been scored; see `start`
        if plan.leaves_symbols_unseen:
            network.inputs.reset_unseen(run.feed.data(state.epoch).dataset)
        state.epoch += state.batch > 0  # as if the time had ended within this epoch
        state.batch, state.loss = 0, 0.0
        scores, is_kept = _score_epoch(run)
        record = {"epoch": state.epoch, "update": state.update, "seconds": state.seconds}
        yield Epoch(record | {"best": is_kept and training.keep == "best"}, scores, is_kept)
    while not is_finished(state, plan):
        random = np.random.default_rng([plan.seed, state.epoch])
        data = None  # free the last epoch's data before the next epoch's data are made
        data = run.feed.data(state.epoch)
        network.start_epoch(data.dataset)
        groups = group_batches(data.sizes, training, random)  # one for each update
        ends = np.cumsum([len(batches) for batches in groups])
        done = int(np.searchsorted(ends, state.batch, side="right"))
        network.train()
        totals = torch.tensor([state.loss, 0.0], device=plan.device)  # loss and number of words
        epoch_started = time.monotonic()
        while done < len(groups):
            seconds = clock() - started
            fraction = max(state.update / updates, seconds / plan.max_time)  # finished part
            for group in run.optimizer.param_groups:
                factor = rate_factor(
                    training, state.update, fraction, updates, reductions=state.reductions
                )
                group["lr"] = group["rate"] * factor
            _update(run, data, groups[done], totals)
            done += 1
            if seconds > plan.max_time:
                break
            if progress.bars.is_due():
                progress.show(
                    max(state.update / updates, seconds / plan.max_time),
                    f"epoch {state.epoch + 1} of {training.epochs}"
                    f"  loss {float(totals[0]) / done:.3f}"
                    f"  {float(totals[1]) / (time.monotonic() - epoch_started):,.0f} words/s",
                )
            if seconds - state.seconds > CHECKPOINT_SECONDS and done < len(groups):
                state.loss, state.seconds = float(totals[0]), clock() - started
                _check_finite(state.loss, network)
                yield None

        _check_finite(float(totals[0]), network)
        speed = float(totals[1]) / (time.monotonic() - epoch_started)
        if plan.leaves_symbols_unseen:  # those of left-out folds are not trained
            network.inputs.reset_unseen(data.dataset)
        state.seconds = clock() - started
        state.epoch += 1
        scores, is_kept = {}, False
        if state.epoch % dev_interval == 0 or is_finished(state, plan):
            scores, is_kept = _score_epoch(run)
            # Otherwise this could be the end of the time, with dev not scored.
            state.seconds = clock() - started
        mean_loss = float(totals[0]) / done
        state.batch, state.loss = 0, 0.0
        fraction = max(state.update / updates, state.seconds / plan.max_time)
        if finished_warmup(training, state.update - 1, fraction, updates) <= 1:
            state.reduced_epoch = state.epoch  # stagnant epochs count from the end of the warm-up
        elif scores and is_stagnant(state, training):
            state.reductions, state.reduced_epoch = state.reductions + 1, state.epoch
        seconds_left = min(
            state.seconds / state.epoch * (training.epochs - state.epoch),
            plan.max_time - state.seconds,
        )
        record = {
            "epoch": state.epoch, "update": state.update, "loss": mean_loss,
            "rate": run.optimizer.param_groups[0]["lr"], "words_per_second": speed,
            "seconds": state.seconds, "left": max(0.0, seconds_left),
            "best": is_kept and training.keep == "best",
        }  # fmt: skip
        yield Epoch(record, scores, is_kept)


def _score_epoch(run: Run) -> tuple[dict[str, float], bool]:
    """Score dev after an epoch; return the scores, and whether to keep the weights."""
    plan, state, training = run.plan, run.state, run.plan.recipe.training
    scores = on_first(score_dev, run.parser, plan.dev, plan.sources.dev, training.scoring)
    state.scored_update = state.update
    is_kept = training.keep == "last" or scores[training.select] > state.best
    if is_kept:
        state.best, state.best_epoch = scores[training.select], state.epoch
    return scores, is_kept


def _update(run: Run, data: Examples, batches: Sequence[np.ndarray], totals: Tensor) -> None:
    """Update the weights by the mean gradient of batches; add their loss and words to `totals`.

    If the loss of a batch is a mean over trees, or the batches are the parts of one larger batch,
    each tree or word counts the same, otherwise each batch.
    """
    family = get_family(run.parser.config)
    is_weighted = family.averages_trees or run.plan.recipe.training.batch_sentences
    items = [family.loss_items(data.sizes[indices]) if is_weighted else 1 for indices in batches]
    shares = [n / sum(items) for n in items]
    # Seed each update, so that a resumed run draws the same random numbers.
    torch.manual_seed(own_seed(run.plan.seed * 1_000_003 + run.state.update))
    with sum_gradients(run.network, totals) as own_totals:
        for indices, share in own_part(list(zip(batches, shares, strict=True))):
            own_totals += compute_gradients(run, data, indices, share)
    if clip := run.plan.recipe.training.clip:
        nn.utils.clip_grad_norm_(run.network.parameters(), clip)
    run.optimizer.step()
    run.optimizer.zero_grad()
    run.state.update += 1
    run.state.batch += len(batches)


def dev_epochs(dev_words: int, train_words: int) -> int:
    """Return the number of epochs from one dev score to the next.

    It is 1 unless dev is so large that scoring it would take much of the time of a short epoch.
    """
    return 1 if dev_words < SMALL_DEV else max(1, round(DEV_RATIO * dev_words / train_words))


def is_stagnant(state: State, training: Training) -> bool:
    """Whether the schedule "plateau" reduces the rate after the epoch that has just ended."""
    last_change = max(state.best_epoch, state.reduced_epoch)
    return training.schedule == "plateau" and state.epoch - last_change >= training.plateau


def group_batches(
    sizes: np.ndarray, training: Training, random: np.random.Generator
) -> list[list[np.ndarray]]:
    """Divide the examples of an epoch into updates, and each update into batches.

    sizes: those of the examples. Returns the indices of the examples of each batch.
    """
    if count := training.batch_sentences:
        parts = np.split(random.permutation(len(sizes)), range(count, len(sizes), count))
        return [
            [part[batch] for batch in length_batches(sizes[part], training.batch_tokens)]
            for part in parts
        ]
    batches = length_batches(sizes, training.batch_tokens, random)
    size = batches_per_update(training.accumulate)
    return [batches[start : start + size] for start in range(0, len(batches), size)]


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
            counts[key] = len(group_batches(sizes, training, random))
        updates += counts[key]
    return updates


_COLUMNS = {"upos": "UPOS", "feats": "FEATS", "lemma": "Lemmas"}


def score_dev(
    parser: Parser,
    sentences: Sequence[Sentence],
    context: Rows | None,
    scoring: Scoring = Scoring(),  # noqa: B008
) -> dict[str, float]:
    """Return the scores of a parser on dev sentences in percent, by metric; see `Family.evaluate`.

    The accuracies of UPOS, FEATS and lemmas are added, of the columns that the parser predicts.

    context: the contextual vectors of the sentences, in the order of a Dataset's entries; None if
    the parser does not read precomputed vectors.
    """
    predicted = list(parser.predict(sentences, dev_vectors(sentences, context)))
    scores = get_family(parser.config).evaluate(parser.config, sentences, predicted, scoring)
    size = sum(map(len, sentences))
    for column, name in _COLUMNS.items():
        if column in parser.config.predicted_tags and column in parser.vocabulary.columns:
            pairs = zip(sentences, predicted, strict=True)
            correct = sum(count_correct(*pair, column) for pair in pairs)
            scores[name] = 100.0 * correct / size
    return scores


def dev_vectors(sentences: Sequence[Sentence], context: Rows | None) -> Iterator[np.ndarray] | None:
    """Split contextual vectors by sentence, if there are any; context: as for `score_dev`."""
    return None if context is None else split_context(context, layout(sentences)[0])


def _check_finite(loss: float, network: nn.Module) -> None:
    # The host waits for a GPU once, not for each weight.
    weights = torch.stack([weight.isfinite().all() for weight in network.parameters()])
    if not (math.isfinite(loss) and weights.all()):
        raise TrainingError(
            "the loss or a weight is no longer finite; lower training.rate, or set training.clip to"
            " a lower number above 0"
        )
