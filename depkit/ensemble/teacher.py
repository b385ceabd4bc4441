"""A parser as a teacher: what it thinks of sentences, packed, and the trees that it would write."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from depkit.corpus.digest import digest, digest_of_files
from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parser
from depkit.parsers.graph.decoding import decode_heads
from depkit.parsers.graph.parser import GraphParser
from depkit.parsers.inputs.soft_targets import LARGEST, pack, places
from depkit.parsers.inputs.vocabulary import values_of
from depkit.parsers.model_directory import CARD, model_files

# Sentences -> packed rows of their words, [words, width] uint16; their gold heads are kept or not.
Teach = Callable[[Sequence[Sentence], bool], np.ndarray]


class TeacherError(ValueError):
    """A parser that cannot be learnt from."""


def check_teacher(parser: Parser) -> GraphParser:
    """The parser, as one that can teach.

    Raises TeacherError for another kind of parser, one that can't parse words alone, and one with
    too many symbols.
    """
    if not isinstance(parser, GraphParser):
        raise TeacherError(
            f"the teacher is of the family {parser.config.family}; name a biaffine dependency"
            " parser"
        )
    for each in (parser, *getattr(parser, "members", ())):
        if each.config.inputs.tag:
            raise TeacherError(
                "the teacher reads tags, which text has not; name one that reads words alone"
            )
        if each.config.inputs.context.source == "elmo":
            raise TeacherError(
                "the teacher reads ELMo vectors, which text has not; name one that reads words"
            )
    for name, table in parser.vocabulary.columns.items():
        if len(table) > LARGEST:
            raise TeacherError(f"the teacher has {len(table)} symbols of {name}, at most {LARGEST}")
    return parser


def columns_of(parser: Parser) -> list[str]:
    """The names of what a teacher's rows hold, in their order."""
    return ["head", "deprel", *parser.config.predicted_tags]


def make_teach(parser: GraphParser, batch_tokens: int | None = None) -> Teach:
    """What teaches sentences, one call after the other; see `pack` for what it gives.

    Relations are those at the teacher's heads, as it decodes them; with gold heads kept, at
    these, where a word has one. Raises MemoryError as `Parser.parse`.
    """

    def teach(sentences: Sequence[Sentence], gold: bool) -> np.ndarray:
        compute = partial(_rows, parser, gold=gold)
        return np.concatenate(list(parser.map_batches(sentences, compute, batch_tokens)))

    return teach


def _gold_heads(sentences: Sequence[Sentence]) -> np.ndarray:
    """[batch, 1 + longest], -1 where a word has no head, or a broken treebank gives it itself."""
    heads = np.full((len(sentences), 1 + max(map(len, sentences))), -1, dtype=np.int64)
    for row, sentence in zip(heads, sentences, strict=True):
        row[1 : len(sentence) + 1] = sentence.head
    heads[heads == np.arange(heads.shape[1])] = -1
    return heads


@torch.inference_mode()
def _rows(
    parser: GraphParser, batch: Any, sentences: Sequence[Sentence], gold: bool
) -> list[np.ndarray]:
    """The packed rows of the sentences of a batch, [words, width] each."""
    scores = parser.score(batch)
    heads = decode_heads(scores.arc, np.array(list(map(len, sentences))), parser.decoding)
    if gold:
        given = _gold_heads(sentences)
        known = given >= 0
        heads[:, : given.shape[1]][known] = given[known]
    at, label = parser.label_scores(scores, heads)
    columns = [scores.columns[name] for name in parser.config.predicted_tags]
    packed = pack(at, [each.softmax(-1) for each in (scores.arc, label, *columns)])
    rows = packed.to(torch.int32).cpu().numpy().astype(np.uint16)
    return [row[1 : len(each) + 1] for row, each in zip(rows, sentences, strict=True)]


def as_parsed(sentence: Sentence, rows: np.ndarray, parser: Parser) -> Sentence:
    """A sentence with the teacher's tree and tags, those of its rows without gold heads."""
    columns = {}
    for i, name in enumerate(columns_of(parser)[1:], start=1):
        table = parser.vocabulary.columns[name]
        best = [table.symbols[number] for number in rows[:, places(i)[0].start].tolist()]
        columns[name] = best if name == "deprel" else values_of(sentence, name, best)
    return sentence.with_tree(rows[:, 0].tolist(), columns.pop("deprel"), columns)


def digest_of_model(directory: Path) -> str:
    """A digest of what a model is: its configuration, vocabulary and weights, or its members'."""
    files = [path for path in model_files(directory) if path.name != CARD]
    return digest(*(str(path.relative_to(directory)) for path in files), digest_of_files(files))
