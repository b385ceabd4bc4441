"""Annotations of a treebank that are probably wrong, as `depkit suspects` lists them."""

import os
from collections.abc import Iterable, Iterator
from typing import Any

from depkit.corpus.io import PathLike
from depkit.corpus.pairing import Source, make_source, pair_sentences
from depkit.corpus.sentence import Sentence
from depkit.files.errors import FormatError
from depkit.treebank.disagreement import find_disagreements
from depkit.treebank.suspects import describe_suspects, rank_suspects
from depkit.treebank.variation import find_variation

Treebank = PathLike | Iterable[Sentence]


def suspects(
    treebank: Treebank,
    *parses: Treebank,
    model: PathLike = "",
    device: str = "auto",
    threads: int | None = None,
    encoding: str = "utf-8",
) -> list[dict[str, Any]]:
    r"""List annotations of a treebank that are probably wrong, the most suspicious first.

    >>> import depkit
    >>> words = ["He", "saw", "the", "dog", "today"]
    >>> tree = {"head": [2, 0, 4, 2, 2], "upos": ["PRON", "VERB", "DET", "NOUN", "NOUN"]}
    >>> right = {"deprel": ["nsubj", "root", "det", "obj", "obl"]} | tree
    >>> wrong = right | {"deprel": ["nsubj", "root", "case", "obj", "obl"]}
    >>> sentences = [depkit.Sentence.from_words(words, **right) for _ in range(9)]
    >>> sentences.append(depkit.Sentence.from_words(words, **wrong))
    >>> (suspect,) = depkit.suspects(sentences)
    >>> suspect["form"], suspect["gold"], suspect["alternative"]
    ('the', 'case', 'det')

    Args:
        treebank: A path or sentences.
        parses: Parses of the same words with their probabilities (`prob="local"`), of parsers that
            have not been trained on the treebank.
        model: An ensemble that was trained on the treebank; each sentence is parsed by the member
            that has not seen it.
        device: Where the ensemble runs.
        threads: The number of threads of the ensemble.
        encoding: The encoding of the files.

    Returns:
        A dict for each suspect, from which `pandas.DataFrame` makes a table.

    Raises:
        FormatError: There are no sentences, or the parses have other words.
        ConfigError: The model was not trained on this treebank.
        OSError: A file cannot be read.
    """
    gold = make_source(treebank, encoding)
    systems = [make_source(parse, encoding) for parse in parses]
    if model:
        from depkit.ensemble.out_of_fold import parse_out_of_fold

        gold = Source(gold.name, list(gold.sentences))
        parsed = parse_out_of_fold(os.fspath(model), gold.sentences, device, threads)
        systems.append(Source(os.fspath(model), parsed))
    sentences: list[Sentence] = []

    def pairs() -> Iterator[tuple[Sentence, tuple[Sentence, ...]]]:
        for sentence, predicted in pair_sentences(gold, systems):
            sentences.append(sentence)
            yield sentence, predicted

    found = list(find_disagreements(pairs()))
    if not sentences:
        raise FormatError(gold.name or "-", 0, "", "there are no sentences")
    return list(describe_suspects(rank_suspects([*found, *find_variation(sentences)]), sentences))
