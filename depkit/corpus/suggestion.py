"""Error messages for unknown names, with the names that may have been meant."""

from collections.abc import Iterable


def unknown(what: str, name: str, known: Iterable[str], listed: Iterable[str] = ()) -> str:
    """ "no recipe 'selfat'; did you mean selfatt?" or, if none is similar, the names in `listed`.

    A name without a dot is compared with the last parts of the known names, so that for the setting
    "layer" encoder.layers is suggested.
    """
    from difflib import get_close_matches

    whole = "." in name
    parts = {each: each if whole else each.rpartition(".")[2] for each in known}
    best = get_close_matches(name, parts.values(), 1, 0.8 if whole else 0.6)
    found = sorted((each for each, part in parts.items() if part in best), key=len)
    meant = " or ".join(found[:3])
    names = ", ".join(listed)
    advice = f"; did you mean {meant}?" if meant else f"; there are {names}" if names else ""
    return f"no {what} {name!r}{advice}"
