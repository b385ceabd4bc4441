"""The trials of tests/faults notice what a small stand-in for a command does wrong."""

import sys

import pytest

from depkit.cli.main import COMMANDS as SUBCOMMANDS
from tests.faults.__main__ import main
from tests.faults.commands import COMMANDS
from tests.faults.disk import can_mount, try_full_disks
from tests.faults.kill import try_kills
from tests.faults.outputs import find_incomplete
from tests.faults.processes import Command

WRITER = """
import os, sys, time
way = sys.argv[1]
try:
    if "child" in way and not os.fork():
        time.sleep(0.2)
        os._exit(0)
    name = "out" if "direct" in way else ".out.part"
    with open(name, "a" if "append" in way else "w") as file:
        for number in range(10):
            time.sleep(0.03 if "append" in way else 0.005)  # long, compared with the start
            file.write(f"{number}" * 2000)
            file.flush()
    os.replace(name, "out")
except OSError as error:
    sys.exit(f"depkit: error: {'in' if 'input' in way else 'out'}: {error.strerror}")
"""


def make_command(way: str) -> Command:
    return Command([way], [sys.executable, "-S", "-E", "-c", WRITER])


@pytest.mark.parametrize(
    ("way", "fault"), [("atomic child", None), ("direct", None), ("direct append", "out differs")]
)
def test_kills_show_what_a_command_loses(way, fault, tmp_path):
    lines = []
    faults = try_kills(make_command(way), tmp_path, 12, say=lines.append)
    assert lines[1].startswith("12 kills (") and " 0 orphans" in lines[1]
    assert not faults if fault is None else any(fault in found for found in faults)


@pytest.mark.parametrize(
    ("way", "fault"),
    [
        ("atomic", None), ("direct", "out is incomplete"),
        ("atomic input", "does not name the file that is written: depkit: error: in:"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("limit_files", [True, False])
def test_full_disks_show_what_a_command_leaves_and_says(way, fault, limit_files, tmp_path):
    if not limit_files and not can_mount(tmp_path):
        pytest.skip("no file system can be mounted here")
    lines = []
    faults = try_full_disks(
        make_command(way), tmp_path, 3, say=lines.append, limit_files=limit_files
    )
    assert lines[1].startswith("3 disks, ") and " 0 of them" not in lines[1]
    assert not faults if fault is None else any(fault in found for found in faults)


def test_every_subcommand_is_among_the_commands_for_fault_injection():
    assert {arguments.split()[0] for arguments, _ in COMMANDS.values()} == SUBCOMMANDS.keys()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kill", "trian"], "there is no command trian"), (["disk"], "give either names"),
        (["kill", "train", "--", "info"], "give either names"),
    ],
)  # fmt: skip
def test_names_and_command_lines_are_not_mixed(arguments, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert message in capsys.readouterr().err


def test_files_of_an_unfinished_training_are_complete_if_they_can_be_read():
    header = {"weight": {"data_offsets": [0, 4]}}
    found = {
        "a.safetensors": (header, b"1234"), "b.safetensors": (header, b"123"), "c.toml": b"a = 1",
        "d.toml": b"a = ", "log.jsonl": '{"a', ".x.1.part/x": b"", "out": b"1", "same": b"1",
    }  # fmt: skip
    assert find_incomplete({"same": b"1"}, found) == [
        f"{name} is incomplete" for name in ("b.safetensors", "d.toml", "out")
    ]
