"""The start of a run: its vocabulary and origin, its state, network and optimiser."""

import math
import time
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from depkit.files.digest import digest
from depkit.parsers.base import Parser
from depkit.parsers.engine.device import is_out_of_memory
from depkit.parsers.engine.precision import autocast, resolve_precision
from depkit.parsers.engine.torch_engine import TorchEngine
from depkit.parsers.engine.transfer import send_batch
from depkit.parsers.families import get_family
from depkit.parsers.inputs.dataset import Examples
from depkit.parsers.inputs.parts import reads_dictionary
from depkit.parsers.inputs.tables import SPECIAL, Table
from depkit.parsers.inputs.transformer import with_random_layers
from depkit.parsers.inputs.vocabulary import Vocabulary, extend_vocabulary
from depkit.parsers.model_directory import (
    CARD,
    remove_graphs,
    write_config,
    write_description,
)
from depkit.parsers.network import ParserNetwork
from depkit.training.budget import fit_to_time
from depkit.training.checkpoint import (
    CHECKPOINT,
    State,
    check_checkpoint,
    load_state,
    read_state,
    save_state,
)
from depkit.training.data import digests
from depkit.training.distributed import fail_together, first_before_others, on_first, share_value
from depkit.training.origin import (
    FOLDS,
    Origin,
    check_origin,
    make_origin,
    retain_batch_size,
    weight_settings,
)
from depkit.training.plan import Feed, Plan, TrainingError
from depkit.training.schedule import parameter_groups
from depkit.training.sources import make_vector_table

OPTIMIZERS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
MIN_REPORTED_SECONDS = 3.0  # shorter compilations of the decoder are not reported


@dataclass
class Run:
    """A training that has started, or has been resumed."""

    plan: Plan
    parser: Parser
    network: ParserNetwork
    optimizer: torch.optim.Optimizer
    precision: torch.dtype
    feed: Feed
    state: State


def start(plan: Plan) -> Run | State:
    """Start a run, or resume the one in the directory; return its State if it is finished.

    If an interrupted run is resumed with fewer epochs or less time than it has used, it is returned
    as a Run as long as dev has not been scored with its last weights.

    Raises:
        ResumeError: If the run cannot be resumed.
        TrainingError: If the processes of torchrun have different data or settings.
    """
    vocabulary = complete_vocabulary(plan)
    saved_state = on_first(read_state, plan.directory) if plan.resume else None
    if saved_state:
        plan = replace(plan, recipe=retain_batch_size(saved_state.origin, plan.recipe))
    origin = _make_origin(plan, vocabulary)
    if saved_state:
        check_origin(plan.directory, saved_state.origin, origin)
        if is_finished(saved_state, plan) and not _must_be_scored(saved_state, plan):
            return saved_state
        check_checkpoint(plan.directory)
    run = _make_run(plan, vocabulary, saved_state or State(origin, plan.seed))
    if plan.recipe.training.updates and math.isfinite(plan.max_time) and not saved_state:
        _fit_batches_to_time(run)
    plan, progress = run.plan, run.plan.reporter
    # Both describe the run before it was resumed.
    on_first((plan.directory / CARD).unlink, True)
    on_first(remove_graphs, plan.directory)
    tables = plan.recipe.tables()
    if saved_state:
        load_state(plan.directory, run.network, run.optimizer)
        on_first(write_config, plan.directory, tables)  # the number of epochs, e.g., may be new
    else:
        on_first(write_description, plan.directory, tables, vocabulary, run.network.transformer)
        # Save the state before any weights: a run with weights but without a state cannot be
        # resumed.
        on_first(save_state, plan.directory, run.state, run.network, run.optimizer)
    on_first(progress.truncate_log, run.state.epoch)
    if run.state.epoch:
        progress.say(f"{progress.label}resuming after epoch {run.state.epoch}")
    started = time.monotonic()
    with first_before_others():
        run.parser.warm_up()
    if (seconds := time.monotonic() - started) > MIN_REPORTED_SECONDS:
        progress.say(
            f"compiled the decoder in {seconds:.0f} s; this is necessary once after installation"
        )
    return run


def is_finished(state: State, plan: Plan) -> bool:
    """Whether a run has used up its epochs, its patience or its time."""
    patience = plan.recipe.training.patience
    return _is_used_up(state, plan) or state.epoch - state.best_epoch >= patience


def _is_used_up(state: State, plan: Plan) -> bool:
    """Whether a run has used up its epochs or its time."""
    return state.epoch >= plan.recipe.training.epochs or state.seconds > plan.max_time


def _must_be_scored(state: State, plan: Plan) -> bool:
    """Whether dev is still to be scored with the last weights of a finished run.

    A run that has ended by itself has a card or no checkpoint, and dev was scored at its end.
    """
    directory = plan.directory
    has_ended = (directory / CARD).exists() or not (directory / CHECKPOINT).exists()
    if has_ended or state.update == state.scored_update:
        return False
    # If only its patience is used up, the best model stays as it is.
    return _is_used_up(state, plan) or not state.best_epoch


def complete_vocabulary(plan: Plan) -> Vocabulary:
    """Return the vocabulary with lemmas, pretrained words and those of the initial parser."""
    config, sources = plan.recipe.parser, plan.sources
    vocabulary = plan.vocabulary or get_family(config).vocabulary(plan.train, config)
    vocabulary = vocabulary.with_lemmas(
        [*plan.train, *sources.lexicon], tags=reads_dictionary(config.inputs)
    )
    if sources.vectors:
        vocabulary = vocabulary.with_table("vectors", Table(SPECIAL + sources.vectors.words))
    return extend_vocabulary(plan.initial.vocabulary, vocabulary) if plan.initial else vocabulary


def _make_origin(plan: Plan, vocabulary: Vocabulary) -> Origin:
    """Return the origin of the run, which all processes must agree on."""
    initial, treebanks = plan.initial, vocabulary.tables.get("treebanks")
    # The keys are the words that an error message uses if the digests differ; see `Origin.data`.
    data_digests = digests(plan.train, plan.dev) | {
        "other vectors, features, lexicon or transformer": plan.sources.key,
        "other names of treebanks": digest(*treebanks.symbols) if treebanks else "",
        "another vocabulary": vocabulary.digest() if plan.leaves_symbols_unseen else "",
        "another teacher or other text": plan.feed.key if plan.feed else "",
        "another --init": digest_weights(initial.network) if initial else "",
    }
    tables = weight_settings(plan.recipe)
    if plan.folds:
        tables = {FOLDS: str(plan.folds)} | tables
    origin = make_origin(plan.seed, tables, data_digests)
    difference = share_value(origin).describe_difference(origin)
    fail_together(
        TrainingError(
            f"the first process of torchrun was started with {difference}; start all processes with"
            " the same settings and the same files"
        )
        if difference else None
    )  # fmt: skip
    return origin


def _make_run(plan: Plan, vocabulary: Vocabulary, state: State) -> Run:
    """Make the network with its first weights, the optimiser and the training examples."""
    config, training, sources = plan.recipe.parser, plan.recipe.training, plan.sources
    family, device = get_family(config), plan.device
    torch.manual_seed(plan.seed)
    transformer = sources.transformer
    if transformer and config.inputs.context.tune:  # keep the original for runs with other seeds
        transformer = replace(transformer, body=deepcopy(transformer.body))
        if config.inputs.context.weights == "embeddings" and not plan.initial:
            transformer = with_random_layers(transformer)
    network = family.network(config, vocabulary, transformer)
    if sources.vectors:
        table = make_vector_table(sources.vectors, config.inputs.vectors.scale)
        network.inputs.part("pretrained").weight.data = torch.from_numpy(table)
    if plan.initial:
        copy_initial_weights(network, plan.initial.network)
    network.to(device)
    precision = resolve_precision(training.precision, device)
    engine = TorchEngine(network, device, precision)
    parser = family.parser(config, vocabulary, engine, torch.get_num_threads())
    optimizer = OPTIMIZERS[training.optimizer](
        parameter_groups(network, training), betas=(training.beta1, training.beta2),
        eps=training.epsilon, weight_decay=training.weight_decay, fused=device.type != "mps",
    )  # fmt: skip
    feed = plan.feed
    if feed is None:
        treebank = family.examples(
            plan.train, vocabulary, config, context=sources.train, transformer=network.transformer
        )
        feed = Feed(lambda epoch: treebank.sizes, lambda epoch: treebank)
    return Run(plan, parser, network, optimizer, precision, feed, state)


def _fit_batches_to_time(run: Run) -> None:
    """Make batches smaller if the updates of the recipe do not fit into the time."""
    first, recipe, progress = run.feed.data(0), run.plan.recipe, run.plan.reporter
    run.network.start_epoch(first.dataset)

    def update(indices: np.ndarray) -> None:
        compute_gradients(run, first, indices).tolist()  # this waits for a GPU

    training = share_value(fit_to_time(recipe.training, first.sizes, update, run.plan.max_time))
    run.optimizer.zero_grad()
    if training != recipe.training:
        run.plan = replace(run.plan, recipe=replace(recipe, training=training))
        changed = {"training.batch_tokens": str(training.batch_tokens)}
        origin = run.state.origin
        run.state.origin = replace(origin, settings=origin.settings | changed)
        progress.say(
            f"{progress.label}batches of {training.batch_tokens} tokens, because of the time"
        )


def compute_gradients(run: Run, data: Examples, indices: np.ndarray, share: float = 1.0) -> Tensor:
    """Compute the gradients of a batch; return [2], its loss times `share` and its number of words.

    Raises TrainingError if the batch does not fit in memory.
    """
    try:
        batch = send_batch(data.batch(indices), run.plan.device)
        with autocast(run.plan.device, run.precision):
            loss = run.network(batch) * share
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


def digest_weights(network: ParserNetwork) -> str:
    """Return a digest of a network's weights; raise ValueError if they are not in float32."""
    weights = network.state_dict().values()
    half_precision = (torch.bfloat16, torch.float16)
    if any(not isinstance(weight, Tensor) or weight.dtype in half_precision for weight in weights):
        raise ValueError(
            "the initial parser is loaded in int8 or bfloat16; load it with precision='float32'"
        )
    return digest(*(weight.cpu().numpy().data for weight in weights))


def copy_initial_weights(network: ParserNetwork, initial: ParserNetwork) -> None:
    """Copy all weights of an initial network into a network with an extended vocabulary.

    The rows of symbols that the initial network does not have keep their random weights.
    """
    old, new = initial.state_dict(), network.state_dict()
    for name, weight in new.items():
        weight[tuple(slice(size) for size in old[name].shape)] = old[name].to(weight)
