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
