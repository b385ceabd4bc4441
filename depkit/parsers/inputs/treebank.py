"""The input of the treebank that a sentence is from (Stymne et al. 2018)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.files.bounds import setting
from depkit.parsers.inputs.part import EncodingInput, Part, Rows
from depkit.parsers.inputs.tables import TableRule

if TYPE_CHECKING:
    from depkit.parsers.inputs.vocabulary import Vocabulary

# The suffixes of files of sentences; others are a part of the name, as in wiki.de.
_SUFFIX = re.compile(
    r"(\.(conll\w*|cupt|tsv|txt|parquet|jsonl?|mrg|ptb|brackets))?(\.(gz|xz))?$", re.IGNORECASE
)
# The end of a file's name that says which part of a treebank is in the file. Universal Dependencies
# has some large treebanks in several files, such as cs_pdt-ud-train-c.conllu.
_PART = re.compile(
    r"(?:^|[-_.])(?:ud[-_.](?:train|dev|test)(?:[-_.].*)?"
    r"|(?:train|dev|test)(?:[-_.](?:[a-z]|\d{1,9}))?)$",
    re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True)
class TreebankSettings:
    """The settings of section inputs for treebanks."""

    # size of a vector of the treebank that a sentence is from, for training on several treebanks
    # (Stymne et al. 2018). The name of a treebank is that of its file without the extension and
    # without -ud-train, -train, -dev, -ud-train-a, -train-2 and the like; that of ewt/train.conllu
    # is ewt.
    treebank: int = 0
    # the treebank whose vector is used in parsing; "" takes the name of the file, or the largest
    # treebank if there was none of this name in training
    treebank_name: str = setting("", needs="treebank", at_test_time=True)


class Treebank(Part):
    """Embeddings of treebanks. A sentence of an unknown one is read as one of the largest."""

    settings = TreebankSettings
    inputs: TreebankSettings
    name = main_setting = "treebank"
    group = "treebank"
    table = "treebanks"  # their names, the largest first
    is_combined = False

    @property
    def depends_on_form(self) -> bool:  # type: ignore[override]
        """Whether all words are read as those of one treebank, whatever file they are from."""
        return bool(self.inputs.treebank_name)

    def table_rule(self) -> TableRule | None:
        return TableRule(self.table, lambda s: [treebank_name(s)]) if self.size else None

    def encode(self, source: EncodingInput, vocabulary: "Vocabulary") -> dict[str, Rows]:
        indices = dict(vocabulary.tables[self.table].indices)
        # A model can know a treebank by the name of one of its files, such as cs_pdt-ud-train-c.
        for name, index in list(indices.items()):
            indices.setdefault(_name_of_file(name), index)
        entries = [0]
        for sentence in source.sentences:
            names = [self.inputs.treebank_name]
            if not names[0]:
                names = [_SUFFIX.sub("", Path(sentence.file).name), treebank_name(sentence)]
            index = next((indices[name] for name in names if name in indices), 0)
            entries += [index] * (1 + len(sentence))
        return {"treebank": np.array(entries, dtype=np.int64)}

    def findings(self, train: Sequence[Sentence], dev: Sequence[Sentence]) -> list[str]:
        """Report the treebanks of dev that are not in train, if there is a choice."""
        known = sorted(set(map(treebank_name, train)))
        unknown = sorted(set(map(treebank_name, dev)) - set(known))
        if not unknown or len(known) == 1:
            return []
        names, others = ", ".join(map(repr, known)), ", ".join(map(repr, unknown))
        verb = "are" if len(unknown) > 1 else "is"
        return [
            f"dev: {others} {verb} not among the treebanks of train, which are {names}; a model"
            " parses sentences of unknown treebanks as those of its largest one. Treebanks are"
            " named after their files, see inputs.treebank"
        ]

    def module(self, vocabulary: "Vocabulary", transformer: Any) -> Any:
        from torch import nn

        return nn.Embedding(len(vocabulary.tables[self.table]), self.size)

    def vectors(self, module: Any, batch: Any) -> Any:
        return module(batch["treebank"])


def treebank_name(sentence: Sentence) -> str:
    """Return the name of the treebank of a sentence, from its file; "" if there is no file.

    The names of en_ewt-ud-train.conllu, en_ewt-ud-dev.conllu and en_ewt-ud-train-a.txt.gz are all
    en_ewt; the name of ewt/train.conllu is ewt.
    """
    return _name_of_file(sentence.file)


@lru_cache
def _name_of_file(file: str) -> str:
    path = Path(file)
    stem = _SUFFIX.sub("", path.name)
    name = stem[: match.start()] if (match := _PART.search(stem)) else stem
    # All parts of a treebank have one name, even if the path does not have the name of the folder.
    return name or path.parent.name or ("train" if match else "")
