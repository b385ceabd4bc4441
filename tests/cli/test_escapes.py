"""Text from files and names cannot control the terminal, and data on a pipe keep every byte."""

import io
import re
import shutil
import sys
from pathlib import Path

import pytest

from depkit.cli import main
from depkit.files import progress
from depkit.files.progress import ProgressBars
from depkit.files.terminal import EscapingStream, escape_controls
from depkit.parsers.model_directory import BUNDLED
from tests.drawing.terminal import Terminal, draw_at_once

# A title of the window, a cleared screen in two spellings, concealed text, a change of direction
EVIL = "\x1b]0;t\x07\x1b[2J\x9b2J\x1b[8m\x7f\u202e"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
CONTROLS = re.compile("[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize(
    ("text", "keep", "colours", "expected"),
    [
        ("plain äöü\u200d", "", False, "plain äöü\u200d"),
        ("a\x1b[31mb\x9bc", "", False, r"a\u001b[31mb\u009bc"),
        ("a\tb\r\nc\x00", "", False, r"a\u0009b\u000d\u000ac\u0000"),
        ("a\tb\r\nc", "\n\t", False, "a\tb\\u000d\nc"),
        ("\x1b[1;31mred\x1b[0m \x1b[2J", "", True, "\x1b[1;31mred\x1b[0m \\u001b[2J"),
        ("\u202e\u2066 \udc9b", "", True, r"\u202e\u2066 \udc9b"),
    ],
)
def test_escape_controls(text, keep, colours, expected):
    assert escape_controls(text, keep, colours) == expected
    assert escape_controls(expected, keep, colours) == expected


def test_a_stream_keeps_tabs_and_line_ends():
    stream = io.StringIO(newline="")
    EscapingStream(stream).writelines(["1\ta\r\n", "2\t\x1bb\rc\n"])
    assert stream.getvalue() == "1\ta\r\n2\t\\u001bb\\u000dc\n"


class Screen(io.TextIOWrapper):
    """A stream of bytes that claims to be a terminal."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), "utf-8", write_through=True)

    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        return self.buffer.getvalue().decode()


def write_treebank(path: Path, deprel: str) -> None:
    rows = (f"{i}\ta{EVIL}\tl{EVIL}\tX{EVIL}\t_\t_\t{i - 1}\t{deprel}\t_\t_\n" for i in (1, 2))
    path.write_text(f"# sent_id = s{EVIL}\n# text = t{EVIL}\n{''.join(rows)}\n")


COMMANDS = {
    "convert": ["convert", "GOLD", "--to", "conllx"],
    "show": ["show", "GOLD", "-v"],
    "show a tree": ["show", "GOLD", "--style", "tree", "--diff", "PRED"],
    "an svg": ["show", "GOLD", "--svg", "-"],
    "stats": ["stats", "GOLD", "PRED"],
    "stats in JSON": ["stats", "GOLD", "--json"],
    "check": ["check", "GOLD"],
    "check in JSON": ["check", "GOLD", "--json"],
    "search": ["search", "pattern { e: X -> Y }", "GOLD", "PRED", "-v"],
    "search in a table": ["search", "pattern { X [] }", "GOLD", "--fields", "X.form,file,text"],
    "search in a page": ["search", "pattern { X [] }", "GOLD", "--format", "html"],
    "search in JSON": ["search", "pattern { X [] }", "GOLD", "--format", "json"],
    "search in CoNLL-U": ["search", "pattern { X [] }", "GOLD", "--format", "conllu"],
    "clusters": ["search", "pattern { e: X -> Y }", "GOLD", "--by", "e.label", "--by", "Y.form"],
    "clusters in a table": [
        "search",
        "pattern { X [] }",
        "GOLD",
        "--by",
        "X.form",
        "--format",
        "tsv",
    ],
    "counts": ["search", "pattern { X [] }", "GOLD", "PRED", "--count"],
    "a pattern": ["search", f"pattern {{ X [{EVIL}] }}", "GOLD"],
    "select": ["select", "GOLD", "PRED", "--without", "PRED2", "-v"],
    "diff": ["diff", "GOLD", "PRED"],
    "diff in a table": ["diff", "GOLD", "PRED", "--format", "tsv"],
    "edit": ["edit", "pattern { X [upos] } commands { X.upos = A }", "GOLD", "-v"],
    "edit without output": ["edit", "pattern { X [upos] } commands { X.upos = A }", "GOLD", "-n"],
    "suspects": ["suspects", "GOLD", "--parses", "PRED", "-v"],
    "suspects in JSON": ["suspects", "GOLD", "--parses", "PRED", "--json"],
    "eval": ["eval", "GOLD", "PRED", "PRED2", "-v"],
    "eval in JSON": ["eval", "GOLD", "PRED", "--json"],
    "worst": ["analyze", "--worst", "3", "GOLD", "PRED"],
    "worst in CSV": ["analyze", "--worst", "3", "--format", "csv", "GOLD", "PRED"],
    "worst in Markdown": ["analyze", "--worst", "3", "--format", "markdown", "GOLD", "PRED"],
    "confusions": ["analyze", "--confusion", "deprel", "--by", "deprel", "GOLD", "PRED"],
    "report": ["report", "GOLD", "PRED", "PRED2", "-o", "-", "-v"],
    "info": ["info", "MODEL", "-v"],
    "info in JSON": ["info", "MODEL", "--json"],
    "an error in a file": ["convert", "BROKEN", "--to", "conllx"],
    "a missing file": ["stats", f"missing{EVIL}"],
    "a missing model": ["info", f"missing{EVIL}"],
    "an option": ["stats", f"--wibble{EVIL}"],
    "a command": [f"wibble{EVIL}"],
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evil")
    paths = {
        name: folder / f"{name}{EVIL}.conllu" for name in ("GOLD", "PRED", "PRED2", "BROKEN")
    } | {"MODEL": folder / f"model{EVIL}"}
    for name in ("GOLD", "PRED", "PRED2"):
        write_treebank(paths[name], f"r{name}{EVIL}")
    paths["BROKEN"].write_text(f"# sent_id = {EVIL}\n1{EVIL}\ta\t_\t_\t_\t_\t0\tr{EVIL}\t_\t_\n\n")
    shutil.copytree(BUNDLED / "en-ewt", paths["MODEL"])
    for name, text in (("README.md", EVIL), ("config.toml", f"\n[other]\nname = '{EVIL[-1]}'\n")):
        with (paths["MODEL"] / name).open("a") as file:
            file.write(text)
    return {name: str(path) for name, path in paths.items()}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_no_command_lets_text_control_the_terminal(files, arguments, monkeypatch):
    screen = Screen()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, screen)
    monkeypatch.setattr(main, "_abandon_stdout", lambda: None)
    monkeypatch.setattr(progress, "FIRST_DELAY", 1e9)  # bars move the cursor on a slow machine
    main.run([files.get(argument, argument) for argument in arguments])
    text = screen.text()
    assert text and "\x1b[8m" not in text
    assert CONTROLS.findall(COLOUR.sub("", text.replace("\t", " "))) == []


def test_commands_print_only_through_the_module_output():
    printing = re.compile(r"(?<![.\w])(typer\.s?echo|print)\(|sys\.std(out|err)\.write")
    modules = [path for path in Path(main.__file__).parent.glob("*.py") if path.stem != "output"]
    assert len(modules) > 10
    assert [path.name for path in modules if printing.search(path.read_text("utf-8"))] == []


def test_data_on_a_pipe_keep_every_byte(files, capfdbinary):
    assert main.run(["convert", files["GOLD"], "--to", "conllu"]) == 0
    assert capfdbinary.readouterr().out == Path(files["GOLD"]).read_bytes()
    assert (
        main.run(["analyze", "--worst", "1", "--format", "csv", files["GOLD"], files["PRED"]]) == 0
    )
    assert EVIL.encode() in capfdbinary.readouterr().out


def test_progress_bars_escape_names_and_messages(monkeypatch):
    draw_at_once(monkeypatch)
    terminal = Terminal()
    bars = ProgressBars(stream=terminal)
    with bars.bar(f"bar{EVIL}") as show:
        show(1, 2, f"text{EVIL}")
        bars.say(f"line{EVIL}")
    text = terminal.getvalue()
    for escape in ("\x1b]0;t", "\x9b2J", "\x1b[8m", "\x7f", "\u202e"):
        assert escape not in text
    assert r"line\u001b]0;t" in text
