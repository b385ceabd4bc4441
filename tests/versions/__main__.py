"""Runs tests with the oldest or the newest dependencies that pyproject.toml allows.

`python -m tests.versions oldest DIR` makes a virtual environment in DIR, installs the lowest
version of each dependency there, and runs the tests of what depends on them; `newest` installs the
highest.
The newest torch is used in both cases, because old ones are gigabytes that change little.
"""

import argparse
import subprocess
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEWEST_ALWAYS = {"torch", "spacy"}
TESTS = [
    "corpus/test_parquet.py", "corpus/test_token_list.py", "parsers/inputs/test_elmo.py",
    "parsers/inputs/test_transformer.py", "parsers/inputs/test_pieces.py",
    "trees/test_decode.py", "trees/test_compiled.py", "score/test_conll18.py",
    "cli/test_usage.py", "cli/test_tables.py", "cli/test_tag.py", "cli/test_plot.py",
]  # fmt: skip


def requirements(kind: str) -> list[str]:
    """Return the requirements of the package and its extras, with a fixed version if oldest."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    listed = [*project["dependencies"], *(text for name in extras for text in extras[name])]
    if kind == "newest":
        return list(dict.fromkeys(listed))
    fixed = {}
    for text in listed:
        name, bound, version = text.partition(">=")
        is_fixed = bound and name not in NEWEST_ALWAYS
        fixed[name] = f"{name}=={version.partition(',')[0]}" if is_fixed else text
    return [text for name, text in fixed.items() if name != "spacy"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.versions", description=__doc__)
    parser.add_argument("kind", choices=["oldest", "newest"])
    parser.add_argument("directory", type=Path)
    arguments = parser.parse_args()
    venv.create(arguments.directory, with_pip=True)
    python = str(arguments.directory / "bin" / "python")
    install = [python, "-m", "pip", "install", "-q"]
    subprocess.run([*install, *requirements(arguments.kind)], check=True)
    subprocess.run([*install, "--no-deps", "-e", str(ROOT)], check=True)
    tests = [str(ROOT / "tests" / name) for name in TESTS]
    subprocess.run([python, "-m", "pytest", "-n", "0", *tests], check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
