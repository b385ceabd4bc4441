"""depkit: train, run and evaluate dependency parsers.

    >>> import depkit
    >>> parser = depkit.load()  # the bundled English parser, or that of a directory
    >>> sentences = parser("The cat sat on the mat. It was asleep.")
    >>> for word in sentences[1]:
    ...     print(word.id, word.form, word.lemma, word.upos, word.head_id, word.deprel)
    1 It it PRON 3 nsubj
    2 was be AUX 3 cop
    3 asleep asleep ADJ 0 root
    4 . . PUNCT 3 punct
    >>> depkit.write(parser.parse(sentences), "parsed.conllu")
    2
    >>> depkit.evaluate("parsed.conllu", sentences).LAS
    100.0

Parse: `load` returns a `Parser`; `parser(...)` returns a list of `Sentence`s, `parser.parse(...)`
yields them one by one. `choose_model` returns the name of the model for the language of a text.
`read` and `write` are for files, `show` and notebooks draw trees. A
sentence is a sequence of `Word`s, see `help(depkit.Word)`; it can be edited. `to_dict` makes tables
for data frames, `to_spacy` documents of spaCy, `Sentence.to_token_list` lists of conllu.

Evaluate: `evaluate`, `analyze`, `confusion`, `plot`, `report`.

Treebanks: `convert`, `check`, `stats`, `search`, `edit`, `suspects`.

Train: `train`, `export`.

`help(depkit.NAME)` describes a function, with an example. Names are imported when they are first
used. Errors in data, settings and files are OSErrors or ValueErrors, such as `FormatError`.
"""

from typing import TYPE_CHECKING, Any

from depkit.corpus import notebook
from depkit.version import __version__

if TYPE_CHECKING:
    from depkit.convert.treebank import convert
    from depkit.corpus.io import read, write
    from depkit.corpus.sentence import Sentence
    from depkit.corpus.spacy_documents import to_spacy
    from depkit.corpus.table import to_dict
    from depkit.corpus.word import Word
    from depkit.drawing.plot_analysis import plot
    from depkit.drawing.report.write import report
    from depkit.drawing.trees.terminal import show
    from depkit.ensemble.suspects import suspects
    from depkit.files.errors import DataError, FormatError
    from depkit.parsers.base import Parser
    from depkit.parsers.export import export
    from depkit.parsers.inputs.transformer import TransformerError
    from depkit.parsers.loading import load
    from depkit.parsers.model_directory import ModelError
    from depkit.parsers.settings import ConfigError
    from depkit.parsers.text.language import choose_model
    from depkit.score.evaluation import Evaluation
    from depkit.score.evaluators import evaluate
    from depkit.score.mistakes import confusion
    from depkit.score.report import analyze
    from depkit.training.origin import ResumeError
    from depkit.training.plan import TrainingError
    from depkit.training.run import train
    from depkit.treebank.check import check
    from depkit.treebank.edit.edit import edit
    from depkit.treebank.search.pattern import PatternError
    from depkit.treebank.search.search import Match, search
    from depkit.treebank.statistics import stats

__all__ = [
    "ConfigError", "DataError", "Evaluation", "FormatError", "Match", "ModelError", "Parser",
    "PatternError", "ResumeError", "Sentence", "TrainingError", "TransformerError", "Word",
    "__version__", "analyze", "check", "choose_model", "confusion", "convert", "edit", "evaluate",
    "export", "load", "plot", "read", "report", "search", "show", "stats", "suspects", "to_dict",
    "to_spacy", "train", "write",
]  # fmt: skip

_MODULES = {
    "ConfigError": "depkit.parsers.settings",
    "DataError": "depkit.files.errors",
    "Evaluation": "depkit.score.evaluation",
    "FormatError": "depkit.files.errors",
    "Match": "depkit.treebank.search.search",
    "ModelError": "depkit.parsers.model_directory",
    "Parser": "depkit.parsers.base",
    "PatternError": "depkit.treebank.search.pattern",
    "ResumeError": "depkit.training.origin",
    "Sentence": "depkit.corpus.sentence",
    "TrainingError": "depkit.training.plan",
    "TransformerError": "depkit.parsers.inputs.transformer",
    "Word": "depkit.corpus.word",
    "analyze": "depkit.score.report",
    "check": "depkit.treebank.check",
    "choose_model": "depkit.parsers.text.language",
    "confusion": "depkit.score.mistakes",
    "edit": "depkit.treebank.edit.edit",
    "evaluate": "depkit.score.evaluators",
    "export": "depkit.parsers.export",
    "load": "depkit.parsers.loading",
    "plot": "depkit.drawing.plot_analysis",
    "read": "depkit.corpus.io",
    "report": "depkit.drawing.report.write",
    "search": "depkit.treebank.search.search",
    "show": "depkit.drawing.trees.terminal",
    "stats": "depkit.treebank.statistics",
    "suspects": "depkit.ensemble.suspects",
    "to_dict": "depkit.corpus.table",
    "to_spacy": "depkit.corpus.spacy_documents",
    "train": "depkit.training.run",
    "write": "depkit.corpus.io",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    from importlib import import_module

    if name == "convert":
        return import_module("depkit.convert")  # the package, which can be called
    if name not in _MODULES:
        raise AttributeError(f"module 'depkit' has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)


def _draw(sentence: "Sentence") -> str:
    from depkit.drawing.trees.svg import draw_sentence

    return draw_sentence(sentence)


notebook.draw = _draw
