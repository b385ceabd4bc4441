"""Training of a tokenizer from a treebank's text."""

import json
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock, call

import numpy as np
import onnxruntime
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save

from depkit.corpus.text import read_text
from depkit.parsers.engine.export import export_tokenizer
from depkit.parsers.inputs.treebank import treebank_name
from depkit.parsers.model_directory import TOKENIZER, ModelError
from depkit.parsers.settings import ConfigError
from depkit.parsers.text.network import TokenizerNetwork
from depkit.parsers.text.tokenizer_file import read_tokenizer, read_tokenizer_notes, write_tokenizer
from depkit.training import run
from depkit.training import tokenizer as module
from depkit.training.origin import ResumeError
from depkit.training.passages import make_passages
from depkit.training.plan import Plan
from depkit.training.recipe import make_recipe
from depkit.training.tokenizer import provide_tokenizer, segmentation_scores
from depkit.training.traces import check_resumable
from tests.corpus.rows import PREDICATES, parse, row
from tests.parsers.text.small_tokenizer import make_tokenizer

CPU = torch.device("cpu")
RECIPE = make_recipe("bilstm", None, ["tokenizer.size=32", "tokenizer.rate=1e-2"])


def test_treebanks_with_text_are_recognised(tiny):
    assert module.has_text(tiny)
    assert not module.has_text(parse(PREDICATES, "conll09"))


def test_a_tokenizer_fits_a_small_treebank(tiny):
    tokenizer, scores = module.train_tokenizer(RECIPE.tokenizer, tiny, tiny, CPU)
    assert scores["tokens"] == scores["sentences"] == 100
    assert segmentation_scores(tokenizer, tiny) == scores
    text = " ".join(sentence.text for sentence in tiny)
    sentences = list(read_text([text], tokenizer.segment))
    assert [sentence.form for sentence in sentences] == [sentence.form for sentence in tiny]


def make_treebank(name, words_per_sentence, random):
    """Return 20 words, each with a full stop, as sentences of that many words."""
    sentences = []
    for _ in range(20 // words_per_sentence):
        words = random.choice(["yes", "no", "tall", "small"], size=words_per_sentence).tolist()
        rows = []
        for index, word in enumerate(words):
            rows.append(row(2 * index + 1, word, 2 * index, "x")[:-2] + "SpaceAfter=No\n")
            rows.append(row(2 * index + 2, ".", 2 * index + 1, "punct"))
        sentences += parse("".join(rows) + "\n")
    for sentence in sentences:
        sentence.file = f"{name}-ud-train.conllu"
    return sentences


def test_text_is_split_as_in_the_first_treebank():
    random = np.random.default_rng(1)
    sentences = make_treebank("a", 20, random) + make_treebank("b", 1, random)
    text = " ".join(f"{word}." for word in random.choice(["yes", "no", "tall"], size=20))

    def count(treebanks):
        tokenizer, _ = module.train_tokenizer(
            RECIPE.tokenizer, sentences, sentences, CPU, treebanks=treebanks
        )
        return len(tokenizer.segment([text])[0])

    assert count(["a", "b"]) < 9  # 3 to 6 with four seeds, but 11 to 18 if vectors are not used
    assert count(["b", "a"]) == 20


def test_dev_sentences_of_other_treebanks_are_scored_only_if_there_are_no_others(monkeypatch):
    scored = []

    def score(tokenizer, sentences):
        scored.append({treebank_name(sentence) for sentence in sentences})
        return {"tokens": 100.0, "sentences": 100.0}

    monkeypatch.setattr(module, "segmentation_scores", score)
    random = np.random.default_rng(1)
    a, b, other = (make_treebank(name, 2, random) for name in ("a", "b", "c"))
    for dev in (a + b, b, b + other):
        module.train_tokenizer(
            RECIPE.tokenizer, a + b, dev, CPU, max_time=1e-9, treebanks=["a", "b"]
        )
    assert scored == [{"a"}, {"b"}, {"c"}]


def test_the_treebank_of_the_tokenizer_is_the_largest_or_that_of_the_settings(tmp_path):
    random = np.random.default_rng(1)
    without_text = parse(PREDICATES, "conll09") * 50
    for sentence in without_text:
        sentence.file = "c-ud-train.conllu"
    sentences = make_treebank("a", 2, random) + make_treebank("b", 1, random) + without_text

    def treebanks(*settings):
        recipe = make_recipe("bilstm", None, settings)
        plan = Plan(recipe=recipe, train=sentences, dev=sentences, directory=tmp_path, device=CPU)
        return module.list_treebanks(plan)

    assert treebanks() == [""]
    assert treebanks("inputs.treebank=4") == ["b", "c", "a"]
    assert treebanks("inputs.treebank=4", "tokenizer.treebank=a") == ["a", "c", "b"]
    for name in "cd":  # c has no text
        with pytest.raises(
            ConfigError, match=rf"'{name}' is not the name of .* with text; .* b, a"
        ):
            treebanks("inputs.treebank=4", f"tokenizer.treebank={name}")
    with pytest.raises(ConfigError, match=r"with vectors of treebanks \(inputs\.treebank\)"):
        treebanks("tokenizer.treebank=a")


def test_a_run_is_not_resumed_with_other_treebanks(tmp_path):
    random = np.random.default_rng(1)
    a, b = make_treebank("a", 2, random), make_treebank("b", 1, random)

    def repeat(*settings):
        recipe = make_recipe("bilstm", None, ["tokenizer.size=4", *settings])
        return provide(recipe, a + b, tmp_path, max_time=1e-9)

    seconds = repeat("inputs.treebank=4")
    assert repeat("inputs.treebank=4") == seconds
    with pytest.raises(ResumeError, match=r"was started with names of treebanks \(now none\)"):
        repeat()
    for sentence in b:
        sentence.file = "c-ud-train.conllu"
    with pytest.raises(ResumeError, match="other names of treebanks"):
        repeat("inputs.treebank=4")


def test_segmentation_scores_agree_with_scores_by_hand(tiny):
    tokenizer, _ = module.train_tokenizer(RECIPE.tokenizer, tiny[:2], tiny[:2], CPU, max_time=1e-9)
    tokenizer.network.ends.weight.data.zero_()
    # Only white space ends a token.
    tokenizer.network.ends.bias.data = torch.tensor([1.0, 0.0, 0.0])
    tokenizer.network.multiword.weight.data.zero_()
    tokenizer.network.multiword.bias.data = torch.tensor([1.0, 0.0, 0.0])
    scores = segmentation_scores(tokenizer, tiny[:2])
    # "The cat sleeps. A small dog chased the ball." has 11 gold tokens, 10 predicted tokens (the
    # last full stop is cut off), of which 9 are correct, and 2 gold sentences, but 1 predicted
    # sentence, which is wrong.
    assert scores == {"tokens": pytest.approx(200 * 9 / 21), "sentences": 0.0}


def test_a_gold_token_that_the_table_lacks_is_an_error_if_it_is_not_split():
    sentences = parse(
        "1-2\tdel\t"
        + "\t".join("_" * 8)
        + "\n"
        + row(1, "de", 0, "root")
        + row(2, "el", 1, "x")
        + "\n"
    )
    scores = segmentation_scores(make_tokenizer(), sentences)
    assert scores == {"tokens": 0, "sentences": 100}


def provide(recipe, sentences, directory, dev=None, **fields):
    return provide_tokenizer(
        Plan(
            recipe=recipe, train=sentences, dev=dev or sentences, directory=directory, device=CPU,
            **fields,
        )
    )  # fmt: skip


def test_a_copied_tokenizer_is_stored_like_the_parser(tiny, tmp_path):
    """A student of eight bits has the tokenizer of its teacher in eight bits, too."""
    trained, _ = module.train_tokenizer(RECIPE.tokenizer, tiny[:2], tiny[:2], CPU, max_time=1e-9)
    teacher = tmp_path / "teacher"
    teacher.mkdir()
    write_tokenizer(teacher, trained, {"scores": {"tokens": 1.0}})
    types = []
    for storage in ("float32", "int8"):
        recipe = make_recipe("bilstm", None, [f"training.storage={storage}"])
        directory = tmp_path / storage
        directory.mkdir()
        plan = Plan(recipe=recipe, train=tiny, dev=tiny, directory=directory, device=CPU)
        run.provide_tokenizer(plan, teacher, SimpleNamespace(tokenizer=trained))
        assert read_tokenizer_notes(directory) == {"scores": {"tokens": 1.0}}
        with safe_open(directory / TOKENIZER, "np") as file:
            types.append({file.get_slice(name).get_dtype() for name in file.keys()})
    assert "I8" not in types[0] and "I8" in types[1]


def test_a_copied_tokenizer_can_be_left_out_and_has_no_settings(tiny, tmp_path):
    trained, _ = module.train_tokenizer(RECIPE.tokenizer, tiny[:2], tiny[:2], CPU, max_time=1e-9)
    teacher = tmp_path / "teacher"
    teacher.mkdir()
    write_tokenizer(teacher, trained, {})
    note = (
        "depkit: note: the tokenizer is that of teacher, so these settings have no effect:"
        " tokenizer.rate, tokenizer.size"
    )
    sizes = [
        "tokenizer.size=8",
        "tokenizer.treebank=tiny",
        "training.rate=0.1",
        "tokenizer.rate=0.1",
    ]
    for enabled, notes in (("true", [call(note)]), ("false", [])):
        settings = [f"tokenizer.enabled={enabled}", *sizes]
        directory, progress = tmp_path / enabled, Mock()
        directory.mkdir()
        recipe = make_recipe("bilstm", None, settings[:1])
        plan = Plan(
            recipe=recipe, train=tiny, dev=tiny, directory=directory, device=CPU, progress=progress
        )  # fmt: skip
        owner = SimpleNamespace(tokenizer=trained)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            run.provide_tokenizer(plan, "teacher", owner, settings)
        assert progress.say.mock_calls == notes
        assert (directory / TOKENIZER).exists() == bool(notes)


def test_a_tokenizer_is_not_trained_again(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MIN_UPDATES", 1)
    reports = []
    quick = make_recipe("bilstm", None, ["tokenizer.size=4", "tokenizer.epochs=2"])

    def repeat(recipe=quick, seed=1):
        reports.clear()
        progress = SimpleNamespace(say=reports.append)
        return provide(recipe, tiny, tmp_path, tiny[:3], seed=seed, progress=progress)

    seconds = repeat()
    assert reports and seconds > 0
    written = (tmp_path / TOKENIZER).read_bytes()
    assert repeat() == seconds and not reports
    assert (tmp_path / TOKENIZER).read_bytes() == written
    with pytest.raises(ResumeError, match=r"started with `seed` 1 \(now 2\)"):
        repeat(seed=2)
    larger = make_recipe("bilstm", None, ["tokenizer.size=5", "tokenizer.epochs=2"])
    with pytest.raises(ResumeError, match=r"started with tokenizer\.size=4 \(now 5\)"):
        repeat(larger)
    assert (tmp_path / TOKENIZER).read_bytes() == written


@pytest.mark.parametrize("storage", ["float16", "int8"])
def test_a_training_that_has_only_written_its_tokenizer_can_be_resumed(storage, tmp_path):
    write_tokenizer(tmp_path, make_tokenizer(), {}, storage)
    check_resumable(tmp_path)
    (tmp_path / TOKENIZER).write_bytes(save({"weight": torch.zeros(1)}, {"format": "pt"}))
    with pytest.raises(ResumeError, match="not of a training by depkit"):
        check_resumable(tmp_path)


def test_a_run_that_began_before_a_setting_existed_is_resumed_with_its_default(tiny, tmp_path):
    def repeat(*settings):
        recipe = make_recipe("bilstm", "", ["tokenizer.size=4", *settings])
        return provide(recipe, tiny, tmp_path, max_time=1e-9)

    seconds = repeat()
    notes = read_tokenizer_notes(tmp_path)
    del notes["origin"]["settings"]["tokenizer.variants"]
    write_tokenizer(tmp_path, read_tokenizer(tmp_path, CPU), notes)
    assert repeat() == seconds
    with pytest.raises(ResumeError, match=r"with tokenizer\.variants=\(unset\) \(now 0\.5\)"):
        repeat("tokenizer.variants=0.5")


def test_weights_and_tables_are_saved_and_read(tiny, tmp_path):
    recipe = make_recipe("bilstm", None, ["tokenizer.size=4"])
    provide(recipe, tiny, tmp_path, max_time=1e-9)
    first, second = read_tokenizer(tmp_path, CPU), read_tokenizer(tmp_path, CPU)
    text = make_passages(tiny)[0].text
    assert first.segment([text]) == second.segment([text])
    assert first.multiwords == second.multiwords and not first.spaces
    (tmp_path / TOKENIZER).write_bytes(b"no tokenizer")
    with pytest.raises(ModelError, match=r"tokenizer\.safetensors is damaged"):
        read_tokenizer(tmp_path, CPU)
    provide(recipe, tiny, tmp_path, max_time=1e-9)
    assert np.isfinite(read_tokenizer(tmp_path, CPU).network.ends.weight.detach().numpy()).all()


def without_spaces(sentences):
    """Return a treebank with these sentences, whose words have no spaces between them."""
    text = ""
    for forms in map(str.split, sentences):
        for i, form in enumerate(forms, start=1):
            text += row(i, form, i - 1, "x").replace("\t_\n", "\tSpaceAfter=No\n")
        text += "\n"
    return parse(text)


def test_pairs_of_characters_are_read_where_words_have_no_spaces_between_them(tmp_path):
    sentences = without_spaces(["a b cd a", "bd a b c", "a bd c bd", "b cd b c a", "a b a bd"] * 4)
    settings = replace(RECIPE.tokenizer, pairs=64, rate=0.01)
    tokenizer, _ = module.train_tokenizer(settings, sentences, sentences, CPU)
    assert tokenizer.network.pairs.num_embeddings == 64
    write_tokenizer(tmp_path, tokenizer, {}, "int8")
    weight = tokenizer.network.pairs.weight
    loaded = read_tokenizer(tmp_path, CPU).network.pairs.weight
    assert (loaded - weight).abs().max() < weight.abs().max() / 100
    spaced = parse("".join(row(i, "ab", i - 1, "x") for i in range(1, 9)) + "\n")
    for name, part in (("joined", sentences), ("spaced", spaced)):
        for sentence in part:
            sentence.file = f"{name}-ud-train.conllu"
    mixed = [*sentences, *spaced]
    for names, pairs in ((["joined", "spaced"], 64), (["spaced", "joined"], 0)):
        tokenizer, _ = module.train_tokenizer(
            settings, mixed, mixed, CPU, max_time=1e-9, treebanks=names
        )
        assert tokenizer.network.num_pairs == pairs


def test_a_pair_is_a_character_and_the_following_one():
    torch.manual_seed(1)
    network = TokenizerNetwork(9, 4, 4, dilations=(1,), pairs=64).eval()
    network.embedding.weight.data.zero_()
    network.encoder = PassThrough()
    with torch.no_grad():
        first, second, padded = (
            network(torch.tensor([[5, 6, last]]), torch.tensor([3]))[0] for last in (7, 8, 0)
        )
        torch.testing.assert_close(first[:, 0], second[:, 0])
        assert ((first - second)[:, 1:].abs().amax(-1) > 1e-3).all()
        shorter, _ = network(torch.tensor([[5, 6]]), torch.tensor([2]))
        torch.testing.assert_close(shorter, padded[:, :2])  # padding makes no difference
        assert len(torch.unique(network.train()(torch.full((1, 99), 5), torch.tensor([99]))[0])) > 3
    network.eval()
    characters, sizes = np.array([[5, 6, 7, 5, 6], [6, 7, 5, 0, 0]]), np.array([5, 3])
    graph = export_tokenizer(network, [(characters, sizes)], quantize=False)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    (labels,) = session.run(None, {"characters": characters, "sizes": sizes})
    assert (labels == network.best_labels(characters, sizes)).all()


class PassThrough(torch.nn.Module):
    """An encoder that changes nothing."""

    def forward(self, x, lengths):
        return x


def test_training_can_begin_with_another_tokenizer(tiny):
    first, _ = module.train_tokenizer(RECIPE.tokenizer, tiny[:4], tiny[:4], CPU, max_time=1e-9)
    other = replace(RECIPE.tokenizer, rate=1e-9)
    second, _ = module.train_tokenizer(other, tiny, tiny, CPU, max_time=1e-9, initial=first)
    assert second.characters == first.characters
    for old, new in zip(first.network.parameters(), second.network.parameters(), strict=True):
        torch.testing.assert_close(old, new, atol=1e-6, rtol=0)


def test_damaged_tables_of_words_are_refused(tiny, tmp_path):
    tokenizer, _ = module.train_tokenizer(RECIPE.tokenizer, tiny, tiny, CPU, max_time=1e-9)
    write_tokenizer(tmp_path, tokenizer, {})
    path = tmp_path / TOKENIZER
    with safe_open(path, framework="pt") as file:
        description = json.loads(file.metadata()["tokenizer"])
    for name, value in (("before", [1]), ("after", "a"), ("patterns", ["none"])):
        damaged = save(
            dict(load_file(path)), {"tokenizer": json.dumps(description | {name: value})}
        )
        (tmp_path / TOKENIZER).write_bytes(damaged)
        with pytest.raises(ModelError, match="is damaged"):
            read_tokenizer(tmp_path, CPU)


def test_no_tokenizer_without_text_or_if_disabled(tiny, tmp_path):
    without_text = parse(PREDICATES, "conll09")
    assert provide(RECIPE, without_text, tmp_path) == 0
    disabled = make_recipe("bilstm", None, ["tokenizer.enabled=false"])
    assert provide(disabled, tiny, tmp_path) == 0
    assert not list(tmp_path.iterdir()) and read_tokenizer(tmp_path, CPU) is None


def test_a_file_with_a_clitic_without_a_hyphen_is_damaged(tmp_path):
    write_tokenizer(tmp_path, make_tokenizer(clitics=frozenset({"-tu", "tu"})), {})
    with pytest.raises(ModelError, match="clitic without a hyphen"):
        read_tokenizer(tmp_path, CPU)
