"""The parts of the input: their modules need torch, but nothing else of them; one can be added."""

import pkgutil
import subprocess
import sys

import pytest
from safetensors.torch import load_file

import depkit
from depkit.cli.main import run as depkit_main
from depkit.corpus.sentence import new_sentence
from depkit.files.errors import FormatError
from depkit.parsers import inputs
from depkit.parsers.config import Inputs
from depkit.parsers.inputs import parts
from depkit.parsers.model_directory import WEIGHTS
from tests.parsers.inputs.toy_input import Vowels
from tests.training.small_runs import run, small_recipe

# The input layer, and what runs or loads a transformer
WITH_TORCH = {
    "context_vectors", "hidden_layers", "layer", "piece_inputs", "transformer",
    "transformer_encoder",
}  # fmt: skip


def test_what_encodes_sentences_imports_no_torch():
    names = {module.name for module in pkgutil.iter_modules(inputs.__path__)}
    assert names > WITH_TORCH
    imports = "; ".join(
        f"import depkit.parsers.inputs.{name}" for name in sorted(names - WITH_TORCH)
    )
    code = f"import sys; {imports}; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_parts_of_a_group_follow_each_other():
    groups = [kind.group for kind in parts.PARTS]
    assert groups == sorted(groups, key=groups.index)
    assert len({kind.name for kind in parts.PARTS}) == len(parts.PARTS)


@pytest.mark.parametrize("combine", ["concat", "sum"])
def test_a_toy_input_can_be_trained_saved_loaded_and_described(
    combine, tiny, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(parts, "PARTS", (*parts.PARTS, Vowels))
    recipe = small_recipe(inputs=Inputs(word=5, combine=combine), epochs=2)
    Vowels.lengths.clear()
    run(recipe, tiny, tmp_path / "m")
    assert Vowels.lengths
    weights = load_file(tmp_path / "m" / WEIGHTS)
    assert weights["inputs.vowels.weight"].shape[1] == 5
    parser = depkit.load(tmp_path / "m", device="cpu")
    assert parser.vocabulary.tables["vowels"].symbols[3:] != []
    assert "over words, vowels" in repr(parser)
    Vowels.lengths.clear()
    assert len(list(parser.parse(tiny))) == len(tiny)
    assert Vowels.lengths
    with pytest.raises(FormatError, match="no vowels"):
        list(parser.parse([new_sentence(["xyz"])]))
    assert depkit_main(["info", str(tmp_path / "m")]) == 0
    assert "vowels" in capsys.readouterr().out
