"""depkit: train, run and evaluate dependency parsers.

    import depkit

    parser = depkit.load()  # the bundled English model, or depkit.load("en.model")
    depkit.write(parser.parse(parser.read("in.txt")), "out.conllu")
    print(depkit.evaluate("gold.conllu", "out.conllu").LAS)
    model = depkit.train(train=["train.conllu"], dev="dev.conllu", output="en.model")

`read` gives the sentences of a file one by one, `write` writes sentences, `load` gives the
parser in a model directory, whose `read` and `tokenize` make sentences of text, `evaluate`
scores parsed files, `train` makes a model directory as `depkit train` does; `Sentence` and
`FormatError` are what they deal in. Everything is imported when it is first used, so that
`import depkit` costs nothing and only `load` and `train` need torch.
"""

from typing import TYPE_CHECKING, Any

from depkit.version import __version__

__all__ = ["FormatError", "Sentence", "__version__", "evaluate", "load", "read", "train", "write"]

if TYPE_CHECKING:
    from depkit.corpus.errors import FormatError
    from depkit.corpus.files import read, write
    from depkit.corpus.sentence import Sentence
    from depkit.parsers.model_directory import load
    from depkit.score.attachment import evaluate
    from depkit.training.run import train

_PLACES = {
    "FormatError": "depkit.corpus.errors",
    "Sentence": "depkit.corpus.sentence",
    "evaluate": "depkit.score.attachment",
    "load": "depkit.parsers.model_directory",
    "read": "depkit.corpus.files",
    "train": "depkit.training.run",
    "write": "depkit.corpus.files",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _PLACES:
        raise AttributeError(f"module 'depkit' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_PLACES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
