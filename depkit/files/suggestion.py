"""Error messages for unknown names, with suggestions of similar names."""

from collections.abc import Iterable


def describe_unknown(kind: str, name: str, known: Iterable[str], listed: Iterable[str] = ()) -> str:
    """Write an error message for an unknown name, with up to three similar names.

    For example: "there is no recipe 'selfat'; did you mean selfatt?" A name without a dot is
    compared with the last parts of the known names: for the setting "layer", encoder.layers is
    suggested.

    Args:
        kind: The kind of name, such as "recipe".
        name: The unknown name.
        known: All names that may be suggested.
        listed: The names to list if no known name is similar.
    """
    from difflib import get_close_matches

    has_dot = "." in name
    # The hyphens before options would make all of them similar.
    parts = {full: (full if has_dot else full.rpartition(".")[2]).lstrip("-") for full in known}
    best = get_close_matches(name.lstrip("-"), parts.values(), 1, 0.8 if has_dot else 0.6)
    similar = sorted((full for full, part in parts.items() if part in best), key=len)
    suggested = " or ".join(similar[:3])
    names = ", ".join(listed)
    if suggested:
        advice = f"; did you mean {suggested}?"
    else:
        advice = f"; choose from {names}" if names else ""
    return f"there is no {kind} {name!r}{advice}"
