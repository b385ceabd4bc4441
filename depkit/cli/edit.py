"""`depkit edit`: rewrites treebanks by rules of the language Grew."""

import os
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, nullcontext, suppress
from typing import Annotated

import typer

from depkit.cli.help import OUTPUT, option
from depkit.cli.options import (
    EncodingOfTreebanks,
    From,
    Output,
    Quiet,
    check_inputs,
    note_printer,
    overrides_suffix,
    progress_bars,
    verbose_flag,
)
from depkit.cli.output import count_noun, print_message
from depkit.cli.search import read_pattern
from depkit.corpus.io import read, write_rows
from depkit.corpus.sentence import Sentence
from depkit.files.atomic import check_writable
from depkit.files.progress import reading_bar
from depkit.files.storage import check_overwriting, file_identity, is_stdout
from depkit.files.streams import open_output
from depkit.score.table import csv_table
from depkit.treebank.edit.corrections import Corrections, are_corrections
from depkit.treebank.edit.edit import Edit
from depkit.treebank.edit.editable import Change
from depkit.treebank.edit.rules import parse_rules
from depkit.treebank.search.pattern import PatternError

_FIELDS = ("file", "line", "sent_id", "word", "form", "column", "old", "new")


def edit_command(
    rules: Annotated[str, typer.Argument(metavar="RULES", show_default=False)],
    files: Annotated[list[str], typer.Argument(metavar="FILE")],
    *,
    dry_run: Annotated[bool, option(OUTPUT, "--dry-run", "-n")] = False,
    changes: Annotated[str, option(OUTPUT, metavar="FILE")] = "",
    output: Output = "-",
    source: From = None,
    encoding: EncodingOfTreebanks = "utf-8",
    quiet: Quiet = False,
    verbose: Annotated[
        bool, verbose_flag("Print on stderr how often each rule was applied.")
    ] = False,
) -> None:
    """Correct treebanks by rewrite rules of the language Grew; nothing else is touched."""
    note = note_printer(quiet)
    editing = _prepare(rules, files, note)
    if dry_run and not (is_stdout(output) and (not changes or is_stdout(changes))):
        message = "it prints the changes and writes no file"
        raise typer.BadParameter(message, param_hint="--dry-run")
    if is_stdout(changes) and is_stdout(output) and not dry_run:
        message = "the treebank is written to stdout; name a file, or give --dry-run"
        raise typer.BadParameter(message, param_hint="--changes")
    _check_targets(rules, files, output, changes)
    check_inputs(files, quiet)
    for target in filter(None, (output, changes)):
        check_writable(target)
    stale_deps = stale_texts = 0  # sentences whose DEPS or # text may no longer fit their words

    table_name = "-" if dry_run else changes or os.devnull
    # The treebank is written even if the reader of the table on stdout has ended.
    may_end = is_stdout(table_name) and not dry_run
    until_closed = suppress(BrokenPipeError) if may_end else nullcontext()

    def results(renames: ExitStack) -> Generator[Sentence, None, None]:
        """Yield the edited sentences; at their end, the table is complete, but not yet renamed."""
        nonlocal stale_deps, stale_texts
        with until_closed, open_output(table_name, renames=renames) as table:
            with until_closed:
                table.write(csv_table(_FIELDS, [], "\t") + "\n")
            for file in files:
                for sentence in read(file, source, encoding):
                    edited, changed = editing.apply(sentence)
                    with until_closed:
                        table.writelines(map(_row, [sentence] * len(changed), changed))
                    columns = {change.column for change in changed}
                    stale_deps += _has_stale_deps(edited, changed)
                    stale_texts += "form" in columns and bool(sentence.text)
                    yield edited
            if isinstance(editing, Corrections):
                editing.finish()

    with (
        reading_bar(progress_bars(quiet, files, output), "editing", files),
        ExitStack() as renames,
        closing(results(renames)) as sentences,
    ):
        if dry_run:
            for _ in sentences:
                pass
        else:
            any_suffix = overrides_suffix(source, files, output)
            write_rows(sentences, output, encoding, any_suffix=any_suffix)
    if stale_deps:
        trees = count_noun(stale_deps, "tree")
        changed = f"{trees} changed, but not the column DEPS of the same words"
        note(f"{changed}; correct their enhanced dependencies as well")
    if stale_texts:
        rest = "its comment # text has" if stale_texts == 1 else "their comments # text have"
        changed = f"the forms of {count_noun(stale_texts, 'sentence')} have changed, but {rest} not"
        note(f"{changed}; check the text and the multiword tokens")
    if not editing.sentences:
        note("nothing has changed")
    if verbose and not quiet:
        counts = () if isinstance(editing, Corrections) else editing.counts()
        for rule, count in counts:
            print_message(f"{rule.name}: {count_noun(count, 'application')}")
        print_message(f"{count_noun(editing.sentences, 'sentence')} changed")


def _has_stale_deps(sentence: Sentence, changes: list[Change]) -> bool:
    """Return whether DEPS of words whose head or relation has changed is not empty or changed."""
    words = {change.word for change in changes if change.column in ("head", "deprel")}
    words -= {change.word for change in changes if change.column == "deps"}
    if not words or "deps" not in sentence.format.columns:
        return False
    cells = sentence.column("deps")
    return any(cells[word - 1] != "_" for word in words)


def _prepare(rules: str, files: list[str], note: Callable[[str], None]) -> Edit | Corrections:
    """Parse rules, or the corrections in a file; wrong rules are a mistake in the usage.

    files: the treebanks; note: prints a note.
    """
    text = read_pattern(rules, "RULES")
    if text != rules and are_corrections(text):
        corrections = Corrections(text, rules, files)
        if corrections.undecided:
            rows = count_noun(corrections.undecided, "row")
            note(f"{rules} has no decisions; all {rows} are taken as right")
        return corrections
    try:
        parsed = parse_rules(text)
    except PatternError as error:
        raise typer.BadParameter(str(error), param_hint="RULES") from None
    for note_text in parsed[0].pattern.notes:  # All rules have the notes of the whole text.
        note(note_text)
    return Edit(parsed)


def _check_targets(rules: str, files: list[str], output: str, changes: str) -> None:
    """Refuse to replace the rules, the table or a treebank.

    Only the treebank that is written may replace one that is read.
    """
    check_overwriting([rules, *files], [changes])
    check_overwriting([rules], [output])

    def identity(path: str) -> object:
        is_new = path not in ("", "-") and not os.path.exists(path)
        return file_identity(path) or (os.path.realpath(path) if is_new else None)

    table = identity(changes)
    if table and table == identity(output):
        message = f"{changes} is also the file of --output; write to another file"
        raise typer.BadParameter(message, param_hint="--changes")


def _row(sentence: Sentence, change: Change) -> str:
    file, line, sent_id = sentence.location(change.word - 1)
    cells = [
        file, str(line), sent_id, str(change.word), sentence.form[change.word - 1], change.column,
        change.old, change.new,
    ]  # fmt: skip
    return csv_table(cells, [], "\t") + "\n"
