"""`depkit select`: filters, samples, splits, shuffles and concatenates treebanks."""

import os
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Annotated, Literal, TextIO

import typer

from depkit.cli.help import DATA, OUTPUT, option
from depkit.cli.options import (
    EncodingOfTreebanks,
    From,
    Output,
    Quiet,
    check_directory,
    check_inputs,
    note_printer,
    overrides_suffix,
    progress_bars,
    verbose_flag,
)
from depkit.cli.output import count_noun, print_message
from depkit.cli.search import prepare_search
from depkit.corpus.formats import PTB
from depkit.corpus.io import (
    bracketed_trees,
    keeps_trees,
    read,
    write,
    write_as_read,
    write_trees,
)
from depkit.corpus.sentence import Sentence
from depkit.files.atomic import check_writable
from depkit.files.encodings import BOM
from depkit.files.errors import FormatError
from depkit.files.progress import reading_bar
from depkit.files.storage import check_overwriting
from depkit.files.streams import open_output
from depkit.treebank.selection import (
    Boundaries,
    Item,
    UniqueIds,
    assign_randomly,
    choose_part,
    item_number,
    read_items,
    smallest_numbers,
    stratum_function,
    text_digest,
)

By = Literal["text", "document", "random"]


def select_command(
    files: Annotated[list[str], typer.Argument(metavar="FILE")],
    *,
    where: Annotated[list[str] | None, option(DATA, metavar="PATTERN")] = None,
    without: Annotated[list[str] | None, option(DATA, metavar="FILE")] = None,
    unique: Annotated[bool, option(DATA, "--unique")] = False,
    min_words: Annotated[int, option(DATA, min=1)] = 1,
    max_words: Annotated[int | None, option(DATA, min=1)] = None,
    sample: Annotated[str, option(OUTPUT, metavar="N|SHARE")] = "",
    split: Annotated[str, option(OUTPUT, metavar="NAME=SHARE,...")] = "",
    by: Annotated[By | None, option(OUTPUT, show_default="text")] = None,
    stratify: Annotated[str, option(OUTPUT, metavar="KEY")] = "",
    shuffle: Annotated[bool, option(OUTPUT, "--shuffle")] = False,
    seed: Annotated[int, option(OUTPUT, min=0, envvar="DEPKIT_SEED")] = 0,
    output: Output = "-",
    output_dir: Annotated[str, option(OUTPUT, metavar="DIR", callback=check_directory)] = "",
    source: From = None,
    encoding: EncodingOfTreebanks = "utf-8",
    quiet: Quiet = False,
    verbose: Annotated[
        bool, verbose_flag("Print on stderr how many sentences and words each output has.")
    ] = False,
) -> None:
    """Select sentences of treebanks: filter, sample, split, shuffle and concatenate them."""
    amounts = _parse_amounts(sample, split)
    if by and not (sample or split):
        raise typer.BadParameter("it needs --sample or --split", param_hint="--by")
    by = by or "text"
    _check_options(amounts, by, stratify=stratify, output_dir=output_dir)
    if output_dir and output != "-":
        message = "it contradicts --output-dir; give only one of them"
        raise typer.BadParameter(message, param_hint="--output")
    sources = [*files, *(without or []), *(where or [])]
    check_overwriting(sources, [output])
    note = note_printer(quiet)
    searches = [prepare_search(pattern, None, name="--where", note=note) for pattern in where or []]
    check_inputs([*files, *(without or [])], quiet)
    if not output_dir:
        check_writable(output)
    with reading_bar(progress_bars(quiet, files, output), "selecting", [*(without or []), *files]):
        leakage = _Leakage(without or [], unique, encoding)

        def keep(item: Item) -> bool:
            sentence = item.sentence
            return (
                min_words <= len(sentence) <= (max_words or len(sentence))
                and all(search.accepts(sentence) for search in searches)
                and leakage.keep(sentence)
            )

        sentences = ((file, read(file, source, encoding)) for file in files)
        items = filter(keep, _check_formats(read_items(sentences), output))
        chosen = _choose(items, amounts, by, stratify=stratify, seed=seed, note=note)
        if shuffle:
            held = list(chosen)
            random.Random(seed).shuffle(held)
            chosen = iter(held)
        writer = _Writer(amounts.names, keeps_order=not shuffle)
        if output_dir:
            writer.write_parts(chosen, output_dir, encoding, sources=sources)
        else:
            prepared = (writer.prepare(item, part) for item, part in chosen)
            any_suffix = overrides_suffix(source, files, output)
            write_as_read(prepared, output, encoding, any_suffix=any_suffix)
    leakage.report(note)
    writer.report(note, verbose and not quiet)


@dataclass(frozen=True)
class _Amounts:
    """How many sentences are chosen: a number of them, or shares of all for each part.

    count: the number, 0 if there are shares; names: of the parts, "" for a single output.
    """

    count: int
    shares: list[float]
    names: list[str]


def _parse_amounts(sample: str, split: str) -> _Amounts:
    """Parse --sample or --split; raise BadParameter if they are wrong."""
    if sample and split:
        raise typer.BadParameter("it contradicts --split", param_hint="--sample")
    if sample.strip().isdecimal() and int(sample) > 0:
        return _Amounts(int(sample), [1.0], [""])
    if not split:
        return _Amounts(0, [_parse_share(sample, "--sample") if sample else 1.0], [""])
    pairs = [part.partition("=") for part in split.split(",")]
    names = [name.strip() for name, _, _ in pairs]
    shares = [_parse_share(text, "--split") for _, _, text in pairs]
    if "" in names or len(set(names)) < len(names) or any(os.sep in name for name in names):
        message = "write a different name for each part, as in train=0.8,dev=0.1,test=0.1"
        raise typer.BadParameter(message, param_hint="--split")
    if sum(shares) > 1 + 1e-9:
        raise typer.BadParameter("the shares add up to more than 1", param_hint="--split")
    return _Amounts(0, shares, names)


def _parse_share(text: str, name: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        number = ", nor a number of sentences" if name == "--sample" else ""
        raise typer.BadParameter(f"{text!r} is no share such as 0.1{number}", param_hint=name)
    return share


def _check_options(amounts: _Amounts, by: By, *, stratify: str, output_dir: str) -> None:
    """Raise BadParameter for options that contradict each other."""
    if (amounts.names != [""]) != bool(output_dir):
        message = "give both or neither: --split writes its parts into the directory"
        raise typer.BadParameter(message, param_hint="--split, --output-dir")
    if stratify and by != "random":
        message = "it needs --by random, as only then the number of sentences can be chosen"
        raise typer.BadParameter(message, param_hint="--stratify")
    if by == "document" and amounts.count:
        message = "documents are chosen as a whole, so give a share such as 0.1"
        raise typer.BadParameter(message, param_hint="--sample")


def _choose(
    items: Iterator[Item],
    amounts: _Amounts,
    by: By,
    *,
    stratify: str,
    seed: int,
    note: Callable[[str], None],
) -> Iterator[tuple[Item, int]]:
    """Yield the items that belong to a part, and the index of the part."""
    if by == "random":
        held = list(items)
        stratum = stratum_function(stratify)
        strata = [stratum(item.sentence) for item in held]
        if held and stratify and not any(strata):
            note(f"no sentence has a comment {stratify}, so --stratify has no effect")
        quotas = [share * len(held) for share in amounts.shares]
        if amounts.count:
            quotas = [min(amounts.count, len(held))]
        parts = assign_randomly(strata, quotas, random.Random(seed))
        yield from ((item, part) for item, part in zip(held, parts, strict=True) if part >= 0)
    elif amounts.count:
        yield from ((item, 0) for item in smallest_numbers(items, amounts.count, by, seed))
    elif amounts.shares == [1.0]:
        yield from ((item, 0) for item in items)
    else:
        for item in items:
            part = choose_part(item_number(item, by, seed), amounts.shares)
            if part >= 0:
                yield item, part


def _check_formats(items: Iterable[Item], output: str) -> Iterator[Item]:
    """Yield the items; raise FormatError if they would be written in different formats."""
    format = None
    for item in items:
        sentence = item.sentence
        own = PTB if keeps_trees(sentence, output) else sentence.format
        format = format or own
        if own != format:
            message = f"it is in {own.name}, but other files are in {format.name};"
            message = f"{message} convert them to one format first, with depkit convert"
            raise FormatError(sentence.file, 0, "", message)
        yield item


class _Leakage:
    """Leaves out sentences whose text occurs in other files, or occurred before.

    files: the other files; unique: whether each text is kept only once.
    """

    def __init__(self, files: Iterable[str], unique: bool, encoding: str) -> None:
        self.counts = dict.fromkeys(files, 0)
        self.texts = {
            text_digest(sentence): file
            for file in self.counts
            for sentence in read(file, None, encoding)
        }
        self.unique = unique
        self.seen: set[bytes] = set()
        self.repeated = 0

    def keep(self, sentence: Sentence) -> bool:
        """Return whether a sentence is kept, and count it if it is not."""
        if not (self.texts or self.unique):
            return True
        text = text_digest(sentence)
        if text in self.texts:
            self.counts[self.texts[text]] += 1
            return False
        if self.unique:
            if text in self.seen:
                self.repeated += 1
                return False
            self.seen.add(text)
        return True

    def report(self, note: Callable[[str], None]) -> None:
        """Print notes on what was left out."""
        for file, count in self.counts.items():
            note(f"{count_noun(count, 'sentence')} whose text occurs in {file} left out")
        if self.unique:
            sentences = count_noun(self.repeated, "sentence")
            note(f"{sentences} whose text occurred before left out")


class _Writer:
    """Prepares what is written, and counts it.

    names: of the parts; keeps_order: whether the sentences are in the order of their files.
    """

    def __init__(self, names: list[str], keeps_order: bool) -> None:
        self.names = names
        self.boundaries = [Boundaries() if keeps_order else None for _ in names]
        self.ids = UniqueIds()
        self.sentences = [0] * len(names)
        self.words = [0] * len(names)

    def prepare(self, item: Item, part: int) -> Sentence:
        """Return the sentence of an item as it is written to a part."""
        boundaries = self.boundaries[part]
        sentence = boundaries.restore(item) if boundaries else item.sentence
        self.sentences[part] += 1
        self.words[part] += len(sentence)
        return self.ids.keep(sentence)

    def write_parts(
        self,
        chosen: Iterator[tuple[Item, int]],
        directory: str,
        encoding: str,
        *,
        sources: Iterable[str],
    ) -> None:
        """Write each part to a file in a directory.

        Raises ConfigError if it would replace one of `sources`, the files to read.
        """
        first = next(chosen, None)
        if first is None:
            return
        is_tree = first[0].sentence.constituents is not None
        suffix = "mrg" if is_tree else first[0].sentence.format.name
        paths = [os.path.join(directory, f"{name}.{suffix}") for name in self.names]
        check_overwriting(sources, paths)
        with ExitStack() as renames, ExitStack() as stack:
            streams: list[TextIO] = [
                stack.enter_context(open_output(path, encoding, renames=renames)) for path in paths
            ]
            for item, part in (first, *chosen):
                sentence = self.prepare(item, part)
                if is_tree:
                    write_trees(bracketed_trees([sentence]), streams[part])
                    continue
                lines = sentence.lines
                is_later = lines[0] == BOM and self.sentences[part] > 1
                write(sentence.with_lines([], 0, 1) if is_later else sentence, streams[part])

    def report(self, note: Callable[[str], None], verbose: bool) -> None:
        """Print a note on changed sent_ids and, if verbose, the size of each part."""
        if changed := self.ids.changed:
            note(f"{changed:,} sent_ids that occurred before have got a number at their end")
        if not sum(self.sentences):
            note("no sentence was selected")
        if verbose:
            for name, count, words in zip(self.names, self.sentences, self.words, strict=True):
                label = f"{name}: " if name else ""
                print_message(f"{label}{count_noun(count, 'sentence')}, {words:,} words")
