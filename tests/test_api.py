"""The Python API: what `import depkit` offers, and that it costs nothing before it is used."""

import subprocess
import sys

import pytest

import depkit
from tests.conftest import TINY
from tests.parsers.test_base import make


def test_read_parse_write_evaluate(tiny, tmp_path):
    parser = make(tiny)
    count = depkit.write(parser.parse(depkit.read(TINY)), tmp_path / "out.conllu")
    assert count == 24
    scores = depkit.evaluate(TINY, tmp_path / "out.conllu")
    assert scores.words == 182 and 0 <= scores.LAS <= scores.UAS <= 100
    assert depkit.evaluate(tiny, tiny).LAS == 100


def test_errors_are_public(tmp_path):
    (tmp_path / "bad.conllu").write_text("1\ta\n\n")
    with pytest.raises(depkit.FormatError) as error:
        list(depkit.read(tmp_path / "bad.conllu"))
    assert error.value.line == 1


def test_every_name_is_there():
    for name in depkit.__all__:
        assert getattr(depkit, name)
        assert name in dir(depkit)
    with pytest.raises(AttributeError):
        depkit.nonsense  # noqa: B018


@pytest.mark.parametrize("used", ["", "depkit.read", "depkit.write", "depkit.evaluate"])
def test_nothing_heavy_is_imported_before_load(used):
    code = (
        f"import sys, depkit; {used}\n"
        "heavy = {'torch', 'numba', 'transformers'} & sys.modules.keys()\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
