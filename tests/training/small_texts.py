"""Small texts as the tokens of a treebank."""

from depkit.training.passages import TextToken


def read_marked(text):
    """Make tokens of "a do+n't _. B": _ is no space before, + between words, . ends a sentence."""
    parts = text.split()
    following = [*parts[1:], ""]
    return [
        TextToken(
            part.strip("_").replace("+", ""),
            tuple(part.strip("_").split("+")),
            has_space=not after.startswith("_") and not part.endswith("_"),
            ends_sentence=part.strip("_") in {".", "!"},
            is_name=part.istitle() and "+" not in part,
        )
        for part, after in zip(parts, following, strict=True)
    ]


def write_marked(tokens):
    """The inverse of `read_marked`."""
    texts = ["+".join(token.words) + (" " if token.has_space else "_") for token in tokens]
    return "".join(texts).rstrip(" _")
