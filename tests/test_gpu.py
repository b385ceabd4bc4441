"""What runs on a GPU, on a pretend one: results are those of the CPU, and the host rarely waits."""

import json
import re
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import depkit
from depkit.corpus.io import read, write
from depkit.ensemble.distillation import DistillationJob, distill
from depkit.ensemble.members import EnsembleJob
from depkit.ensemble.training import train_ensemble
from depkit.parsers.graph import calibration
from depkit.parsers.graph.network import BiaffineNetwork
from depkit.parsers.model_directory import WEIGHTS, read_config
from depkit.training import distributed, loop, tokenizer
from tests.conftest import TINY, TREES
from tests.parsers.inputs.elmo_files import write_features
from tests.parsers.inputs.small_transformers import save_bert
from tests.pretend_gpu import WHY_NOT, Counts, counting, pretend_gpu
from tests.training.small_runs import Killed, kill_training_at

pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

TRAINING = (
    "training.epochs=1 training.batch_tokens=60 training.updates=0 training.precision=float32"
    " training.rate=0.01 training.warmup=1 tokenizer.enabled=false inputs.word_min_count=1"
)
LSTM = "encoder.kind=bilstm encoder.layers=1 encoder.size=8"
# Dropout of attention draws other random numbers on a GPU.
ATTENTION = (
    "encoder.layers=1 encoder.size=12 encoder.heads=2 encoder.head_size=6 encoder.feedforward=8"
    " encoder.attention_dropout=0"
)
BIAFFINE = "scorer.arc=7 scorer.label=5 scorer.tag_hidden=6"
TAGS = "scorer.predict=['upos','feats','lemma']"
PLAIN = "inputs.affix=0 inputs.prior=0"
CHAR = "inputs.char=6 inputs.char_embedding=4"
BERT = (
    "inputs.word=0 inputs.context.source=transformer inputs.context.model=BERT"
    " inputs.context.size=0 inputs.context.tune=true"
)
PIECES = f"{BERT} inputs.context.layers=single inputs.context.top=1"
TRANSITION = f"{ATTENTION} scorer.hidden=8 scorer.label_hidden=6 inputs.word=12 inputs.char=6"
# The recipes and settings of small models: all families, encoders and kinds of input
MODELS = {
    "characters": f"small {BIAFFINE} {LSTM} inputs.word=6 {CHAR} {TAGS}",
    "concatenated": (
        f"selfatt {BIAFFINE} {ATTENTION} inputs.word=6 {PLAIN} {CHAR} inputs.char_kind=concat"
        f" inputs.tag=6 inputs.combine=sum inputs.stop=true scorer.tag_vector=4 {TAGS}"
    ),
    "affixes": (
        f"selfatt {BIAFFINE} {ATTENTION} inputs.word=6 inputs.affix=6 inputs.affix_rows=50"
        f" inputs.prior=4 inputs.treebank=4 scorer.tag_vector=4 {TAGS}"
    ),
    "stacked": (
        f"li2019-selfatt {BIAFFINE} {ATTENTION} encoder.kind=stacked encoder.lstm_layers=1"
        " encoder.lstm_size=6 inputs.word=6 inputs.tag=4"
    ),
    "draft": f"refine {BIAFFINE} {ATTENTION} inputs.word=6 inputs.affix=6 inputs.draft=4",
    "frozen": f"bilstm {BIAFFINE} {LSTM} {BERT} inputs.context.tune=false {PLAIN}",
    "tuned": f"finetune {BIAFFINE} {BERT}",
    "pieces": f"refine {BIAFFINE} {PIECES} encoder.kind=transformer {PLAIN}",
    "elmo": (
        f"bilstm {BIAFFINE} {LSTM} inputs.word=6 {PLAIN} inputs.context.source=elmo"
        " inputs.context.top=2 inputs.context.size=0"
    ),
    "vectors": (
        f"bilstm {BIAFFINE} {LSTM} inputs.word=6 {PLAIN} inputs.vectors.file=VECTORS"
        " inputs.vectors.tune=true"
    ),
    "tagger": f"tagger {LSTM} inputs.word=6 {CHAR}",
    "sentences": f"g2g-sent {TRANSITION}",
    "states": f"g2g-state {TRANSITION} scorer.history=5",
    "composed": (
        f"g2g-state {TRANSITION} scorer.graph=false scorer.composition=true scorer.history=5"
    ),
    "bert": (
        f"mh2020-sent {PIECES} inputs.context.depth=0 scorer.hidden=8 scorer.label_hidden=6"
        " inputs.tag_column=upos"
    ),
    "trees": (
        f"kk2018 {ATTENTION} scorer.hidden=8 inputs.word=12 inputs.char=12"
        " inputs.char_embedding=4 training.batch_sentences=8 training.batch_tokens=1000"
    ),
}
# At most this many copies to the GPU, copies to the host and waits, first in an update with one
# batch, then in parsing a batch. Copies are those of a batch, of the heads that are decoded on the
# host, of the words whose lemmas are not in the dictionary, and of the characters of new forms.
# transformers looks at the mask of padding once in each call. The trees of an update of a
# constituency parser are decoded on the host.
BIAFFINE_COUNTS = (1, 0, 0), (4, 2, 2)
COUNTS = {
    "characters": ((1, 0, 0), (6, 2, 2)),
    "concatenated": ((1, 0, 0), (6, 2, 2)),
    "affixes": ((1, 0, 0), (6, 2, 2)),
    "draft": ((1, 0, 0), (6, 2, 2)),
    "frozen": ((1, 0, 2), (4, 2, 3)),
    "tuned": ((1, 0, 2), (4, 2, 3)),
    "pieces": ((2, 0, 1), (5, 2, 3)),
    "tagger": ((1, 0, 0), (4, 1, 1)),
    "trees": ((4, 1, 1), (4, 1, 1)),
}
# For transition parsers, a batch is read in steps, each of which waits at most twice. The second
# number is that of copies to the GPU in a step.
STEP_COUNTS = {
    "sentences": ((7, 0, 0), 5),
    "states": ((11, 0, 0), 8),
    "composed": ((60, 0, 0), 10),
    "bert": ((9, 0, 1), 5),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a small treebank and what models read besides it."""
    folder = tmp_path_factory.mktemp("files")
    sentences = list(read(TINY))[:14]
    treebank = folder / "tiny-ud-train.conllu"
    write(sentences, treebank)
    random = np.random.default_rng(0)
    lines = [
        " ".join((word, *(f"{x:.3f}" for x in random.normal(size=6))))
        for word in ("the", "cat", "dog", "a", "ball", ".")
    ]
    vectors = folder / "vectors.txt"
    vectors.write_text("\n".join(lines))
    return SimpleNamespace(
        treebank=treebank, sentences=sentences, vectors=vectors, bert=save_bert(folder / "bert")
    )


def job(name, files, tmp_path):
    """Return the arguments of `depkit.train` for a model."""
    text = MODELS[name].replace("BERT", str(files.bert)).replace("VECTORS", str(files.vectors))
    recipe, *settings = text.split()
    treebank = TREES if name == "trees" else files.treebank
    arguments = {
        "train": treebank, "dev": treebank, "recipe": recipe, "quiet": True, "threads": 1,
        "settings": [*TRAINING.split(), *settings],
    }  # fmt: skip
    if recipe == "refine":
        arguments |= {"parses": [treebank], "dev_parses": treebank}
    if name == "elmo":
        features = write_features(tmp_path / "elmo.hdf5", files.sentences)
        arguments |= {"elmo": [features], "dev_elmo": features}
    return arguments


def predict(name, directory, device, files, arguments):
    """Return the predictions of a model as text, and the counts of the last of two batches."""
    parser = depkit.load(directory, device=device, precision="float32", threads=1)
    sentences = list(read(TREES)) if name == "trees" else files.sentences
    options = {"tags": "predict" if parser.config.predicted_tags else "keep"}
    if name == "elmo":
        pairs = parser.attach_features(sentences, arguments["dev_elmo"])
        sentences, options["context"] = map(list, zip(*pairs, strict=True))
    run = parser.parse if parser.trees else parser.tag
    for _ in range(2):  # a frozen transformer is sent to the GPU with the first batch
        with counting() as counts:
            predicted = list(map(str, run(sentences, **options)))
    return predicted, counts


def read_losses(directory):
    records = map(json.loads, (directory / "log.jsonl").read_text("utf-8").splitlines())
    return [record["loss"] for record in records if "loss" in record]


def totals(counts):
    return tuple(part.total() for part in (counts.copies_in, counts.copies_out, counts.waits))


@pytest.mark.parametrize("name", MODELS)
def test_training_and_prediction_are_those_of_the_cpu(name, files, tmp_path, monkeypatch):
    monkeypatch.setattr(calibration, "MIN_WORDS", 10)
    arguments = job(name, files, tmp_path)
    on_cpu, on_gpu = tmp_path / "cpu", tmp_path / "gpu"
    depkit.train(output=on_cpu, device="cpu", **arguments)
    updates = []

    def update(*values):
        with counting() as counts:
            plain_update(*values)
        updates.append(counts)

    plain_update = loop._update
    monkeypatch.setattr(loop, "_update", update)
    with pretend_gpu():
        depkit.train(output=on_gpu, device="cuda", **arguments)
        predicted, batch = predict(name, on_gpu, "cuda", files, arguments)
    assert predict(name, on_gpu, "cpu", files, arguments)[0] == predicted
    assert read_losses(on_gpu) == pytest.approx(read_losses(on_cpu), rel=1e-4)
    first, second = (read_config(directory)[0] for directory in (on_cpu, on_gpu))
    if hasattr(first, "calibration"):
        # The parses that "draft" corrects are gold trees, so there is nothing to calibrate.
        assert (first.calibration != calibration.Calibration()) or name == "draft"
        for field, value in vars(first.calibration).items():
            other = getattr(second.calibration, field)
            # If a temperature hardly changes the error, rounding decides whether it is applied.
            assert other == pytest.approx(value, rel=0.02) or 1.0 in (value, other)
    print(f"\n{name}\n an update: {updates[-1]}\n a batch: {batch}")  # pytest shows it with -s
    if name in STEP_COUNTS:
        of_update, of_step = STEP_COUNTS[name]
        copies_in, copies_out, waits = totals(batch)
        own_waits = waits - batch.waits_in("transformer_encoder.py")
        assert own_waits == copies_out  # each for results that the host needs
        assert copies_in <= of_step * copies_out
    else:
        of_update, of_batch = COUNTS.get(name, BIAFFINE_COUNTS)
        assert_at_most(batch, of_batch)
    assert_at_most(updates[-1], of_update)


def assert_at_most(counts: Counts, limits):
    assert all(n <= limit for n, limit in zip(totals(counts), limits, strict=True)), str(counts)
    assert not [wait for wait in counts.waits if "not pinned" in wait], str(counts)


def test_a_resumed_training_is_that_of_the_cpu(files, tmp_path):
    arguments = job("affixes", files, tmp_path)
    arguments["settings"] = [*arguments["settings"], "training.epochs=2"]
    with pretend_gpu():
        depkit.train(output=tmp_path / "whole", device="cuda:1", **arguments)
        with kill_training_at(5), pytest.raises(Killed):
            depkit.train(output=tmp_path / "cut", device="cuda:1", **arguments)
        depkit.train(output=tmp_path / "cut", device="cuda:1", resume=True, **arguments)
    whole, cut = (load_file(tmp_path / name / WEIGHTS) for name in ("whole", "cut"))
    assert all(torch.equal(whole[name], cut[name]) for name in whole)


def test_an_ensemble_teaches_a_student(files, tmp_path):
    common = {"train": files.treebank, "dev": files.treebank, "quiet": True, "threads": 1}
    settings = [*TRAINING.split(), *BIAFFINE.split()]
    recipes = [tmp_path / f"{name}.toml" for name in ("first", "second")]
    for recipe, base in zip(recipes, ("selfatt", "bilstm"), strict=True):
        recipe.write_text(f'base = "{base}"\n[encoder]\nlayers = 1\nsize = 16\n')
    with pretend_gpu():
        train_ensemble(
            EnsembleJob(
                output=tmp_path / "ensemble", recipes=list(map(str, recipes)), folds=2,
                settings=[*settings, "inputs.word=6", "inputs.affix=6"], device="cuda", **common,
            )
        )  # fmt: skip
        distill(
            DistillationJob(
                output=tmp_path / "student", teachers=[tmp_path / "ensemble"], recipe="small",
                text=[str(files.treebank)], device="cuda",
                settings=[*settings, *LSTM.split(), "inputs.word=6", *CHAR.split()], **common,
            )
        )  # fmt: skip
    for directory in (tmp_path / "ensemble", tmp_path / "student"):
        on_cpu = predict("", directory, "cpu", files, {})[0]
        with pretend_gpu():
            predicted, counts = predict("", directory, "cuda", files, {})
        assert predicted == on_cpu
        assert_at_most(counts, (12, 2, 2))


def test_a_batch_that_does_not_fit_is_split(files, tmp_path):
    """Three threads compute batches on a GPU; each halves those that are too large."""
    depkit.train(output=tmp_path / "model", device="cpu", **job("affixes", files, tmp_path))
    plain_score, tried = BiaffineNetwork.score, []

    def score(network, batch):
        tried.append(len(batch.sizes))
        if len(batch.sizes) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
        return plain_score(network, batch)

    with pretend_gpu():
        parser = depkit.load(tmp_path / "model", device="cuda", precision="float32")
        assert parser.workers == 3
        expected = list(map(str, parser.parse(files.sentences)))
        with patch.object(BiaffineNetwork, "score", score):
            assert list(map(str, parser.parse(files.sentences, batch_tokens=60))) == expected
    assert max(tried) > 3 >= min(tried)


def test_losses_in_bfloat16_are_near_those_in_float32(files, tmp_path):
    arguments = job("affixes", files, tmp_path)
    settings = arguments.pop("settings")
    with pretend_gpu():
        for precision in ("float32", "bfloat16"):
            depkit.train(
                output=tmp_path / precision, device="cuda",
                settings=[*settings, f"training.precision={precision}"], **arguments,
            )  # fmt: skip
    first, second = (read_losses(tmp_path / name) for name in ("float32", "bfloat16"))
    assert first != second
    assert first == pytest.approx(second, rel=0.01)


def test_ranks_sum_gradients_on_the_gpu(files, tmp_path, monkeypatch):
    """The training of one rank, with collective operations that do nothing."""
    reduced = []
    arguments = job("characters", files, tmp_path)
    with pretend_gpu():
        depkit.train(output=tmp_path / "alone", device="cuda", **arguments)
        update = loop._update

        def update_as_rank(*values):
            with (
                patch.object(distributed, "_has_group", lambda: True),
                patch.object(distributed.distributed, "get_rank", lambda: 0),
                patch.object(distributed.distributed, "get_world_size", lambda: 1),
                patch.object(distributed, "_call", lambda _, x: reduced.append(x.device.type)),
                counting() as counts,
            ):
                update(*values)
            assert totals(counts) == (1, 0, 0), str(counts)

        monkeypatch.setattr(loop, "_update", update_as_rank)
        depkit.train(output=tmp_path / "rank", device="cuda", **arguments)
    assert reduced == ["cpu", "cuda"] * (len(reduced) // 2) != []
    assert read_losses(tmp_path / "rank") == read_losses(tmp_path / "alone")


def test_text_is_parsed_with_the_probabilities_of_the_cpu(files, tmp_path, monkeypatch):
    monkeypatch.setattr(tokenizer, "MIN_UPDATES", 5)
    arguments = job("characters", files, tmp_path)
    arguments["settings"] += ["tokenizer.enabled=true", "tokenizer.size=8", "tokenizer.epochs=1"]
    texts, numbers = [], []
    with pretend_gpu():
        depkit.train(output=tmp_path / "model", device="cuda", **arguments)
        for device in ("cpu", "cuda"):
            parser = depkit.load(tmp_path / "model", device=device, precision="float32")
            parsed = parser.parse("A dog chased the ball. Mary sleeps.", probabilities="local")
            text = "\n".join(map(str, parsed))
            numbers.append([float(number) for number in re.findall(r"Prob=([\d.]+)", text)])
            texts.append(re.sub(r"Prob=[\d.]+", "", text))
    assert texts[0] == texts[1]
    assert numbers[1] == pytest.approx(numbers[0], abs=2e-4)
    assert numbers[0]
