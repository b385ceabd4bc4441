"""Man pages, completions and licences are installed with the modules."""

import tomllib
from pathlib import Path

from depkit.parsers.model_directory import bundled_models

TOP = Path(__file__).parents[1]
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())


def test_man_pages_and_every_completion_are_installed() -> None:
    shared_data = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    files = {path.relative_to(TOP).as_posix() for path in (TOP / "completions").iterdir()}
    assert shared_data.keys() == {"man", *files}
    assert all(target.startswith("share/") for target in shared_data.values())


def test_every_folder_under_another_licence_contains_the_licence() -> None:
    licences = {
        path for pattern in PROJECT["project"]["license-files"] for path in TOP.glob(pattern)
    }
    folders = {TOP, *(TOP / "depkit/models" / m for m in bundled_models())}
    assert {path.parent for path in licences} == folders
