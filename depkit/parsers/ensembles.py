"""Combining parsers of one family into an ensemble."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from depkit.parsers.config import Calibration, Mean, ParserConfig
from depkit.parsers.families import get_family
from depkit.parsers.family import CombinationError

if TYPE_CHECKING:
    from depkit.parsers.base import Parser

NOT_CALIBRATED = Calibration()


def combine(
    members: Sequence["Parser"],
    mean: Mean | None = None,
    calibration: Calibration = NOT_CALIBRATED,
) -> "Parser":
    """Combine parsers into one parser, which averages their probabilities.

    Args:
        members: One or more parsers; an ensemble among several parsers counts as one member. A
            single parser is returned unchanged, unless it is an ensemble and `mean` differs.
        mean: The mean of the probabilities. The default is "arithmetic" or, for a single ensemble,
            the mean of that ensemble.
        calibration: The temperatures of the ensemble. Those of its members do not apply to it,
            because its probabilities are different.

    Raises:
        CombinationError: See `check_combination`.
    """
    first = members[0]
    check_combination([member.config for member in members])
    if len(members) == 1 and mean in (None, getattr(first, "mean", mean)):
        return first
    return get_family(first.config).combine(members, mean, calibration)


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
