"""An exported directory parses without depkit as depkit does."""

import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from depkit.corpus import letter_case
from depkit.corpus.io import read
from depkit.corpus.sentence import new_sentence
from depkit.parsers.columns import edit_scripts
from depkit.parsers.config import Inputs
from depkit.parsers.engine.standalone import apply_script, best_tree, lower, node_names
from depkit.parsers.export import export_model
from depkit.parsers.inputs.priors import NO_NODE, _name_nodes
from depkit.parsers.loading import load
from depkit.parsers.model_directory import find_model
from depkit.parsers.standalone import GUIDE, PROGRAM, find_obstacle
from tests.parsers.small_parsers import make_random_parser, save_parser

DATA = Path(__file__).parents[2] / "data"
EWT = Path(__file__).parents[4] / "shared/data/ud-english-ewt/en_ewt-ud-dev.conllu"
COLUMNS = ("upos", "xpos", "feats", "head", "deprel")
# Runs the program where depkit and torch cannot be imported.
BLOCKED = """
import runpy, sys
for name in ("depkit", "torch", "safetensors", "onnx"):
    sys.modules[name] = None
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def run_alone(directory, sentences):
    """Parse sentences with the program in a directory; return columns of each sentence."""
    text = "".join(" ".join(sentence.form) + "\n" for sentence in sentences)
    result = subprocess.run(
        [sys.executable, "-c", BLOCKED, directory / PROGRAM],
        input=text.encode(), capture_output=True, check=True, cwd=directory,
    )  # fmt: skip
    output = directory / "output.conllu"
    output.write_bytes(result.stdout)
    return list(read(output))


def columns(sentences, names=COLUMNS):
    return [[getattr(sentence, name) for name in names] for sentence in sentences]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["en-ewt"])
def test_a_bundled_model_parses_as_with_depkit(name, tmp_path):
    directory = tmp_path / "model"
    export_model(name, output=directory)
    shutil.copytree(find_model(name), tmp_path / "bundled")
    for graph in tmp_path.glob("bundled/*.onnx"):  # those of the same calibration
        shutil.copy(directory / graph.name, graph)
    file = EWT if EWT.is_file() and name == "en-ewt" else DATA / "tiny.conllu"
    sentences = [sentence for sentence in read(file) if " " not in "".join(sentence.form)][:60]
    plain = [new_sentence(sentence.form) for sentence in sentences]
    expected = list(load(tmp_path / "bundled", engine="onnx").parse(plain, "predict"))
    found = run_alone(directory, plain)
    assert columns(found) == columns(expected)
    assert len(found) == len(plain) > 2
    lemmas = [
        [lemma for sentence in each for lemma in sentence.lemma] for each in (found, expected)
    ]
    same = np.mean([a == b for a, b in zip(*lemmas, strict=True)])
    assert same > 0.9  # depkit also has a dictionary of lemmas
    guide = (directory / GUIDE).read_text()
    for array in ("prior.feats.values", "form_sizes", "`arc`", "`labels`", "float", "int64"):
        assert array in guide


@pytest.mark.parametrize("root", [pytest.param("single", marks=pytest.mark.exhaustive), "multi"])
def test_random_models_parse_as_with_depkit(root, tiny, tmp_path):
    inputs = Inputs(word=6, char=4, affix=5, treebank=3)
    parser = make_random_parser(tiny, 1, inputs=inputs, root=root, encoder="selfatt")
    save_parser(parser, tmp_path / "model")
    directory = tmp_path / "alone"
    export_model(tmp_path / "model", tiny, directory)
    expected = load(directory, engine="onnx").parse([new_sentence(s.form) for s in tiny], "predict")
    assert columns(run_alone(directory, tiny), ("head", "deprel")) == columns(
        expected, ("head", "deprel")
    )


@pytest.mark.parametrize(
    ("settings", "obstacle"),
    [
        ({}, ""),
        ({"inputs": Inputs(word=6, tag=4)}, "it reads tag"),
        ({"inputs": Inputs(word=6, char=4, char_boundaries=True)}, "characters that mark"),
    ],
)
def test_an_obstacle_is_named(settings, obstacle, tiny):
    config = make_random_parser(tiny, 1, **settings).config
    assert obstacle in find_obstacle(config) and bool(find_obstacle(config)) == bool(obstacle)
    eisner = replace(config, decoder=replace(config.decoder, algorithm="eisner"))
    assert find_obstacle(eisner) == (
        find_obstacle(config) or "it decodes with the algorithm eisner"
    )


def is_tree(heads):
    for word in range(1, len(heads) + 1):
        seen = set()
        while word and word not in seen:
            seen.add(word)
            word = heads[word - 1]
        if word:
            return False
    return True


@pytest.mark.parametrize("single_root", [True, False])
def test_trees_are_the_best_of_all(single_root):
    random = np.random.default_rng(1)
    for size in (1, 2, 3, 4):
        trees = [
            heads for heads in product(range(size + 1), repeat=size)
            if is_tree(heads) and (not single_root or heads.count(0) == 1)
        ]  # fmt: skip
        for number in range(40):
            scores = random.normal(size=(size + 1, size + 1))
            if number % 2:
                scores = np.round(scores)  # with ties
            totals = [sum(scores[i, h] for i, h in enumerate(heads, start=1)) for heads in trees]
            found = best_tree(scores, single_root)
            assert tuple(found) in trees
            total = sum(scores[i, h] for i, h in enumerate(found, start=1))
            assert total == pytest.approx(max(totals))


@pytest.mark.parametrize("dotless", [True, False])
def test_words_have_the_same_lower_case_and_the_same_endings(dotless):
    for word in ("KIŞ", "İyi", "Haus"):
        assert lower(word, dotless) == letter_case.lower(word, dotless)
        names = [name for (name,) in _name_nodes([word], dotless) if name != NO_NODE]
        assert node_names(word, dotless) == names


def test_edit_scripts_give_the_same_lemmas():
    pairs = ("went go", "Dogs dog", "USA USA", "its its", "better good", "I I", "ran RUN", "a b")
    for form, lemma in map(str.split, pairs):
        script = edit_scripts.edit_script(form, lemma)
        for other in ("Houses", "x", form, "Übung", "İYİ"):
            assert apply_script(other, script) == edit_scripts.apply_script(other, script)
