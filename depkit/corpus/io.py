"""Reading and writing of the sentences and trees of files.

A file is named by a path, `-` for stdin or stdout, or a URL, see `storage`. `streams` packs and
unpacks .gz and .xz files; `atomic` writes files that appear only when they are complete.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import BinaryIO, TextIO

from depkit.corpus.brackets import BLANKS, read_clean_trees, read_groups, read_sentences
from depkit.corpus.cleaning import restore_wrapper
from depkit.corpus.detection import begins_with_bracket
from depkit.corpus.formats import (
    CONLLU,
    CONLLUP,
    INPUT_FORMATS,
    PARQUET,
    PTB,
    Format,
    format_from_filename,
    get_format,
)
from depkit.corpus.parquet.files import is_parquet, read_parquet, write_parquet
from depkit.corpus.reader import read_lines
from depkit.corpus.sentence import Sentence, each_sentence
from depkit.corpus.tree import Tree
from depkit.files.arrival import make_arrival_test
from depkit.files.encodings import BOM
from depkit.files.errors import FormatError
from depkit.files.storage import PathLike, is_stdout
from depkit.files.streams import (
    decode_lines,
    lines_on_arrival,
    open_binary_output,
    open_bytes,
    open_lines,
    open_output,
)


def read(
    source: PathLike | Iterable[str],
    format: str | None = None,
    encoding: str = "utf-8",
    strict: bool = True,
) -> Iterator[Sentence]:
    r"""Read the sentences of a file or of an iterable of lines, one by one.

    >>> import depkit
    >>> lines = ["# sent_id = a\n", "1\tStop\t_\tVERB\t_\t_\t0\troot\t_\t_\n"]
    >>> for sentence in depkit.read(lines):
    ...     print(sentence.sent_id, sentence.form, sentence.head)
    a ('Stop',) (0,)

    Args:
        source: A path (`-` is stdin; .gz and .xz are unpacked), or lines with their line ends.
        format: "conllu", "conllx", "conll09", "conllup", "ptb" or "parquet". None to recognise it
            by the file's name, or else by its content; "ptb" is recognised only if strict. The
            content of a Parquet file is always recognised.
        encoding: The text encoding of a file that is not a Parquet file.
        strict: Whether a broken sentence raises FormatError; see `reader.read_lines`.

    Raises:
        FormatError: The file breaks its format, or a sentence is too large, see `limits`.
        OSError: The file cannot be read.
        ValueError: The format or the encoding is unknown, or pyarrow is not installed.
    """
    given_format = get_format(format, INPUT_FORMATS) if format else None
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        named = format_from_filename(path)
        # Reading that is not strict must keep every line, which is impossible with brackets.
        chosen = given_format or (named if strict or named is not PTB else None)
        with open_bytes(path) as binary:
            yield from read_stream(binary, chosen, encoding, path, strict=strict)
    else:
        yield from _read_lines(source, given_format, "-", strict=strict)


def _read_lines(
    lines: Iterable[str],
    format: Format | None,
    file: str,
    *,
    strict: bool,
    line: int = 1,
    character: int = 0,
    has_pauses: bool = False,
) -> Iterator[Sentence]:
    """Read the sentences of lines; the arguments are those of `read_stream` and `read_lines`."""
    if not format and strict:
        opening, lines = _peek(lines)
        format = PTB if begins_with_bracket(opening) else None
    if format is PTB:
        yield from read_sentences(filter(None, lines) if has_pauses else lines, file, strict)
    else:
        yield from read_lines(
            lines, format, file, strict, line=line, character=character, has_pauses=has_pauses
        )


def _peek(lines: Iterable[str]) -> tuple[str, Iterable[str]]:
    """Return the first line with more than white space, or "", and an iterable of all lines."""
    lines = iter(lines)
    leading: list[str] = []
    for line in lines:
        leading.append(line)
        if line.strip(BOM + BLANKS):
            return line, chain(leading, lines)
    return "", leading


def is_bracketed_file(path: str, encoding: str = "utf-8") -> bool | None:
    """Return whether a file contains bracketed trees, by its name or content.

    None for standard input and pipes, which could not be read again. Raises OSError and, as `read`,
    FormatError and ValueError.
    """
    if format := format_from_filename(path):
        return format is PTB
    if path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
        return None
    with open_bytes(path) as binary:
        if is_parquet(binary):
            return False
    with _open_source(path, encoding) as (lines, _):
        return begins_with_bracket(_peek(lines)[0])


def read_trees(
    source: PathLike | Iterable[str],
    encoding: str = "utf-8",
    strict: bool = True,
    report: Callable[[FormatError], object] | None = None,
) -> Iterator[Tree]:
    r"""Read bracketed trees one by one, without empty elements and without the bracket around them.

    `cleaning.clean_tree` explains what remains of a tree; `read_tree_groups` reads whole trees.

    Args:
        source: A path (`-` is stdin; .gz and .xz are unpacked) or lines.
        encoding: The text encoding of a file.
        strict: Whether a malformed tree, or one without words, raises FormatError. Otherwise
            reading continues at the next line that can begin a tree.
        report: If not strict, a function that is called with the FormatError of each such tree.

    Raises:
        FormatError: A tree is malformed; the error names its line and its number in the file.
        OSError: The file cannot be read.
        ValueError: The encoding is unknown.
    """
    with _open_source(source, encoding) as (lines, file):
        for tree in read_clean_trees(lines, file, strict):
            if isinstance(tree, Tree):
                yield tree
            elif report:
                report(tree)


def read_tree_groups(
    source: PathLike | Iterable[str], encoding: str = "utf-8"
) -> Iterator[list[Tree]]:
    """Read bracketed trees without any loss, in groups that stand on the same lines.

    See `brackets.read_groups`; the arguments and errors are those of `read_trees` if strict. The
    text of a tree that was read from a single line, `str(tree)`, is the same as in the file.
    """
    with _open_source(source, encoding) as (lines, file):
        for group in read_groups(lines, file):
            if not isinstance(group, FormatError):
                yield group


def write_trees(trees: Iterable[Tree], target: PathLike | TextIO, encoding: str = "utf-8") -> int:
    """Write trees to a file or a text stream, one per line, and return their number.

    target, encoding: As for `write`. A tree that was read from a single line is written as it was.
    """
    if isinstance(target, str | os.PathLike):
        with open_output(target, encoding) as stream:
            return write_trees(trees, stream)
    count = 0
    for tree in trees:
        target.write(f"{tree}\n")
        count += 1
    return count


def keeps_trees(sentence: Sentence, target: PathLike) -> bool:
    """Return whether a sentence with other tags is written to a file as a bracketed tree.

    It is if it was read from one, unless the suffix of the file is that of another format.
    """
    is_other = format_from_filename(os.fspath(target)) not in (None, PTB)
    return sentence.constituents is not None and not is_other


def write_as_read(
    sentences: Iterable[Sentence],
    target: PathLike,
    encoding: str = "utf-8",
    *,
    any_suffix: bool = False,
) -> int:
    """Write sentences in the format of the files that they were read from; return their number.

    If `keeps_trees` is true of the first sentence, all of them are written as bracketed trees, see
    `bracketed_trees`. Otherwise, see `write_rows`, also for `any_suffix`; the errors are those of
    both.
    """
    iterator = iter(sentences)
    opening = list(islice(iterator, 1))
    sentences = chain(opening, iterator)
    if not any(keeps_trees(sentence, target) for sentence in opening):
        return write_rows(sentences, target, encoding, any_suffix=any_suffix)
    return write_trees(bracketed_trees(sentences), target, encoding)


def bracketed_trees(sentences: Iterable[Sentence]) -> Iterator[Tree]:
    """Yield the trees of sentences with the outer bracket of their file.

    A tree that was read from a file is written as `Tree.source` has it, with its empty elements and
    line breaks. Raises FormatError for a sentence that has no tree.
    """
    for sentence in sentences:
        if sentence.constituents is None:
            message = "the sentence has no bracketed tree to write; choose another format"
            raise FormatError(*sentence.location(), message)
        tree = restore_wrapper(sentence.constituents)
        yield Tree(tree.name, tree.children, tree.word, text=sentence.constituents.source)


def write_rows(
    sentences: Iterable[Sentence], target: PathLike, encoding: str, *, any_suffix: bool
) -> int:
    """Write sentences to a file as `write` does, and return their number.

    any_suffix: whether the suffix of the file may be that of another text format.
    """
    if not any_suffix or format_from_filename(os.fspath(target)) is PARQUET:
        return write(sentences, target, encoding)
    with open_output(target, encoding) as stream:
        return write(sentences, stream)


@contextmanager
def _open_source(
    source: PathLike | Iterable[str], encoding: str
) -> Iterator[tuple[Iterable[str], str]]:
    """Open a path, or use an iterable of lines; yields the lines and the name for errors."""
    if not isinstance(source, str | os.PathLike):
        yield source, "-"
        return
    path = os.fspath(source)
    with _decoding_errors(path), open_lines(path, encoding) as lines:
        yield lines, path


def read_stream(
    binary: BinaryIO,
    format: Format | None = None,
    encoding: str = "utf-8",
    file: str = "-",
    *,
    strict: bool = True,
    line: int = 1,
    character: int = 0,
) -> Iterator[Sentence]:
    """Read the sentences of a stream of bytes; those of a pipe as soon as they are complete.

    Args:
        binary: The stream, which is not closed.
        format: The format; None to recognise it by the content.
        encoding: The text encoding.
        file: The name of the stream, for errors.
        strict: Whether a broken sentence raises FormatError; see `reader.read_lines`.
        line: As for `reader.read_lines`.
        character: As for `reader.read_lines`.

    Raises:
        FormatError: The stream breaks its format or is in another encoding, or a sentence is too
            large, see `limits`.
        ValueError: The encoding is unknown.
    """
    if format is PARQUET or is_parquet(binary):
        yield from read_parquet(binary, file, strict=strict)
        return
    # `_read_lines` recognises trees by their first character, unless it is told the format.
    has_sentences = format is not PTB if format or not strict else None
    if has_arrived := make_arrival_test(binary):
        with _decoding_errors(file):
            arriving = lines_on_arrival(
                binary, encoding, file, has_sentences=has_sentences, has_arrived=has_arrived
            )
            yield from _read_lines(
                arriving, format, file, strict=strict, line=line, character=character,
                has_pauses=True,
            )  # fmt: skip
        return
    with _decoding_errors(file), decode_lines(binary, encoding, file, has_sentences) as lines:
        yield from _read_lines(lines, format, file, strict=strict, line=line, character=character)


@contextmanager
def _decoding_errors(file: str) -> Iterator[None]:
    """Turn errors of encodings whose bytes cannot become surrogates into FormatError."""
    try:
        yield
    except UnicodeError as error:
        message = f"the file cannot be decoded: {error}; name its encoding with `encoding`"
        raise FormatError(file, 0, "", message) from None


def write(
    sentences: Sentence | Iterable[Sentence],
    target: PathLike | TextIO,
    encoding: str = "utf-8",
    parquet: bool = False,
) -> int:
    """Write a sentence or several sentences to a file or a text stream.

    >>> import sys, depkit
    >>> sentence = depkit.Sentence.from_words(["Stop"], head=[0], deprel=["root"])
    >>> depkit.write(sentence, "stop.conllu")
    1
    >>> [sentence.deprel for sentence in depkit.read("stop.conllu")]
    [('root',)]

    A file appears under its name only when it is complete. A missing blank line after a sentence is
    added; a byte order mark is written only before the first sentence. A path that ends in .parquet
    becomes a Parquet file, see `parquet.schema`, whose sentences must be in CoNLL-U. Sentences are
    not converted to the format of another suffix.

    Args:
        sentences: A sentence or an iterable of sentences.
        target: A path (`-` is stdout; .gz and .xz are compressed) or a text stream.
        encoding: The text encoding of a file that is not a Parquet file.
        parquet: Whether to write a Parquet file even if the path does not end in .parquet.

    Returns:
        The number of sentences written.

    Raises:
        FormatError: A sentence cannot be in a Parquet file; see `parquet.batches.to_batches`.
        OSError: The file cannot be written.
        TypeError: Something to write is not a Sentence.
        ValueError: The path ends like a file of another format than that of the sentences, the
            encoding is unknown, or pyarrow is not installed.
    """
    if isinstance(target, str | os.PathLike):
        if parquet or format_from_filename(os.fspath(target)) is PARQUET:
            if is_stdout(target) and sys.stdout and sys.stdout.isatty():
                raise ValueError("a terminal cannot show Parquet; name an output file")
            with open_binary_output(target) as binary:
                return write_parquet(sentences, binary)
        with open_output(target, encoding) as stream:
            return write(_check_suffixes(sentences, target), stream)
    count = 0
    for lines in complete_lines(sentences):
        target.writelines(lines)
        count += 1
    return count


def _check_suffixes(
    sentences: Sentence | Iterable[Sentence], target: PathLike
) -> Iterator[Sentence]:
    """Yield the sentences; raises ValueError if one is in the wrong format, see `check_suffix`."""
    for sentence in each_sentence(sentences):
        check_suffix(sentence, target)
        yield sentence


def check_suffix(sentence: Sentence, target: PathLike) -> None:
    """Raise ValueError if a file's suffix is that of another format than a sentence's lines.

    CoNLL-U and CoNLL-U Plus can be read under the suffix of each other. With an unknown suffix, the
    format of a file is recognised by its content.
    """
    named, format = format_from_filename(os.fspath(target)), sentence.format
    name = os.fspath(target).lower().removesuffix(".gz").removesuffix(".xz")
    if name.endswith((".json", ".jsonl")):
        message = f"{os.fspath(target)} ends like a JSON file, but the sentences are in"
        raise ValueError(f"{message} {format.name}; choose another ending, such as .conllu")
    if named is None or named in (PARQUET, format) or {named, format} == {CONLLU, CONLLUP}:
        return
    if named is PTB:
        message = (
            f"{os.fspath(target)} ends like a file of bracketed trees, but the sentences would be"
            f" written as rows of {format.name}; choose another ending, such as .conllu, or convert"
            " trees to dependencies with depkit convert"
        )
    else:
        message = (
            f"{os.fspath(target)} ends like a file of {named.name}, but the sentences are in"
            f" {format.name}; choose another ending, or convert them with depkit convert"
        )
    raise ValueError(message)


def complete_lines(sentences: Sentence | Iterable[Sentence]) -> Iterator[Sequence[str]]:
    """Yield the lines of each sentence as they are written one after another into a file.

    A missing blank line after a sentence is added; a byte order mark is kept only before the first
    sentence.
    """
    for number, sentence in enumerate(each_sentence(sentences)):
        lines: Sequence[str] = sentence.lines
        if number and lines[0] == BOM:
            lines = lines[1:]
        if not lines[-1].isspace():
            end = sentence.line_end
            lines = [*lines[:-1], lines[-1].rstrip("\r\n") + end, end]
        yield lines
