"""Man pages, completions and licences are installed with the modules."""

import re
import tomllib
from pathlib import Path

import depkit
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


def test_the_distribution_has_a_name_of_its_own() -> None:
    name = PROJECT["project"]["name"]
    assert name == "depkit-parser"
    assert list(PROJECT["project"]["scripts"]) == ["depkit"]
    # No hint tells anybody to install the distribution of another project, which is called depkit.
    files = [*TOP.rglob("depkit/**/*.py"), *TOP.rglob("depkit/**/*.txt"), *TOP.glob("man/*")]
    texts = {path: path.read_text("utf-8") for path in [*files, TOP / "README.md"]}
    pattern = re.compile(r"pip install (?:-\S+ )*'?([\w-]+)\[(\w+)\]")
    hints = [match.groups() for text in texts.values() for match in pattern.finditer(text)]
    extras = PROJECT["project"]["optional-dependencies"]
    assert len(hints) >= 5 and {hint[0] for hint in hints} == {name}
    assert {hint[1] for hint in hints} <= set(extras)
    wrong = re.compile(r"pip install (-U )?'?depkit\b(?!-)(?!` would install another)")
    assert not [path for path, text in texts.items() if wrong.search(text)]


def test_the_version_is_cited() -> None:
    citation = (TOP / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {depkit.__version__}\n" in citation
    assert "maintainers" in citation


def test_every_upper_bound_has_a_reason() -> None:
    lines = (TOP / "pyproject.toml").read_text("utf-8").splitlines()
    bounded = [i for i, line in enumerate(lines) if re.match(r'    "[\w-]+>=[\w.]+,<', line)]
    assert len(bounded) >= 3
    for index in bounded:
        assert "#" in lines[index] or lines[index - 1].strip().startswith("#"), lines[index]
