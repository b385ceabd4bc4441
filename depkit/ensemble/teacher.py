"""A parser as a teacher: what it thinks of sentences, packed, and the trees that it would write."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch

from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parser
from depkit.parsers.graph.decoding import Decoding
from depkit.parsers.inputs.soft_targets import LARGEST, pack, places
from depkit.parsers.inputs.vocabulary import values_of
from depkit.parsers.model_directory import (
    CONFIG,
    ENSEMBLE,
    TOKENIZER,
    TRANSFORMER,
    VOCABULARY,
    WEIGHTS,
    read_ensemble,
)

# Sentences -> packed rows of their words, [words, width] uint16; their gold heads are kept or not.
Teach = Callable[[Sequence[Sentence], bool], np.ndarray]


class TeacherError(ValueError):
    """A parser that cannot be learnt from."""


def check_teacher(parser: Parser) -> None:
    """Raises TeacherError for a parser that can't parse words alone, or has too many symbols."""
    for each in (parser, *getattr(parser, "members", ())):
        if not each.config.scorer.tree:
            raise TeacherError("the teacher is a tagger, it predicts no trees; name a parser")
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


def columns_of(parser: Parser) -> list[str]:
    """The names of what a teacher's rows hold, in their order."""
    return ["head", "deprel", *parser.config.scorer.predict]


def make_teach(parser: Parser, batch_tokens: int | None = None) -> Teach:
    """What teaches sentences, one call after the other; see `pack` for what it gives.

    Relations are those at the teacher's heads, as it decodes them; with gold heads kept, at
    these, where a word has one. Raises MemoryError as `Parser.parse`.
    """

    def teach(sentences: Sequence[Sentence], gold: bool) -> np.ndarray:
        def analyse(
            prepared: Any, numbers: np.ndarray, batch: Sequence[Sentence]
        ) -> list[np.ndarray]:
            found = _rows(parser, prepared, numbers, batch, gold)
            return [row[1 : len(each) + 1] for row, each in zip(found, batch, strict=True)]

        return np.concatenate(list(parser.over(sentences, analyse, batch_tokens)))

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
    parser: Parser, prepared: Any, numbers: np.ndarray, batch: Sequence[Sentence], gold: bool
) -> np.ndarray:
    """The packed rows of a batch, [batch, length, width]."""
    scores = parser.scores_of(prepared, numbers)
    decoder = parser.config.decoder
    decoding = Decoding(decoder.algorithm, decoder.root == "single")
    heads = parser.decoded(scores.arc, np.array(list(map(len, batch))), decoding)
    if gold:
        given = _gold_heads(batch)
        known = given >= 0
        heads[:, : given.shape[1]][known] = given[known]
    at = torch.as_tensor(heads, device=parser.device, dtype=torch.int64).clamp(min=0)
    columns = [scores.columns[name] for name in parser.config.scorer.predict]
    others = [parser.barred(scores.label_at(at), at), *columns]
    packed = pack(at, [each.softmax(-1) for each in (scores.arc, *others)])
    return packed.to(torch.int32).cpu().numpy().astype(np.uint16)


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
    digest = sha256()
    for path in _parts_of(directory):
        digest.update(str(path.relative_to(directory)).encode("utf-8", "surrogateescape"))
        with open(path, "rb") as file:
            for chunk in iter(lambda: file.read(1 << 20), b""):
                digest.update(chunk)
    return digest.hexdigest()[:16]


def _parts_of(directory: Path) -> list[Path]:
    """The files that a model is loaded from; others may stand beside them."""
    names = [CONFIG, VOCABULARY, WEIGHTS, TOKENIZER]
    parts = [directory / name for name in names] + sorted((directory / TRANSFORMER).glob("*"))
    if (directory / ENSEMBLE).is_file():
        members = [directory / name for name in read_ensemble(directory).members]
        parts = [directory / ENSEMBLE, directory / TOKENIZER]
        parts += chain.from_iterable(map(_parts_of, members))
    return [path for path in parts if path.is_file()]
