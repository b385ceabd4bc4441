"""depkit: train, run and evaluate dependency parsers.

`load` loads the bundled English parser, or the parser in a model directory. A parser that is called
with a text returns its sentences. A sentence is a sequence of words, and a word has a head and
children:

    >>> import depkit
    >>> parser = depkit.load()
    >>> sentences = parser("The cat sat on the mat. It was asleep.")
    >>> len(sentences), sentences[0].text
    (2, 'The cat sat on the mat.')
    >>> for word in sentences[0]:
    ...     print(word.id, word.form, word.upos, word.head_id, word.deprel)
    1 The DET 2 det
    2 cat NOUN 3 nsubj
    3 sat VERB 0 root
    4 on ADP 6 case
    5 the DET 6 det
    6 mat NOUN 3 obl
    7 . PUNCT 3 punct
    >>> cat = sentences[0][1]
    >>> cat.head
    <Word 3 sat: VERB, root>
    >>> [child.form for child in cat.head.children]
    ['cat', 'mat', '.']
    >>> sentences[0].head  # the column HEAD
    (2, 3, 0, 6, 6, 3, 3)

`show` draws trees in the terminal; a notebook draws the tree of any sentence that it displays:

    >>> depkit.show(sentences[1])
    # sentence 1 (sent_id 1-2)
    # It was asleep.
                 root
      ╭──nsubj───╮ │
      │    ╭─cop─┤ │ ╭─punct─╮
      ▼    ▼     │ ▼ │       ▼
     It   was   asleep       .
    PRON  AUX     ADJ      PUNCT

`parser.parse` yields sentences one by one, so that any number of sentences can be parsed in little
memory. `read` yields the sentences of a treebank, `parser.read` those of a treebank or of raw text,
and `write` writes sentences to a file:

    >>> depkit.write(parser.parse(sentences), "parsed.conllu")
    2
    >>> for sentence in depkit.read("parsed.conllu"):
    ...     print(sentence.sent_id, sentence.deprel)
    1-1 ('det', 'nsubj', 'root', 'case', 'det', 'obl', 'punct')
    1-2 ('nsubj', 'cop', 'root', 'punct')

Sentences can be edited; what is assigned to a word is also what is written. They can also be made
from words:

    >>> sentence = depkit.Sentence.from_words(["Stop", "it"], head=[0, 1], deprel=["root", "obj"])
    >>> sentence[0].upos = "VERB"
    >>> print(str(sentence).expandtabs(6).rstrip())
    1     Stop  _     VERB  _     _     0     root  _     _
    2     it    _     _     _     _     1     obj   _     _

Words have further attributes, and sentences can be converted for other packages:

    >>> cat = sentences[0][1]
    >>> cat.features
    {'Number': 'Sing'}
    >>> [word.form for word in cat.subtree], [word.form for word in cat.ancestors]
    (['The', 'cat'], ['sat'])
    >>> text, offsets = sentences[0].text_with_offsets()
    >>> text[cat.start : cat.end], offsets[:3]
    ('cat', [(0, 3), (4, 7), (8, 11)])
    >>> frame = sentences[0].to_dict()  # the columns, for pandas.DataFrame
    >>> frame["upos"][:3], frame["head"][:3]
    (['DET', 'NOUN', 'VERB'], [2, 3, 0])
    >>> tokens = sentences[0].to_token_list()  # of the package conllu
    >>> depkit.Sentence.from_token_list(tokens).form == sentences[0].form
    True

`search` finds a pattern of Grew's query language in a file or in sentences:

    >>> for match in depkit.search("pattern { V -[nsubj]-> N; N << V }", "parsed.conllu"):
    ...     print(match, match["V"].form, match["N"].form)
    V:3 N:2 sat cat
    V:3 N:1 asleep It

`edit` rewrites sentences by rules of the same language:

    >>> rules = "pattern { e: V -[obl]-> N } commands { e.2 = loc }"
    >>> [sentence.deprel[5] for sentence in depkit.edit(rules, sentences[:1])]
    ['obl:loc']

`evaluate` scores trees against gold trees, and `analyze` breaks the scores down:

    >>> chains = [sentence.with_tree([*range(2, len(sentence) + 1), 0], sentence.deprel)
    ...           for sentence in sentences]  # each word depends on the next
    >>> round(depkit.evaluate("parsed.conllu", chains).UAS, 1)
    36.4
    >>> rows = depkit.analyze("parsed.conllu", chains, by="distance", metric="UAS")
    >>> [(row["bin"], row["gold"], row["recall"]) for row in rows]
    [('root', 2, 0.0), ('1', 5, 80.0), ('2', 2, 0.0), ('3', 1, 0.0), ('4', 1, 0.0)]

`train` trains a model as `depkit train` does, and `to_spacy` converts sentences to spaCy documents:

    >>> depkit.train("train.conllu", dev="dev.conllu", output="my.model")  # doctest: +SKIP
    >>> docs = depkit.to_spacy(sentences, spacy.blank("en").vocab)  # doctest: +SKIP

Names are imported when they are first used, so that `import depkit` is fast and only the parsers
import torch. Errors in data, settings and files are OSErrors or ValueErrors; the most important
subclasses of ValueError can be imported from here.
"""

from typing import TYPE_CHECKING, Any

from depkit.corpus import notebook
from depkit.version import __version__

if TYPE_CHECKING:
    from depkit.corpus.io import read, write
    from depkit.corpus.sentence import Sentence
    from depkit.corpus.spacy_documents import to_spacy
    from depkit.corpus.word import Word
    from depkit.drawing.trees.terminal import show
    from depkit.files.errors import DataError, FormatError
    from depkit.parsers.base import Parser
    from depkit.parsers.inputs.transformer import TransformerError
    from depkit.parsers.loading import load
    from depkit.parsers.model_directory import ModelError
    from depkit.parsers.settings import ConfigError
    from depkit.score.evaluation import Evaluation
    from depkit.score.evaluators import evaluate
    from depkit.score.report import analyze
    from depkit.training.origin import ResumeError
    from depkit.training.plan import TrainingError
    from depkit.training.run import train
    from depkit.treebank.edit.edit import edit
    from depkit.treebank.search.pattern import PatternError
    from depkit.treebank.search.search import Match, search

__all__ = [
    "ConfigError", "DataError", "Evaluation", "FormatError", "Match", "ModelError", "Parser",
    "PatternError", "ResumeError", "Sentence", "TrainingError", "TransformerError", "Word",
    "__version__", "analyze", "edit", "evaluate", "load", "read", "search", "show", "to_spacy",
    "train", "write",
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
    "edit": "depkit.treebank.edit.edit",
    "evaluate": "depkit.score.evaluators",
    "load": "depkit.parsers.loading",
    "read": "depkit.corpus.io",
    "search": "depkit.treebank.search.search",
    "show": "depkit.drawing.trees.terminal",
    "to_spacy": "depkit.corpus.spacy_documents",
    "train": "depkit.training.run",
    "write": "depkit.corpus.io",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module 'depkit' has no attribute {name!r}")
    from importlib import import_module

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
