"""What draws a sentence in a notebook: a higher floor sets it, as this one knows no drawings."""

from collections.abc import Callable
from typing import Any

draw: Callable[[Any], str] | None = None  # a Sentence -> SVG; set by the package `depkit`
