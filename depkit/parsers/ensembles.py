"""Combining parsers of one family into an ensemble."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from depkit.parsers.base import Parser
from depkit.parsers.config import ParserConfig
from depkit.parsers.ensemble_config import Mean
from depkit.parsers.families import get_family
from depkit.parsers.family import CombinationError
from depkit.parsers.inputs.tables import Table
from depkit.parsers.inputs.vocabulary import merge_lemmas
from depkit.parsers.model_directory import ModelError, read_ensemble
from depkit.parsers.settings import ConfigError


def combine(
    members: Sequence[Parser],
    mean: Mean | None = None,
    calibration: Mapping[str, Any] | None = None,
) -> Parser:
    """Combine parsers into one parser, which averages their probabilities.

    The members can have different inputs and encoders; labels and tags are matched by name. The
    ensemble has the device, the decoder and the tokenizer of the first member.

    Args:
        members: One or more parsers; an ensemble among several parsers counts as one member. A
            single parser is returned unchanged, unless it is an ensemble and `mean` differs.
        mean: The mean of the probabilities. The default is "arithmetic" or, for a single ensemble,
            the mean of that ensemble.
        calibration: The result of `Family.calibrate` for the ensemble. Those of its members do not
            apply to it, because its probabilities are different.

    Raises:
        CombinationError: As in `check_combination`, or if different engines run the parsers.
        ConfigError: See `Family.set_calibration`.
    """
    first, *others = members
    check_combination([member.config for member in members])
    if not others:
        if not first.members or mean in (None, first.mean):
            return first
        members = first.members
    if len({type(member.engine) for member in members}) > 1:
        raise CombinationError(
            "parsers that are run by different engines cannot be combined; load all of them with"
            " engine='torch'"
        )
    family, used_mean = get_family(first.config), mean or "arithmetic"
    config = family.ensemble_config([member.config for member in members])
    config = family.set_calibration(config, calibration or {})
    # `parse` reads from the inputs of the ensemble whether contextual vectors are needed. They are
    # needed if one member needs them.
    for member in members:
        if member.config.inputs.context.source != "none":
            config = replace(config, inputs=member.config.inputs)
            break
    tables = [member.vocabulary.columns for member in members]
    vocabulary = replace(
        first.vocabulary,
        columns={name: _merge(name, tables) for name in family.columns(config)},
        lemmas=merge_lemmas(member.vocabulary for member in members),
    )
    mean_network = first.engine.mean_network(family)
    engine = first.engine.with_network(mean_network(members, used_mean, vocabulary))
    return replace(
        first, config=config, vocabulary=vocabulary, engine=engine, members=list(members),
        mean=used_mean,
    )  # fmt: skip


def load_ensemble(path: Path, load_member: Callable[[Path], Parser]) -> Parser:
    """Load the members of an ensemble from its directory, and combine them.

    Raises ModelError if the directory is damaged, or its members cannot be combined.
    """
    config = read_ensemble(path)
    members = [load_member(path / name) for name in config.members]
    try:
        return combine(members, config.mean, config.calibration)
    except (CombinationError, ConfigError) as error:
        raise ModelError(f"{path}: {error}") from None


def _merge(column: str, tables: Sequence[dict[str, Table]]) -> Table:
    """Return a table of the symbols of a column in several vocabularies."""
    symbols = (table[column].symbols for table in tables if column in table)
    return Table(list(dict.fromkeys(symbol for names in symbols for symbol in names)))


def check_combination(configs: Sequence[ParserConfig]) -> None:
    """Raise CombinationError if parsers cannot be combined.

    These are parsers of several families; parsers that their family cannot combine, see
    `Family.check_combination`; a parser that reads ELMo vectors and one that reads a transformer;
    and parsers that read ELMo vectors of different layers or widths.
    """
    families = sorted({config.family for config in configs})
    if len(families) > 1:
        raise CombinationError(
            f"parsers of several families cannot be combined: {', '.join(families)}"
        )
    if len(configs) > 1:
        get_family(configs[0]).check_combination(configs)
    contexts = {config.inputs.context.source for config in configs}
    if "elmo" in contexts and len(contexts - {"none"}) > 1:
        raise CombinationError(
            "a parser that reads ELMo vectors cannot be combined with one that reads a transformer"
        )
    shapes = {
        (context.layers, context.top, context.available, context.width)
        for context in (config.inputs.context for config in configs)
        if context.source == "elmo"
    }
    if len(shapes) > 1:
        raise CombinationError(
            "parsers that read different layers of ELMo vectors cannot be combined"
        )
