"""The types of the arguments of `Parser.parse`, for editors and type checkers."""

from collections.abc import Iterable
from typing import Literal, TypedDict

import numpy as np

Tags = Literal["missing", "predict", "keep"]
Decode = Literal["mst", "eisner", "argmax", "mbr"]
Root = Literal["auto", "single", "multi"]
Prob = bool | Literal["local", "marginal"]
Heads = Literal["predict", "keep"]
Valid = Literal["", "ud"]
# Other names of two arguments: their former names, which the families still use
OTHER_NAMES = {"decode": "algorithm", "prob": "probabilities"}


class ParseOptions(TypedDict, total=False):
    """The keyword arguments of `Parser.parse`."""

    decode: Decode | None
    root: Root | None
    prob: Prob
    passes: int
    heads: Heads
    best: int
    valid: Valid
    batch_tokens: int | None
    context: Iterable[np.ndarray] | None
    stream: bool | None
    algorithm: str | None
    probabilities: str


def choose_probabilities(prob: Prob, probabilities: str) -> str:
    """Return "local", "marginal" or "" for the argument `prob` and its former name.

    Raises ValueError if they contradict each other.
    """
    kind = prob if isinstance(prob, str) else "local" * bool(prob)
    if kind and probabilities and kind != probabilities:
        raise ValueError("`prob` and its former name `probabilities` contradict each other")
    return kind or probabilities


def choose_decoder(decode: str | None, algorithm: str | None) -> str | None:
    """Return the value of the argument `decode` or of its former name, as above."""
    if decode and algorithm and decode != algorithm:
        raise ValueError("`decode` and its former name `algorithm` contradict each other")
    return decode or algorithm
