"""The options of the parser in a request, such as `best=3;prob`: arguments of `Parser.parse`.

They are written as UDPipe writes options. Options that take long, such as marginal probabilities,
are left out, because all requests share one thread.
"""

from typing import Any

MAX_BEST = 10  # trees of a sentence


def read_parser_options(text: str) -> dict[str, Any]:
    """Return the arguments of `Parser.parse`. Raises ValueError."""
    arguments: dict[str, Any] = {}
    for option in filter(None, (part.strip() for part in text.split(";"))):
        name, _, value = option.partition("=")
        if name == "best" and value in map(str, range(1, MAX_BEST + 1)):
            arguments["best"] = int(value)
        elif option == "prob":
            arguments["prob"] = True
        elif option == "heads=keep":
            arguments["heads"] = "keep"
        else:
            raise ValueError(
                f"the parser has no option {option[:100]!r}; it can be best=N (N is from 1 to"
                f" {MAX_BEST}), heads=keep or prob"
            )
    return arguments
