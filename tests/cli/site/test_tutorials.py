"""The blocks of the tutorials are run as they stand, and print what is shown."""

from importlib.util import find_spec

import pytest

from depkit.cli.site.text_pages import TUTORIALS, read_blocks
from tests.cli.site.tutorial import Tutorial

NEEDS = {"tutorial-engineer": "pyarrow", "tutorial-teacher": "matplotlib"}


@pytest.mark.parametrize("name", ["index", *(f"tutorial-{name}" for name in TUTORIALS)])
def test_a_tutorial_does_what_it_shows(name, tmp_path, monkeypatch):
    if not find_spec(NEEDS.get(name, "depkit")):
        pytest.skip(f"{NEEDS[name]} is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "")  # restored after the test
    blocks = [block for block in read_blocks(name) if block.kind == "code"]
    tutorial = Tutorial()
    for block in blocks:
        tutorial.run(block)
    assert tutorial.run_blocks == len(blocks) > 0
