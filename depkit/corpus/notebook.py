"""A hook with the function that draws a sentence in a notebook.

The package `depkit` sets it, because modules of `depkit.corpus` must not import `depkit.drawing`.
"""

from collections.abc import Callable
from typing import Any

draw: Callable[[Any], str] | None = None  # from a Sentence to SVG
