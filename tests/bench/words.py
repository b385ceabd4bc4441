"""Reduce the vocabulary of the student of a transformer, so that its model is smaller.

python -m tests.bench words MODEL --keep N [--scripts M] TREEBANK... -o DIR

The text that MODEL has read in its training has many words of its subject, such as the menus that
manuals name. DIR gets the model with N words: first those that occur twice in the treebanks, then
others, of which an occurrence in the treebanks counts as much as TREEBANK_WEIGHT in the text. Words
that are left out become unknown words, which the model has met in training, too. With --scripts,
the network predicts only the M most frequent edit scripts of lemmas; the lemma dictionary stays.
"""

import argparse
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from depkit import export, read
from depkit.files.atomic import atomic_directory
from depkit.parsers.inputs.tables import SPECIAL, Table
from depkit.parsers.model_directory import (
    WEIGHTS,
    model_files,
    read_vocabulary,
    write_vocabulary,
)

TREEBANK_WEIGHT = 8
LEMMA_SCORES = "columns.lemma.1."  # weights of the layer that scores edit scripts, in eight bits
TEXT = "text/*.conllu"  # the text that a student has read, in its directory


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench words", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("treebanks", nargs="+", type=Path)
    parser.add_argument("--keep", type=int, required=True, metavar="N")
    parser.add_argument("--scripts", type=int, metavar="M")
    parser.add_argument("-o", dest="output", type=Path, required=True)
    arguments = parser.parse_args(argv)
    treebanks = count_words(arguments.treebanks)
    text = count_words(arguments.model.glob(TEXT))
    vocabulary = read_vocabulary(arguments.model)
    words = vocabulary.words.symbols
    kept = choose_words(words, arguments.keep, treebanks, text)
    vocabulary.tables["words"] = Table([words[i] for i in kept])
    with atomic_directory(arguments.output) as directory:
        for path in model_files(arguments.model):
            shutil.copy(path, directory)
        weights = load_file(directory / WEIGHTS)
        for name in [name for name in weights if name.startswith("inputs.word.")]:
            weights[name] = np.ascontiguousarray(weights[name][kept])
        if arguments.scripts:
            scripts = vocabulary.columns["lemma"].symbols[: arguments.scripts]
            vocabulary.columns["lemma"] = Table(scripts)
            for name in [name for name in weights if name.startswith(LEMMA_SCORES)]:
                weights[name] = np.ascontiguousarray(weights[name][..., : len(scripts)])
        save_file(weights, directory / WEIGHTS)
        write_vocabulary(directory, vocabulary, packed=True)
        export(directory)
    print(f"{len(kept):,} of {len(words):,} words are left")


def count_words(files: Iterable[Path]) -> Counter[str]:
    return Counter(form.lower() for file in files for x in read(file) for form in x.form)


def choose_words(
    words: Sequence[str], number: int, treebanks: Counter[str], text: Counter[str]
) -> list[int]:
    """Return the indices of the most useful words of a vocabulary, in their order.

    treebanks, text: how often words occur in them.
    """

    def rank(index: int) -> tuple[bool, bool, int]:
        word = words[index]
        count = TREEBANK_WEIGHT * treebanks[word] + text[word]
        return index >= len(SPECIAL), treebanks[word] < 2, -count

    return sorted(sorted(range(len(words)), key=rank)[:number])
