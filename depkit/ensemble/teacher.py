"""A parser as a teacher: its distributions for each word, and the trees that it would predict."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from depkit.corpus.sentence import Sentence
from depkit.files.digest import digest, digest_files
from depkit.parsers.base import Parser
from depkit.parsers.columns.soft_targets import MAX_INTEGER, MAX_VALUES, column_slices
from depkit.parsers.engine.device import fetch_array
from depkit.parsers.families import get_family
from depkit.parsers.graph.parser import GraphParser
from depkit.parsers.inputs.vocabulary import column_values
from depkit.parsers.model_directory import CARD, model_files

# Maps sentences to the packed rows of their words, [words, width] uint16. The second argument is
# whether the label distributions are conditioned on gold heads; see `make_row_function`.
RowFunction = Callable[[Sequence[Sentence], bool], np.ndarray]


class TeacherError(ValueError):
    """The parser cannot be a teacher."""


def check_teacher(parser: Parser) -> GraphParser:
    """Return the parser, checked to be a possible teacher.

    Raises TeacherError if it is not a biaffine dependency parser, reads more than words, or has
    more labels or tags than a row can represent.
    """
    if not get_family(parser.config).can_distill:
        raise TeacherError(
            f"the teacher is a model of the family {parser.config.family}; name a biaffine"
            " dependency parser"
        )
    for member in (parser, *parser.members):
        if member.config.inputs.tag:
            raise TeacherError(
                "the teacher reads tags, which raw text does not have; name a model that reads"
                " only words"
            )
        if member.config.inputs.draft:
            raise TeacherError(
                "the teacher corrects parses, which raw text does not have; name a model that"
                " reads only words"
            )
        if member.config.inputs.context.source == "elmo":
            raise TeacherError(
                "the teacher reads ELMo vectors, which raw text does not have; name a model that"
                " reads only words"
            )
    for name, table in parser.vocabulary.columns.items():
        if len(table) > MAX_INTEGER:
            raise TeacherError(
                f"the teacher predicts {len(table)} values of {name}; distillation supports at"
                f" most {MAX_INTEGER}"
            )
    return cast(GraphParser, parser)


def row_columns(parser: Parser) -> list[str]:
    """Return the names of the columns whose distributions a teacher's rows contain, in order."""
    return ["head", "deprel", *parser.config.predicted_tags]


def make_row_function(parser: GraphParser, batch_tokens: int | None = None) -> RowFunction:
    """Return a function that computes a teacher's rows; `teacher.pack` describes them.

    Its arguments are sentences and whether to use gold heads. Label distributions are those at
    the heads that the teacher decodes or, with gold heads, at the gold head of each word that has
    one. The function raises MemoryError as `Parser.parse` does.
    """

    def compute_rows(sentences: Sequence[Sentence], gold: bool) -> np.ndarray:
        compute = partial(_batch_rows, parser, gold=gold)
        return np.concatenate(list(parser.map_batches(sentences, compute, batch_tokens)))

    return compute_rows


def _gold_heads(sentences: Sequence[Sentence]) -> np.ndarray:
    """Return gold heads, [batch, 1 + longest].

    The head is -1 for w0, for padding, and for a word without a head or with itself as the head.
    """
    heads = np.full((len(sentences), 1 + max(map(len, sentences))), -1, dtype=np.int64)
    for row, sentence in zip(heads, sentences, strict=True):
        row[1 : len(sentence) + 1] = sentence.head
    heads[heads == np.arange(heads.shape[1])] = -1
    return heads


def _batch_rows(
    parser: GraphParser, batch: Any, sentences: Sequence[Sentence], gold: bool
) -> list[np.ndarray]:
    """Return the packed rows of each sentence of a batch, [words, width]."""
    scores = parser.network.score(batch)
    heads = parser.decode(scores, np.array(list(map(len, sentences))))
    if gold:
        gold_heads = _gold_heads(sentences)
        has_gold = gold_heads >= 0
        heads[:, : gold_heads.shape[1]][has_gold] = gold_heads[has_gold]
    label_head, label = scores.label_scores(heads, parser.root_label)
    tags = [scores.columns[name] for name in parser.config.predicted_tags]
    packed = pack(label_head, [column.softmax(-1) for column in (scores.arc, label, *tags)])
    rows = fetch_array(packed.to(torch.int32)).astype(np.uint16)
    return [row[1 : len(sentence) + 1] for row, sentence in zip(rows, sentences, strict=True)]


def apply_rows(sentence: Sentence, rows: np.ndarray, parser: Parser) -> Sentence:
    """Return the sentence with the teacher's tree and tags.

    rows: those of the sentence, computed without gold heads, [words, width].
    """
    columns = {}
    for i, name in enumerate(row_columns(parser)[1:], start=1):
        table = parser.vocabulary.columns[name]
        best = [table.symbols[index] for index in rows[:, column_slices(i)[0].start].tolist()]
        columns[name] = best if name == "deprel" else column_values(sentence, name, best)
    return sentence.with_tree(rows[:, 0].tolist(), columns.pop("deprel"), columns)


def digest_model(directory: Path) -> str:
    """Return a digest of the files that determine what a model predicts.

    These are its configuration, vocabulary and weights, or those of the members of an ensemble.
    """
    files = [path for path in model_files(directory) if path.name != CARD]
    return digest(*(str(path.relative_to(directory)) for path in files), digest_files(files))


def pack(label_head: Tensor, distributions: Iterable[Tensor]) -> Tensor:
    """Pack distributions into rows of small integers, [batch, length, width].

    `label_head` has the heads that the relations' distributions are for, [batch, length].
    `distributions` are those of the heads, the relations and further columns, [batch, length,
    values] each. Probabilities are rounded to multiples of 1 / MAX_INTEGER.
    """
    parts = [label_head[..., None]]
    for distribution in distributions:
        probabilities, indices = distribution.float().topk(min(MAX_VALUES, distribution.shape[-1]))
        padding = (0, MAX_VALUES - indices.shape[-1])
        rounded = (probabilities * MAX_INTEGER).round().long()
        # A value of probability 0 may be padding that a shorter batch does not have.
        indices = indices.masked_fill(rounded == 0, 0)
        parts += [functional.pad(indices, padding), functional.pad(rounded, padding)]
    return torch.cat(parts, -1)
