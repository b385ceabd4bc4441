"""Lists of words of many languages, of which a tokenizer uses those of its treebanks' language."""

from importlib.resources import files


def read_word_list(name: str) -> list[list[str]]:
    """Return the words of each line of a file in this folder, without lines of comments."""
    lines = files("depkit.training").joinpath(name).read_text("utf-8").splitlines()
    return [line.split() for line in lines if not line.startswith("#")]
