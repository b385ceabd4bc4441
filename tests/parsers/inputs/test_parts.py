"""The parts of the input: their modules need torch, but nothing else of them; one can be added."""

import json
import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

from safetensors.torch import load_file

from depkit.corpus.io import read, write
from depkit.corpus.sentence import new_sentence
from depkit.parsers import inputs
from depkit.parsers.inputs import parts
from depkit.parsers.inputs.tables import SPECIAL
from depkit.parsers.model_directory import CONFIG, VOCABULARY, WEIGHTS
from tests.conftest import TINY

RECIPE = TINY.with_suffix(".toml")

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


def run_with_vowels(*commands):
    """Run commands of depkit in a process that has the toy input; return their statuses."""
    separated = [argument for command in commands for argument in ("+", *map(str, command))][1:]
    result = subprocess.run(
        [sys.executable, "-m", "tests.parsers.inputs.toy_input", *separated],
        capture_output=True, text=True, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    lines = result.stderr.splitlines()
    return [line for line in lines if line.startswith("status")], result


def test_a_toy_input_can_be_set_trained_saved_used_and_described(tmp_path):
    bad = tmp_path / "bad.conllu"
    write([new_sentence(["xyz"])], bad)
    model, parsed = tmp_path / "m", tmp_path / "parsed.conllu"
    settings = [
        "inputs.vowels=32", "inputs.vowel_dropout=0.5", "inputs.affix=0", "inputs.prior=0",
        "inputs.combine=sum", "training.epochs=2", "tokenizer.enabled=false",
    ]  # fmt: skip
    statuses, result = run_with_vowels(
        ["train", TINY, "--dev", TINY, "-o", model, "--config", RECIPE, "--device", "cpu",
         *set_options(settings)],
        ["parse", TINY, "-o", parsed, "--model", model, "--device", "cpu"],
        ["info", model],
        ["parse", bad, "--model", model, "--device", "cpu"],
    )  # fmt: skip
    assert statuses == ["status 0", "status 0", "status 0", "status 1"], result.stderr
    assert len(list(read(parsed))) == len(list(read(TINY)))
    assert "a word has no vowels" in result.stderr
    inputs = tomllib.loads((model / CONFIG).read_text())["inputs"]
    assert (inputs["vowels"], inputs["vowel_dropout"]) == (32, 0.5)
    weights, vocabulary = load_file(model / WEIGHTS), json.loads((model / VOCABULARY).read_text())
    assert weights["inputs.vowels.weight"].shape == (len(vocabulary["vowels"]), 32)
    assert len(vocabulary["vowels"]) > len(SPECIAL)
    assert f"{len(vocabulary['vowels']) - len(SPECIAL)} vowels" in result.stdout
    assert "words, characters, vowels" in " ".join(result.stdout.split())


def test_settings_of_a_toy_input_are_checked(tmp_path):
    train = ["train", TINY, "--dev", TINY, "-o", tmp_path / "m", "--config", RECIPE]
    transformer = [
        "encoder.kind=transformer", "inputs.context.source=transformer", "inputs.context.model=x",
        "inputs.context.tune=true", "inputs.context.size=0",
        "inputs.word=0", "inputs.char=0", "inputs.affix=0", "inputs.prior=0",
    ]  # fmt: skip
    cases = [
        (["inputs.vowels=-1"], "inputs.vowels is -1; it takes 0 or more"),
        (["inputs.vowel_dropout=0.5"], "inputs.vowel_dropout has no effect without inputs.vowels"),
        ([*transformer, "inputs.vowels=5"], "inputs.vowels must be 0, because the transformer"),
    ]
    statuses, result = run_with_vowels(*([*train, *set_options(settings)] for settings, _ in cases))
    assert statuses == ["status 2"] * len(cases), result.stderr
    errors = [line for line in result.stderr.splitlines() if "error" in line]
    for error, (_, message) in zip(errors, cases, strict=True):
        assert message in error


def set_options(settings):
    return [argument for text in settings for argument in ("--set", text)]
