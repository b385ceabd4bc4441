"""Conversion of a treebank in Python, as `depkit convert` does it for files."""

import os
from collections.abc import Iterable, Iterator, Sequence

from depkit.convert.dependencies import Kind
from depkit.convert.enhance.request import resolve_conventions
from depkit.convert.files import Conversion, EmptyNodes, Problems, convert_sentences
from depkit.corpus.formats import get_format
from depkit.corpus.io import PathLike
from depkit.corpus.sentence import Sentence


def convert(
    source: PathLike | Sentence | Iterable[Sentence],
    format: str | None = None,
    *,
    dependencies: Kind = "sd",
    tags: PathLike = "",
    predicted: bool = False,
    merge: PathLike = "",
    merge_tags: bool = False,
    enhance: Sequence[str] = (),
    enhance_like: PathLike = "",
    empty_nodes: EmptyNodes | None = None,
    encoding: str = "utf-8",
) -> Iterator[Sentence]:
    """Yield the sentences of a treebank in another format, as `depkit convert` writes them.

    >>> import depkit
    >>> sentence = depkit.Sentence.from_words(["Stop", "it"], head=[0, 1], xpos=["VB", "PRP"])
    >>> (converted,) = depkit.convert(sentence, "conll09")
    >>> print(str(converted).splitlines()[0].split())
    ['1', 'Stop', '_', '_', 'VB', '_', '_', '_', '0', '_', '_', '_', '_', '_']
    >>> depkit.write(depkit.convert("trees.mrg", dependencies="ud"), "ud.conllu")  # doctest: +SKIP

    Args:
        source: A path, whose format is recognised, or sentences. Penn trees become dependencies;
            so do the constituency trees of sentences that have no heads.
        format: "conllu", "conllup", "conllx" or "conll09"; by default, that of each sentence.
        dependencies: Of Penn trees, "sd" (Stanford), "ud" or "ud2".
        tags: A file with the tags for converted Penn trees.
        predicted: Whether to write into, or read from, the automatic columns of CoNLL-09.
        merge: A file into which the trees are written, with everything else that it contains.
        merge_tags: With `merge`, whether tags are written as well.
        enhance: The enhanced dependencies that are added to UD, for example ["case", "conj"], as
            for the option --enhance.
        enhance_like: A treebank, or the name of a known one, whose enhancements are imitated.
        empty_nodes: "collapse" to replace empty nodes by paths in labels, or "expand".
        encoding: The encoding of the files.

    Raises:
        FormatError: A sentence cannot be read or converted, or there is none.
        OSError: A file cannot be read.
        ValueError: There is no such format, encoding or enhancement.
    """
    like = os.fspath(enhance_like)
    conventions = resolve_conventions(like, enhance) if enhance or like else None
    path, sentences = "-", None
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
    else:
        sentences = [source] if isinstance(source, Sentence) else source
    job = Conversion(
        [path],
        format=get_format(format) if format else None,
        dependencies=dependencies,
        tags=os.fspath(tags),
        predicted=predicted,
        original=os.fspath(merge),
        merge_tags=merge_tags,
        conventions=conventions,
        empty_nodes=empty_nodes,
        encoding=encoding,
    )
    return convert_sentences(job, Problems(True, lambda text: None), sentences=sentences)
