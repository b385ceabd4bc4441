"""Help and usage errors: messages, suggestions, and the help of subcommands."""

import errno
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress

import pytest
from rich.markup import escape, render

from depkit.cli import help as command_help
from depkit.cli.main import COMMANDS, read_description, run, subcommand
from depkit.version import __version__
from tests.cli.commands import assert_fails
from tests.conftest import HERE, TINY


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("nonsense", "there is no command 'nonsense'; choose from train,"
            " ensemble, .*, info; see depkit -"),
        ("trian x", r"there is no command 'trian'; did you mean train\? See depkit --help"),
        ("--verbos", "there is no option '--verbos'.* depkit --help"),
        ("train", "TRAIN is missing; see depkit train --help"),
        ("train x", "--output is missing; see depkit train --help"),
        ("--debu eval x", "there is no option '--debu'"),
        ("eval x", "PRED is missing; see depkit eval --help"),
        ("train x --epoch 3", r"there is no option '--epoch';"
            r" did you mean --epochs\? See depkit train --h"),
        ("tag x --best 3", "there is no option '--best'; see depkit tag --help"),
        ("stats -Z", "there is no option '-Z'; see depkit stats --help"),
        ("parse --threads", "'--threads' requires an argument; see depkit parse --help"),
        ("info a b", "unexpected extra argument.*; see depkit info --help"),
        ("eval a b --test foo", "--test foo: choose ar, bootstrap or mcnemar; see depkit"),
        ("eval a b --test", "'--test' requires an argument; see depkit eval --help"),
        ("parse --input foo", "lines, tokens, conllu, conllup, conllx, conll09, ptb or parquet"),
        ("parse --threads " + "9" * 20, "--threads 9{20}: give a .*, from 1 to 10000; see"),
        ("show a --style=", "--style '': choose arcs or tree"),
        ("show a --width x\x1b[1m", r"--width 'x\\x1b\[1m': give a whole number, 40 or more"),
        ("train x -o y --epochs 0", "--epochs 0: give a whole number, 1 or more; see"),
        ("train x -o y --seed -1", "--seed -1: give a whole number, from 0 to 2147483648; see"),
        ("train x -o y --dev-split half", "--dev-split half: give a number; see"),
        ("eval a b --punct x", r"--punct: there is no .*'x'; .*tags:A,B,\.\.\.; see depkit"),
        ("eval a b --encoding morse", "--encoding: there is no encoding 'morse'; "),
        ("train x -o ", "the value of --output is empty; see depkit train --help"),
        ("parse x --output-dir=", "the value of --output-dir is empty; see depkit parse --help"),
        ("parse ", "the value of FILE is empty; see depkit parse --help"),
        ("convert x --enhance=", "the value of --enhance is empty; see depkit convert --help"),
        ("diff x y --columns ", "the value of --columns is empty; see depkit diff --help"),
        ("search p x --fields=", "the value of --fields is empty; see depkit search --help"),
        ("select x --sample ", "the value of --sample is empty; see depkit select --help"),
    ],
)  # fmt: skip
def test_usage_errors_say_where_help_is(arguments: str, message: str, capfd) -> None:
    assert run(arguments.split(" ")) == 2
    out, err = capfd.readouterr()
    assert out == "" and re.fullmatch(f"depkit: error: .*{message}.*\n", f"{err}")


def test_an_error_of_decoding_names_the_file(tmp_path, capfd) -> None:
    path = tmp_path / "in.conllu"
    path.write_text("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    commands = ["parse PATH", "check PATH", "stats PATH", "eval PATH PATH", "show PATH", "tag PATH"]
    for command in commands:
        arguments = [str(path) if word == "PATH" else word for word in command.split()]
        assert run([*arguments, "--encoding", "utf-16"]) == 1, command
        assert str(path) in "".join(capfd.readouterr()), command


def test_an_error_of_a_setting_names_the_setting(capfd, tmp_path) -> None:
    output = tmp_path / "model"
    for setting in ("training.beta1", "training.beta2"):
        arguments = ["train", str(TINY), "-o", str(output), "--set", f"{setting}=1.0"]
        assert_fails(capfd, arguments, 2, f"{setting} is 1")
    assert not output.exists()


def test_errors_name_the_environment_variable(capfd, monkeypatch) -> None:
    monkeypatch.setenv("DEPKIT_THREADS", "many")
    assert_fails(capfd, ["parse", "x"], 2, "DEPKIT_THREADS=many in the environment: give a")
    assert_fails(capfd, ["parse", "x", "--threads", "0"], 2, "--threads 0: give")


def test_a_variable_sets_its_option_in_every_command() -> None:
    variables: dict[str, set[str | None]] = {}
    for name in COMMANDS:
        for option in subcommand(name).params:
            # A model for parsing must not make depkit suspects parse with it.
            if (name, option.opts[0]) == ("suspects", "--model"):
                continue
            variables.setdefault(option.opts[0], set()).add(option.envvar)
    assert {option: names for option, names in variables.items() if len(names) > 1} == {}
    expected = {
        "--device", "--encoding", "--engine", "--model", "--recipe", "--seed", "--threads"
    }  # fmt: skip
    assert {option for option, names in variables.items() if names != {None}} == expected


def test_an_option_overrides_its_variable(capfd, monkeypatch) -> None:
    monkeypatch.setenv("DEPKIT_SEED", "7")
    scoring = ["eval", str(TINY), str(TINY), "--confidence"]
    assert run(scoring[:-1]) == 0  # The variable may be set for other commands.
    assert capfd.readouterr().err == ""
    for more, seed in ([], "seed:7"), (["--seed", "3"], "seed:3"):
        assert run([*scoring, *more]) == 0
        assert seed in capfd.readouterr().out


def test_help_and_version(capfd) -> None:
    for arguments in ([], ["-h"], ["--help"], ["--debug"]):
        assert run(arguments) == 0
        output = capfd.readouterr()
        assert output.out.startswith("Usage: depkit [OPTIONS] COMMAND") and output.err == ""
    assert run(["--version"]) == 0
    assert capfd.readouterr().out == f"depkit {__version__}\n"
    for name in COMMANDS:
        for option in ("-h", "--help"):
            assert run([name, option]) == 0
            assert capfd.readouterr().out.startswith(f"Usage: depkit {name} [OPTIONS]")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_subcommand_has_sections_and_is_not_truncated(name: str, capfd) -> None:
    run(["--help"])
    assert f" {COMMANDS[name]}\n" in capfd.readouterr().out  # not truncated
    command = subcommand(name)
    options = [param for param in command.params if param.param_type_name == "option"]
    panels = {option.rich_help_panel for option in options}
    if len(command.params) >= command_help._MAX_WITHOUT_SECTIONS:  # without --help
        assert None not in panels, "name the panel of the help that lists the option"
    for text in [command.help, *(param.help for param in command.params if not param.hidden)]:
        assert render(escape(text)).plain == text  # nothing is read as Rich's markup


def run_at_terminal(columns: int, *arguments: str, typed: str = "", **variables: str) -> str:
    """Return what depkit prints on a terminal of this width, with escape sequences."""
    reader, terminal = pty.openpty()
    subprocess.run(["stty", "columns", str(columns)], stdin=terminal, check=True)
    environment = {
        name: text for name, text in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "depkit", *arguments], stdin=terminal, stdout=terminal,
        stderr=terminal, env={**environment, "TERM": "xterm", **variables},
    )  # fmt: skip
    os.close(terminal)
    os.write(reader, typed.encode())
    output = b""
    with suppress(OSError):  # the process has closed its end
        while chunk := os.read(reader, 1 << 16):
            output += chunk
    assert process.wait() == 0
    os.close(reader)
    return output.decode().replace("\r\n", "\n")


def test_brackets_stay_in_the_help_on_a_terminal() -> None:
    for columns in (60, 100):
        output = run_at_terminal(columns, "search", "--help", NO_COLOR="1")
        words = re.sub("\x1b\\[[0-9;]*m", "", output).split()
        assert "[upos=VERB]|[upos=ADJ]." in words


def test_help_has_panels_on_a_terminal() -> None:
    output = run_at_terminal(80, "train", "--help", NO_COLOR="1")
    plain = re.sub("\x1b\\[[0-9;]*m", "", output)
    assert re.findall("╭─ (\\w+) ─", plain) == [
        "Arguments", "Output", "Data", "Model", "Training", "Machine", "Other"
    ]  # fmt: skip
    assert max(map(len, plain.splitlines())) == 80 and "…" not in plain and "<str>" not in plain
    assert not re.search("\x1b\\[[0-9;]*3[0-7]", output)  # no colours
    assert re.search("\x1b\\[[0-9;]*3[0-7]", run_at_terminal(80, "--help"))


def test_help_in_a_narrow_terminal_is_plain_text() -> None:
    output = run_at_terminal(40, "train", "--help")
    titles = re.findall(r"^(\w+):$", output, flags=re.M)
    assert titles == ["Arguments", "Output", "Data", "Model", "Training", "Machine", "Other"]
    assert "\x1b" not in output and max(map(len, output.splitlines())) <= 40


ROW = "1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n"


@pytest.mark.parametrize(
    "arguments",
    [
        "stats -", "stats - -q", "check -", "show", "convert - --to conllu", "eval - {file}",
        "analyze {file} -", "parse", "tag",
    ],
)  # fmt: skip
def test_reading_from_the_keyboard_prints_a_note(arguments: str, tmp_path) -> None:
    trees = (ROW + "\n") * 2
    (tmp_path / "gold.conllu").write_text(trees)
    words = arguments.format(file=tmp_path / "gold.conllu").split()
    output = run_at_terminal(80, *words, typed=trees + "\x04")
    note = "depkit: note: the input is read from the keyboard; press Ctrl-D to end it\n"
    assert output.count(note) == ("-q" not in words)


@pytest.mark.parametrize(
    ("line", "status"),
    [("--version 2>&-", 0), ("nonsense 2>&-", 2), ("nonsense 2>/dev/full", 2),
     ("stats nowhere 2>&-", 1), ("--help > /dev/full", 1), ("stats - <&-", 1)],
)  # fmt: skip
def test_closed_streams_do_not_change_the_status(line: str, status: int) -> None:
    command = f"{sys.executable} -m depkit {line}"
    result = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert result.returncode == status
    assert "depkit: error" not in result.stdout and "internal" not in result.stderr


@pytest.mark.parametrize("arguments", ["--help", "eval --help", "--version", "info"])
@pytest.mark.parametrize(
    ("stream", "problem"), [(">&-", "is closed"), ("> /dev/full", ": No space left on device")]
)
def test_an_error_of_stdout_names_it(arguments: str, stream: str, problem: str) -> None:
    command = f"{sys.executable} -m depkit {arguments} {stream}"
    result = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    message = f"depkit: error: standard output {problem}\n".replace(" :", ":")
    assert (result.returncode, result.stderr) == (1, message)


def test_output_is_utf_8_whatever_the_locale(tmp_path) -> None:
    (tmp_path / "gold.conllu").write_text(ROW.replace("root", "漢") + "\n", "utf-8")
    files = [tmp_path / "gold.conllu"] * 2
    result = subprocess.run(
        [sys.executable, "-m", "depkit", "analyze", *files, "--by", "deprel"],
        capture_output=True, env={**os.environ, "PYTHONIOENCODING": "latin-1"},
    )  # fmt: skip
    assert (result.returncode, result.stderr) == (0, b"")
    assert "漢" in result.stdout.decode()


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_disk_that_becomes_full_within_the_output_is_an_error(unbuffered: str, tmp_path) -> None:
    """Without a buffer, Python would ignore that only a part of the text was written."""
    resource = pytest.importorskip("resource", reason="Windows does not limit the size of files")
    with open(tmp_path / "stdout", "wb") as stdout:
        result = subprocess.run(
            [sys.executable, "-m", "depkit", "stats", TINY, "--json"],
            stdout=stdout, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)),
        )  # fmt: skip
    assert result.returncode == 1
    assert result.stderr == "depkit: error: standard output: File too large\n"


READER = """
import os, sys
os.close(os.open(sys.argv[1], os.O_RDONLY))
"""


@pytest.mark.parametrize(
    "command",
    [
        "convert {tiny} --to conllx -o {fifo}",
        "show {tiny} --svg {fifo}",
        "report {tiny} {tiny} -o {fifo}",
    ],
)
@pytest.mark.parametrize("stdout", ["open", "closed"])
def test_a_fifo_whose_reader_ends_is_an_error(command: str, stdout: str, tmp_path) -> None:
    fifo, large = tmp_path / "fifo", tmp_path / "large.conllu"
    os.mkfifo(fifo)
    large.write_bytes(TINY.read_bytes() * 100)  # more than a pipe holds
    words = command.format(tiny=large, fifo=fifo).split()
    with (
        subprocess.Popen([sys.executable, "-c", READER, fifo]) as reader,
        subprocess.Popen(
            ["false"] if stdout == "closed" else ["cat"], stdin=subprocess.PIPE
        ) as consumer,
    ):
        result = subprocess.run(
            [sys.executable, "-m", "depkit", *words], stdout=consumer.stdin,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        consumer.stdin.close()
        reader.kill()  # if the command has not opened the FIFO
    message = f"depkit: error: {fifo}: Broken pipe\n"
    assert (result.returncode, result.stderr) == (1, message)


def test_an_upload_that_breaks_is_an_error(tmp_path, monkeypatch, capfd) -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")

    def break_connection(*arguments: object) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    monkeypatch.setattr(type(memory), "put_file", break_connection)
    assert run(["convert", str(TINY), "-o", "memory://out.conllu"]) == 1
    error = "depkit: error: memory://out.conllu: Broken pipe\n"
    assert capfd.readouterr().err == error and not memory.exists("/out.conllu")


def test_reading_from_a_pipe_prints_no_note() -> None:
    command = [sys.executable, "-m", "depkit", "stats", "-"]
    result = subprocess.run(command, input=f"{ROW}\n", capture_output=True, text=True, check=True)
    assert result.stderr == ""


def test_every_argument_and_option_has_a_help_and_every_help_a_parameter() -> None:
    for name in COMMANDS:
        parameters = [x for x in subcommand(name).params if not x.hidden]
        assert [x.name for x in parameters if not x.help] == [], name
        names = {x.metavar for x in parameters} | {option for x in parameters for option in x.opts}
        assert read_description(name, "")[1].keys() <= names, name


def test_an_error_in_an_argument_of_the_library_names_the_option(capfd) -> None:
    message = "depkit: error: --preset: it sets the groupings and bins; leave out --by and --bins;"
    arguments = ["analyze", str(TINY), str(TINY), "--preset", "conllx", "--by", "upos"]
    assert_fails(capfd, arguments, 2, message)


@pytest.mark.parametrize(
    "command",
    [
        "suspects t -o t",
        "suspects t --parses copy -o copy",
        "suspects t --where p -o p",
        "diff t copy -o t",
        "diff t copy -o copy",
        "search p t -o t",
        "search p t -o link --format html",
        "search p t -o p --count",
        "show t --svg t",
        "show copy --diff t --tikz hard",
        "show t --where p --svg p",
        "report t copy -o t",
        "report copy t -o link",
        "select t -o hard",
        "select copy --without t -o t",
        "select t --where p -o p",
        "select parts/a.conllu --split a=0.5,b=0.5 --output-dir parts",
        "select t --without parts/a.conllu --split a=0.5,b=0.5 --output-dir parts",
        "analyze t copy --plot t.svg --train t.svg",
        "analyze t t.svg --plot t.svg --confusion deprel",
        "analyze t t.svg --plot t.svg --oracle 2",
        "convert t --to conllx -o t",
        "convert t --merge copy --to conllu -o copy",
        "convert t --enhance-like copy --to conllu -o copy",
        "parse t -o t",
        "parse t --elmo copy -o copy",
        "parse t --enhance-like copy -o copy",
        "tag parts/a.conllu --output-dir parts",
        "jackknife t -o t",
    ],
)
def test_no_command_overwrites_a_file_that_it_reads(command, capfd, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkdir("parts")
    for name in ("t", "copy", "t.svg"):
        (tmp_path / name).write_bytes(TINY.read_bytes())
    (tmp_path / "parts" / "a.conllu").write_bytes((HERE / "data" / "search.conllu").read_bytes())
    (tmp_path / "p").write_text("pattern { X [upos=VERB] }")
    (tmp_path / "link").symlink_to("t")
    (tmp_path / "hard").hardlink_to("t")
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert_fails(capfd, command.split(), 2, "is one of the files to read; write to another file")
    assert files == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
