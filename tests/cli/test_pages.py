"""The completions and man pages are current; shells complete with them, and man renders them."""

import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import pytest
import typer

from depkit.cli import main
from depkit.cli.pages import generate_pages
from depkit.cli.pages.bash import bash_script
from depkit.cli.pages.fish import fish_script
from depkit.cli.pages.inventory import Command, Parameter, Value, commands
from depkit.cli.pages.manual import _wrap_command, page
from depkit.cli.pages.zsh import zsh_script
from depkit.training.recipe import recipe_names

TOP = Path(__file__).parents[2]
REGENERATE = "python -m depkit.cli.pages"
MODELS = ["en-made-up"]

# A command whose first argument takes another kind of value than the other arguments.
TEACH = Command(
    name="teach",
    summary="It's a [test]: teach",
    description=("It's a [test]: teach.",),
    examples=("depkit teach a b",),
    arguments=(
        Parameter((), Value("MODEL", "model"), "", required=True),
        Parameter((), Value("FILE", "file"), ".one 'or' more\\all", repeatable=True),
    ),
    options=(
        Parameter(("-n", "--number"), Value("N"), "How [many]: a:b, 'c'.", limits="1 or more"),
        Parameter(("--into",), Value("DIR", "directory"), "The target", default="."),
    ),
)


def skip_without(program: str) -> None:
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed here")


def pages_in(folder: Path) -> dict[str, bytes]:
    paths = [*folder.glob("completions/*"), *folder.glob("man/*")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_the_committed_files_are_current(tmp_path: Path) -> None:
    """The pages do not depend on the environment in which they are generated."""
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "COLUMNS": "20", "NO_COLOR": "1",
        "DEPKIT_DEVICE": "mps", "DEPKIT_SEED": "7", "PYTHONHASHSEED": "5", "LC_ALL": "C",
        "TERM": "dumb",
    }  # fmt: skip
    command = [sys.executable, "-m", "depkit.cli.pages", str(tmp_path / "new")]
    subprocess.run(command, check=True, env=environment, cwd=tmp_path)
    new, committed = (pages_in(folder) for folder in (tmp_path / "new", TOP))
    changed = sorted(n for n in new.keys() | committed.keys() if new.get(n) != committed.get(n))
    assert not changed, (
        f"{', '.join(changed)} not current; run {REGENERATE}, or delete what it does not write"
    )


def test_help_writes_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "depkit.cli.pages", "--help"]
    run = subprocess.run(command, check=True, cwd=tmp_path, capture_output=True, text=True)
    assert run.stdout.startswith("usage: python -m depkit.cli.pages")
    assert list(tmp_path.iterdir()) == []


def test_an_option_that_is_missing_in_OFFERS_is_rejected(monkeypatch) -> None:
    def new(secret: Annotated[str, typer.Option(metavar="SECRET")] = "") -> None:
        """New."""

    app = typer.Typer()
    app.command()(new)
    monkeypatch.setattr(main, "COMMANDS", {"new": "New."})
    monkeypatch.setattr(main, "subcommand", lambda name: typer.main.get_command(app))
    with pytest.raises(ValueError, match=r"depkit new .*'secret'.*OFFERS of .*inventory\.py"):
        commands()


def test_examples_use_existing_options() -> None:
    by_name = {command.name: command for command in commands()}
    session = re.findall(r"\\fB(depkit .*)\\fR", page(by_name[""], list(by_name.values())[1:]))
    examples = [
        example for command in by_name.values() if command.name for example in command.examples
    ]
    lines = [*(line.replace("\\-", "-") for line in session if "(1)" not in line), *examples]
    assert len(lines) > len(by_name)
    for line in lines:
        for part in line.partition(" && ")[0].split("|"):
            name, *words = shlex.split(part.partition("depkit ")[2] or part)
            names = {name for option in by_name[name].options for name in option.names}
            assert {word for word in words if re.match("--?[a-z]", word)} <= names, line


def test_help_does_not_refer_to_examples_by_number() -> None:
    """Such a reference would be wrong after the next change of the examples."""
    ordinal = "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last"
    for command in commands():
        text = page(command, [])
        assert not re.search(rf"\b({ordinal})\s+example\b", text, re.IGNORECASE), command.name


# bash


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory with files and directories to complete; the scripts are in ../scripts."""
    scripts, work = tmp_path / "scripts", tmp_path / "trees"
    scripts.mkdir()
    all_commands = [*commands(), TEACH]
    (scripts / "depkit.bash").write_text(bash_script(all_commands, MODELS), "utf-8")
    (scripts / "_depkit").write_text(zsh_script(all_commands, MODELS), "utf-8")
    (scripts / "depkit.fish").write_text(fish_script(all_commands, MODELS), "utf-8")
    (work / "en.model").mkdir(parents=True)
    (work / "train").mkdir()
    for name in ("my file.conllu", "my *.conllu", "dev.conllu"):
        (work / name).touch()
    return work


def bash_completions(folder: Path, *words: str) -> list[str]:
    """Complete the last word with bash; PATH is empty, so that bash can start no program."""
    code = (
        "set -u; source ../scripts/depkit.bash; "
        'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _depkit; '
        '[[ ${#COMPREPLY[@]} == 0 ]] || printf "%s\\n" "${COMPREPLY[@]}"'
    )
    process = subprocess.run(
        [shutil.which("bash") or "bash", "--norc", "-c", code, "bash", "depkit", *words],
        cwd=folder, env={"PATH": ""}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert process.stderr == ""
    return sorted(process.stdout.splitlines())


FILES = ["dev.conllu", "en.model", "my *.conllu", "my file.conllu", "train"]
DIRECTORIES = ["en.model", "train"]
LI2019 = [name for name in recipe_names() if name.startswith("li2019-")]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("tra", ["train"]), ("--d", ["--debug"]), ("--debug eva", ["eval"]), ("nonsense ", []),
        ("train ", FILES), ("train my", ["my *.conllu", "my file.conllu"]),
        ("train x --dev d", ["dev.conllu"]), ("train --max-t", ["--max-time"]),
        ("train --seed ", []), ("train --seed 3 d", ["dev.conllu"]),
        ("train --recipe ", recipe_names()),
        ("train --recipe = li", LI2019),
        ("train -o ", DIRECTORIES), ("train --init e", ["en-made-up", "en.model"]),
        ("parse -o d", ["dev.conllu"]), ("parse --decode ", ["argmax", "eisner", "mbr", "mst"]),
        ("parse --decode =", ["argmax", "eisner", "mbr", "mst"]),
            ("parse --decode = ei", ["eisner"]),
        ("parse --decode = mst d", ["dev.conllu"]), ("parse --model e", ["en-made-up", "en.model"]),
        ("parse --output-dir ", DIRECTORIES), ("parse --output = d", ["dev.conllu"]),
        ("train --set encoder.la", ["encoder.layers="]), ("train --set = fam", ["family="]),
        ("parse --set inputs.c", ["inputs.context.model="]), ("ensemble --recipes li", LI2019),
        ("analyze a b --by oo", ["oov"]), ("analyze a b --by sp", ["span-length"]),
        ("eval a b --punct pt", ["ptb", "ptb7"]),
        ("teach < d", ["dev.conllu"]), ("teach 2> d", ["dev.conllu"]),
        ("eval dev.conllu d", ["dev.conllu"]), ("eval --json - d", ["dev.conllu"]),
        ("eval -b U", ["UAS", "UEM", "UFeats", "UPOS"]),
        ("teach ", sorted([*MODELS, *DIRECTORIES])), ("teach -n 3 e", ["en-made-up", "en.model"]),
        ("teach en.model d", ["dev.conllu"]), ("teach en.model x --into y d", ["dev.conllu"]),
        ("teach en.model x --into ", DIRECTORIES),
    ],
)  # fmt: skip
def test_bash_completes(folder: Path, words: str, expected: list[str]) -> None:
    skip_without("bash")
    assert bash_completions(folder, *words.split(" ")) == expected


def test_bash_offers_bundled_models_by_each_of_their_names(folder: Path) -> None:
    skip_without("bash")
    script = generate_pages()["completions/depkit.bash"]
    (folder.parent / "scripts" / "depkit.bash").write_text(script, "utf-8")
    names = bash_completions(folder, "parse", "--model", "e")
    assert names == ["en", "en-ewt", "en.model", "es"]


def test_bash_offers_every_command_and_option(folder: Path) -> None:
    skip_without("bash")
    _, *subcommands = commands()
    assert set(bash_completions(folder, "")) == {command.name for command in [*subcommands, TEACH]}
    for command in subcommands:
        names = {name for option in command.options for name in option.names}
        completions = bash_completions(folder, command.name, "--")
        assert set(completions) == {name for name in names if name.startswith("--")}


def press_tab(arguments: list[str], line: str, folder: Path, **variables: str) -> str:
    """Type `line`, Tab and Ctrl-X into a shell in a terminal; return the shell's line.

    The setup of the shell binds Ctrl-X to a command that writes the line to the file `line`.
    """
    skip_without(arguments[0])
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ.update(TERM="dumb", HOME=str(folder.parent), **variables)
        os.execvp(arguments[0], arguments)
    os.write(terminal, f"{line}\t\x18".encode())
    result = folder.parent / "line"
    result.touch()
    deadline = time.monotonic() + 60
    while not result.stat().st_size and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(terminal)
    assert result.stat().st_size, f"{arguments[0]} did not finish"
    return result.read_text("utf-8")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("depkit tra", "depkit train "),
        ("depkit parse my\\ f", "depkit parse my\\ file.conllu "),
        ('depkit parse "my f', 'depkit parse "my file.conllu" '),
        ("depkit parse en", "depkit parse en.model/"),
        ("depkit parse --decode=ei", "depkit parse --decode=eisner "),
        ("depkit train --set encoder.la", "depkit train --set encoder.layers="),
        ("depkit parse --output=my\\ f", "depkit parse --output=my\\ file.conllu "),
        ("depkit teach < de", "depkit teach < dev.conllu "),
        ("depkit parse ~/trees/de", "depkit parse ~/trees/dev.conllu "),
    ],
)
def test_bash_completes_at_a_terminal(folder: Path, line: str, expected: str) -> None:
    setup = folder.parent / "bashrc"
    setup.write_text(
        "source ../scripts/depkit.bash\n"
        """bind -x '"\\C-x": printf %s "$READLINE_LINE" > ../line'\n"""
    )
    assert press_tab(["bash", "--rcfile", str(setup), "-i"], line, folder) == expected


# zsh and fish


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("depkit tra", "depkit train "),
        ("depkit parse my\\ f", "depkit parse my\\ file.conllu "),
        ("depkit parse --decode ei", "depkit parse --decode eisner "),
        ("depkit parse --decode=ei", "depkit parse --decode=eisner "),
        ("depkit train --recipe en", "depkit train --recipe en-ewt "),
        ("depkit parse --model en-", "depkit parse --model en-made-up "),
        ("depkit train --set encoder.la", "depkit train --set encoder.layers="),
        ("depkit analyze --by oo", "depkit analyze --by oov "),
        ("depkit eval --punct uni", "depkit eval --punct unicode "),
        ("depkit train x -o en", "depkit train x -o en.model/"),
        ("depkit eval --json -b UA", "depkit eval --json -b UAS "),
        ("depkit teach en-", "depkit teach en-made-up "),
        ("depkit teach en-made-up de", "depkit teach en-made-up dev.conllu "),
        ("depkit teach --numb", "depkit teach --number="),
    ],
)
def test_zsh_completes_at_a_terminal(folder: Path, line: str, expected: str) -> None:
    (folder.parent / ".zshrc").write_text(
        "fpath=(${PWD:h}/scripts $fpath); autoload -Uz compinit; compinit -u -D\n"
        'write_line() { printf %s "$BUFFER" > ../line }\n'
        "zle -N write_line; bindkey '^X' write_line\n"
    )
    assert press_tab(["zsh", "-i"], line, folder, ZDOTDIR=str(folder.parent)) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("depkit tra", ["train"]),
        ("depkit --debug tra", ["train"]),
        ("depkit parse --dec", ["--decode"]),
        ("depkit parse train --dec", ["--decode"]),
        ("depkit parse --decode ", ["argmax", "eisner", "mbr", "mst"]),
        ("depkit parse --decode=ei", ["--decode=eisner"]),
        ("depkit parse --model ", ["en-made-up", "en.model/", "train/"]),
        ("depkit parse --output-dir=en", ["--output-dir=en.model/"]),
        ("depkit train --recipe li", LI2019),
        ("depkit train --seed ", []),
        ("depkit train --set encoder.la", ["encoder.layers="]),
        ("depkit analyze --by oo", ["oov"]),
        ("depkit eval --punct pt", ["ptb", "ptb7"]),
        ("depkit parse de", ["dev.conllu"]),
        ("depkit parse my", ["my *.conllu", "my file.conllu"]),
        ("depkit train x -o ", ["en.model/", "train/"]),
    ],
)
def test_fish_completes(folder: Path, line: str, expected: list[str]) -> None:
    skip_without("fish")
    code = f"source ../scripts/depkit.fish; complete -C {shlex.quote(line)}"
    process = subprocess.run(
        ["fish", "--no-config", "-c", code], cwd=folder, capture_output=True, text=True, check=True,
        env={**os.environ, "HOME": str(folder.parent)},
    )  # fmt: skip
    assert process.stderr == ""
    assert sorted(line.split("\t")[0] for line in process.stdout.splitlines()) == expected


# man


def man_pages() -> dict[str, str]:
    depkit, *subcommands = commands()
    subcommands = [*subcommands, TEACH]
    pages = {f"depkit-{command.name}.1": page(command, subcommands) for command in subcommands}
    return {"depkit.1": page(depkit, subcommands)} | pages


def test_text_is_escaped_for_roff() -> None:
    macros = {".SH", ".PP", ".TP", ".TH", ".RS", ".RE", ".nf", ".fi", ".nh", ".ad", ".ss", '.\\"'}
    for name, text in man_pages().items():
        lines = text.splitlines()
        assert {line.split()[0] for line in lines if line.startswith(".")} <= macros, name
        assert not [line for line in lines if line.startswith("'") or not line.isascii()], name
    assert "\\&.one \\(aqor\\(aq more\\(rsall." in man_pages()["depkit-teach.1"].splitlines()


def render(path: Path, program: str) -> str:
    """Render a page as text; a warning is a failure."""
    skip_without(program)
    command = {
        "man": ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", str(path)],
        "groff": ["groff", "-man", "-ww", "-Tutf8", str(path)],
    }[program]
    environment = {
        "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "80",
        "MANPAGER": "cat",
    }  # fmt: skip
    process = subprocess.run(command, env=environment, capture_output=True, text=True)
    if process.returncode and "No such file or directory" in process.stderr:
        pytest.skip(f"{program} has no groff macros here: {process.stderr}")
    assert (process.returncode, process.stderr) == (0, "")
    return re.sub("\x1b\\[[0-9;]*m|.\b", "", process.stdout)


@pytest.mark.parametrize("program", ["man", "groff"])
def test_pages_render_without_a_warning(tmp_path: Path, program: str) -> None:
    skip_without(program)
    for name, text in man_pages().items():
        (tmp_path / name).write_text(text, "utf-8")
        text = render(tmp_path / name, program)
        titles = re.findall(r"^[A-Z][A-Z ]+$", text, flags=re.M)
        assert titles[:3] == ["NAME", "SYNOPSIS", "DESCRIPTION"]
        promises = ["REPRODUCIBILITY", "SECURITY"] * (name == "depkit.1")
        assert titles[titles.index("EXIT STATUS") :] == ["EXIT STATUS", *promises, "SEE ALSO"]
        assert f"       {name.removesuffix('.1')} - " in text


def test_pages_contain_synopsis_options_and_environment(tmp_path: Path) -> None:
    skip_without("groff")
    expected = {
        "parse": (
            "depkit parse [OPTION]... [FILE]...",
            "--decode mst|eisner|argmax",
            "-o, --output FILE",
            "N must be 1 or more. Default: 1200 on a CPU, 16000 on a GPU. --threads N",
            "DEPKIT_MODEL This sets --model",
            "An option on the command line takes",
            "130 The command was interrupted.",
            "depkit(1), depkit-train(1), ",
        ),
        "teach": (
            "depkit-teach - It's a [test]: teach",
            "depkit teach [OPTION]... MODEL [FILE]...",
            ".one 'or' more\\all. OPTIONS",
            "-n, --number N How [many]: a:b, 'c'. N must be 1 or more.",
            "--into DIR The target. Default: ..",
            "EXAMPLES depkit teach a b ENVIRONMENT NO_COLOR If",
        ),
    }
    for command, texts in expected.items():
        (tmp_path / command).write_text(man_pages()[f"depkit-{command}.1"], "utf-8")
        page_text = " ".join(render(tmp_path / command, "groff").split())
        assert [text for text in texts if text not in page_text] == []


def split_command(text: str) -> list[str]:
    """Split a command as a shell does, which removes a backslash before a line end.

    It does not between single quotation marks. White space inside arguments is normalised.
    """
    parts = re.split(r"('[^']*')", text)
    joined = "".join(x if x.startswith("'") else x.replace("\\\n", "") for x in parts)
    return [" ".join(argument.split()) for argument in shlex.split(joined)]


def test_examples_of_man_pages_are_the_commands_that_are_meant() -> None:
    examples = [example for command in commands() for example in command.examples]
    assert any("'" in example and len(_wrap_command(example)) > 1 for example in examples)
    for example in examples:
        assert split_command("\n".join(_wrap_command(example))) == split_command(example)
