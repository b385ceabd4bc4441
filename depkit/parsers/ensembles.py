"""Parsers of one family combined into one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from depkit.parsers.config import Calibration, Mean, ParserConfig
from depkit.parsers.families import family_of
from depkit.parsers.family import CombinationError

if TYPE_CHECKING:
    from depkit.parsers.base import Parser

NOT_CALIBRATED = Calibration()


def combine(
    members: Sequence["Parser"],
    mean: Mean | None = None,
    calibration: Calibration = NOT_CALIBRATED,
) -> "Parser":
    """One parser made of parsers; of one alone, that one.

    mean: of their probabilities, by default arithmetic, or what a lone ensemble's own is; an
    ensemble among several is one member. calibration: the ensemble's own; the members' are of
    other probabilities. Raises CombinationError as `check_combination`.
    """
    first = members[0]
    check_combination([member.config for member in members])
    if len(members) == 1 and mean in (None, getattr(first, "mean", mean)):
        return first
    return family_of(first.config).combine(members, mean, calibration)


def check_combination(configs: Sequence[ParserConfig]) -> None:
    """Raises CombinationError for parsers of several families, for families that have no
    ensembles, and for parsers that read contextual vectors of several kinds."""
    families = sorted({config.family for config in configs})
    if len(families) > 1:
        raise CombinationError(
            f"parsers of several families cannot be combined: {', '.join(families)}"
        )
    if len(configs) > 1:
        family_of(configs[0]).check_combination(configs)
    contexts = {config.inputs.context.source for config in configs}
    if "elmo" in contexts and len(contexts - {"none"}) > 1:
        raise CombinationError(
            "a parser of ELMo vectors cannot be combined with one of a transformer"
        )
    features = {
        (context.layers, context.top, context.available, context.width)
        for context in (config.inputs.context for config in configs)
        if context.source == "elmo"
    }
    if len(features) > 1:
        raise CombinationError("parsers of different layers of ELMo vectors cannot be combined")
