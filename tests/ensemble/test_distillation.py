"""A student learns the teacher's distributions on treebank and text; its runs can be resumed."""

from collections import Counter
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest

import depkit
from depkit.corpus.sentence import new_sentence
from depkit.ensemble import distillation, silver
from depkit.ensemble.silver import annotate_text
from depkit.ensemble.teacher import make_row_function
from depkit.files.errors import DataError
from depkit.parsers.columns.soft_targets import LABEL_HEAD, MAX_INTEGER, MAX_VALUES, column_slices
from depkit.parsers.config import Inputs
from depkit.parsers.inputs.context import Context
from depkit.parsers.inputs.dataset import IGNORED
from depkit.parsers.inputs.priors import get_priors
from depkit.parsers.inputs.tables import SPECIAL, Table
from depkit.parsers.inputs.treebank import treebank_name
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.model_directory import find_model, read_config
from depkit.parsers.settings import ConfigError
from depkit.training.data import resolve_auto
from depkit.training.loop import count_updates, train
from depkit.training.origin import ResumeError
from depkit.training.plan import Plan
from depkit.training.progress import Progress
from depkit.training.recipe import Distillation, make_recipe, trained_parts
from tests.training.small_runs import CPU, Killed, kill_training_at, same_runs, small_recipe


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(silver, "SHARD_WORDS", 40)
    monkeypatch.setattr(distillation, "SHARD_WORDS", 40)


def make_plan(recipe, sentences, directory, dev=None, **fields):
    return Plan(
        recipe=recipe, train=sentences, dev=dev or sentences, directory=directory, device=CPU,
        **fields,
    )  # fmt: skip


@pytest.fixture
def make_data(teacher, tiny, tmp_path):
    """A function that makes distillation data.

    The treebank consists of the first sentences, the text of the remaining ones.
    """

    def make(treebank=8, with_text=True, weight=0.5, text=1.0, columns=("upos",), **training):
        settings = Distillation(weight, text, list(columns))
        recipe = replace(small_recipe(**training), distillation=settings)
        recipe = resolve_auto(recipe, tiny[:treebank])
        progress = Progress(tmp_path, quiet=True)
        compute_rows = make_row_function(teacher)
        rows = distillation.provide_treebank_rows(
            compute_rows, tiny[:treebank], tmp_path, "key", progress=progress
        )
        shards = []
        if with_text:
            file = tmp_path / "text.txt"
            file.write_text("".join(f"{' '.join(sentence.form)}\n" for sentence in tiny[treebank:]))
            shards = annotate_text(
                teacher, compute_rows, [str(file)], tmp_path / "text", key="key", input="tokens"
            ).shards
        plan = make_plan(recipe, tiny[:treebank], tmp_path)
        return distillation.make_distillation_data(plan, rows, shards, teacher)

    return make


def test_epochs_use_consecutive_parts_of_the_text():
    random = np.random.default_rng(1)
    for _ in range(50):
        lengths = random.integers(2, 30, random.integers(1, 40))
        total, num_words = int(lengths.sum()), int(random.integers(1, 400))
        epochs = 5 * total  # a multiple of the cycle, so that all sentences are used equally often
        counts = Counter()
        for epoch in range(epochs if num_words < 60 else 4):
            mask = distillation.select_sentences(lengths, num_words, epoch)
            if num_words >= total:
                assert mask.all()
            else:
                # the last sentence may end after the last of these words
                assert num_words - 30 < lengths[mask].sum() < num_words + 30
            counts.update(np.flatnonzero(mask).tolist())
        if num_words < 60:
            assert set(counts) == set(range(len(lengths)))
        if num_words < 60 and num_words < total:
            assert set(counts.values()) == {5 * num_words}
    assert not distillation.select_sentences(np.array([3, 4]), 0, 1).any()
    assert distillation.select_sentences(np.array([], dtype=np.int64), 5, 1).shape == (0,)


@pytest.mark.parametrize("count", [0, 1, 2, 5, 38, 500])
def test_consecutive_shards_are_from_all_parts_of_the_text(count):
    order = distillation.interleave(range(count))
    assert sorted(order) == list(range(count))
    for size in range(5, count + 1, 7):
        for start in range(count - size + 1):
            chosen = sorted(order[start : start + size])
            gaps = np.diff([-1, *chosen, count])
            assert max(gaps) <= 4 * count / size


def test_symbols_are_matched_by_name():
    def vocabulary(*symbols):
        tables = {"deprel": Table(list(symbols)), "upos": Table(["X"])}
        return Vocabulary({"words": Table(SPECIAL), "characters": Table(SPECIAL)}, tables)

    columns = ["head", "deprel", "upos"]
    rows = np.zeros((1, 1 + 2 * MAX_VALUES * 3), dtype=np.uint16)
    rows[0, 0] = 7
    rows[0, column_slices(0)[0]], rows[0, column_slices(0)[1]] = [7, 2, 1, 0], [9, 3, 2, 1]
    rows[0, column_slices(1)[0]], rows[0, column_slices(1)[1]] = [0, 1, 2, 0], [50, 30, 20, 0]
    before = rows.copy()
    result = distillation.translate_rows(
        rows, columns, vocabulary("a", "b", "c"), vocabulary("z", "c", "a")
    )
    assert (rows == before).all()
    assert result[0, column_slices(1)[0]].tolist() == [2, 0, 1, 2]
    assert result[0, column_slices(1)[1]].tolist() == [50, 0, 20, 0]
    other_columns = np.r_[0 : column_slices(1)[0].start, column_slices(2)[0].start : rows.shape[1]]
    assert (result[0, other_columns] == rows[0, other_columns]).all()


def test_the_student_vocabulary_covers_treebank_and_text(make_data, teacher, tiny):
    small_vocabulary = make_data(treebank=2, with_text=False).student
    forms = {form.lower() for sentence in tiny[:2] for form in sentence.form}
    assert {symbol.lower() for symbol in small_vocabulary.words.symbols} <= forms | set(SPECIAL)
    data = make_data(treebank=2)
    counts = Counter(form.lower() for sentence in tiny for form in sentence.form)
    assert data.recipe.parser.inputs.word_min_count == 2
    frequent = {form for form, count in counts.items() if count >= 2}
    assert set(data.student.words.symbols[len(SPECIAL) :]) == frequent
    characters = {character for sentence in tiny for form in sentence.form for character in form}
    assert characters <= set(data.student.characters.symbols)
    for name, table in data.student.columns.items():
        assert sorted(table.symbols) == sorted(teacher.vocabulary.columns[name].symbols)
        # the treebank's symbols come first, as in training without a teacher
        symbols = {symbol for sentence in tiny[:2] for symbol in getattr(sentence, name)}
        assert set(table.symbols[: len(symbols)]) == symbols


def test_an_epoch_uses_the_treebank_and_a_part_of_the_text(make_data, teacher, tiny):
    data = make_data(text=0.5)
    num_words = sum(map(len, tiny[:8]))
    seen = set()
    for epoch in range(8):
        dataset = data.make_dataset(epoch)
        assert dataset.sizes.tolist() == data.epoch_sizes(epoch).tolist()
        assert dataset.sizes[:8].tolist() == [len(sentence) + 1 for sentence in tiny[:8]]
        assert 0.5 * num_words - 12 < (dataset.sizes[8:] - 1).sum() < 0.5 * num_words + 12
        text_start = int(dataset.starts[8])
        targets = [name for name in dataset.words if name.startswith("target.")]
        assert targets == ["target.head", "target.deprel", "target.upos"]
        assert all((dataset.words[name][text_start:] == IGNORED).all() for name in targets)
        gold = dataset.words["target.head"][1:text_start]
        heads = [head for sentence in tiny[:8] for head in sentence.head]
        assert gold[gold != IGNORED].tolist() == heads
        no_words = [0, *dataset.starts.tolist()]
        soft = [array for name, array in dataset.words.items() if name.startswith("soft.")]
        assert len(soft) == 7 and not any(array[no_words].any() for array in soft)
        known = dataset.words["soft.head.probabilities"][:, 0]
        assert np.count_nonzero(known) == len(known) - len(no_words)
        for start, size in zip(dataset.starts[8:], dataset.sizes[8:], strict=True):
            form = tuple(dataset.forms[i] for i in dataset.form[start + 1 : start + size])
            seen.add(form)
            parsed = next(teacher.parse([new_sentence(form)]))
            assert dataset.words[LABEL_HEAD][start + 1 : start + size].tolist() == parsed.head
            best = dataset.words["soft.deprel.values"][start + 1 : start + size, 0].tolist()
            symbols = data.student.columns["deprel"].symbols
            assert [symbols[index] for index in best] == parsed.deprel
    assert seen == {tuple(sentence.form) for sentence in tiny[8:]}


def test_text_is_parsed_in_the_style_of_the_named_treebank(teacher, tiny, tmp_path):
    seen = []

    def compute_rows(sentences, gold):
        seen.extend(treebank_name(sentence) for sentence in sentences)
        return make_row_function(teacher)(sentences, gold)

    file = tmp_path / "text.txt"
    file.write_text("".join(f"{' '.join(sentence.form)}\n" for sentence in tiny))
    options = {"key": "key", "treebank": "xx_tiny", "input": "tokens"}
    for _ in range(2):  # the second time, the shards are read
        text = annotate_text(teacher, compute_rows, [str(file)], tmp_path / "text", **options)
        names = [treebank_name(s) for shard in text.shards for s in shard.sentences()]
        assert set(names) == {"xx_tiny"} == set(seen) and len(names) == text.num_sentences
    assert len(seen) == text.num_sentences
    with pytest.raises(DataError, match="another teacher, text or settings"):
        annotate_text(
            teacher, compute_rows, [str(file)], tmp_path / "text", **options | {"treebank": "yy"}
        )


def test_a_student_learns_other_columns_only_from_gold(make_data):
    data = make_data(columns=[])
    words = data.make_dataset(0).words
    soft = {name.split(".")[1] for name in words if name.startswith("soft.")}
    assert soft == {"head", "deprel", "label_head"}
    assert "target.upos" in words and "upos" in data.row_columns


def test_priors_of_a_student_are_those_of_the_treebank(make_data, tiny, tmp_path):
    """Words of the text are not in the counts, so none of them is left out."""
    inputs = Inputs(word=12, affix=8, prior=8, treebank=4)
    data = make_data(inputs=inputs, epochs=1)
    assert data.student.tables["treebanks"].symbols == ["tiny"]
    dataset = data.make_dataset(0)
    start = int(dataset.starts[8])
    forms = [dataset.forms[i] for i in dataset.form[start + 1 : start + dataset.sizes[8]]]
    rows = slice(start + 1, start + dataset.sizes[8])
    for name, (values, probabilities) in get_priors(data.student).look_up(forms).items():
        assert np.array_equal(dataset.words[f"prior.{name}.values"][rows], values)
        read = dataset.words[f"prior.{name}.probabilities"][rows]
        np.testing.assert_allclose(read, probabilities)
    train_student(data, tmp_path / "student")
    student = depkit.load(tmp_path / "student", device="cpu", precision="float32")
    assert len(list(student.parse(tiny))) == len(tiny)


def test_the_schedule_ends_with_the_last_update(make_data, tmp_path):
    data = make_data(text=0.7, epochs=3, accumulate=2)
    feed = distillation.make_feed(data, "key")
    state = train_student(data, tmp_path / "student")
    assert state.update == count_updates(feed, data.recipe)


def train_student(data, directory, dev=None, key="key", **arguments):
    directory.mkdir(exist_ok=True)
    feed = distillation.make_feed(data, key)
    return train(
        make_plan(
            data.recipe, data.treebank, directory, dev, vocabulary=data.student, feed=feed,
            keep_state=True, **arguments,
        )
    )  # fmt: skip


@pytest.mark.parametrize("moment", [1, 4, 6, 8])
def test_a_resumed_run_gives_the_student_of_an_uninterrupted_run(moment, make_data, tmp_path):
    data = make_data(inputs=Inputs(word=12, char=12), text=0.6, epochs=3)
    train_student(data, tmp_path / "whole")
    with kill_training_at(moment), pytest.raises(Killed):
        train_student(data, tmp_path / "cut")
    train_student(data, tmp_path / "cut", resume=True)
    assert same_runs(tmp_path / "whole", tmp_path / "cut")


def test_a_run_cannot_be_resumed_with_another_teacher(make_data, tmp_path):
    data = make_data(epochs=1)
    train_student(data, tmp_path / "student")
    other_data = replace(data, recipe=replace(data.recipe, distillation=Distillation(0.7)))
    for resumed, key in ((other_data, "key"), (data, "other")):
        with pytest.raises(ResumeError):
            train_student(resumed, tmp_path / "student", key=key, resume=True)


def test_a_student_trained_on_text_parses_like_its_teacher(make_data, teacher, tiny, tmp_path):
    unseen = list(teacher.parse([new_sentence(sentence.form) for sentence in tiny[8:]]))
    scores = {}
    for name, text, epochs in (("treebank", 0.0, 15), ("text", 5.0, 50)):
        data = make_data(text=text, epochs=epochs, patience=epochs)
        train_student(data, tmp_path / name, dev=unseen)
        student = depkit.load(tmp_path / name, device="cpu", precision="float32")
        blank = [new_sentence(sentence.form) for sentence in unseen]
        scores[name] = depkit.evaluate(unseen, student.parse(blank)).LAS
    assert scores["text"] > 90 and scores["treebank"] < 60


def test_treebank_rows_are_computed_only_once(make_data, teacher, tiny, tmp_path):
    progress = Progress(tmp_path, quiet=True)
    data = make_data(with_text=False)
    assert (data.treebank_rows == make_row_function(teacher, 50)(tiny[:8], True)).mean() > 0.9

    fail = Mock(side_effect=AssertionError)
    stored = distillation.provide_treebank_rows(fail, tiny[:8], tmp_path, "key", progress=progress)
    assert (stored == data.treebank_rows).all()
    for count, key in ((8, "other"), (7, "key")):
        with pytest.raises(ValueError, match="another teacher"):
            distillation.provide_treebank_rows(fail, tiny[:count], tmp_path, key, progress=progress)
    assert (
        data.treebank_rows[:, column_slices(0)[1]].astype(int).sum(-1).max()
        <= MAX_INTEGER + MAX_VALUES
    )
    heads = [head for sentence in tiny[:8] for head in sentence.head]
    assert data.treebank_rows[:, 0].tolist() == heads


def test_check_student_rejects_recipes_that_cannot_be_students():
    recipe = make_recipe("small")
    distillation.check_student(recipe)
    distillation.check_student(make_recipe("finetune"))
    for inputs, message in (
        (Inputs(tag=8), "inputs.tag"),
        (Inputs(context=Context(source="transformer", model="m")), "frozen"),
        (Inputs(context=Context(source="elmo")), "frozen"),
    ):
        with pytest.raises(ConfigError, match=message):
            distillation.check_student(
                replace(recipe, parser=replace(recipe.parser, inputs=inputs))
            )
    with pytest.raises(ConfigError, match="family is 'tagger'"):
        distillation.check_student(make_recipe("tagger"))
    with pytest.raises(ConfigError, match=r"distillation\.weight"):
        make_recipe("small", settings=["distillation.weight=1.5"])


def test_the_bundled_model_has_the_settings_of_its_recipe():
    config, _ = read_config(find_model("en-ewt"))
    recipe = make_recipe("en-ewt")
    assert trained_parts(recipe.parser) == trained_parts(config)
    encoder = make_recipe("selfatt").parser.encoder
    assert recipe.parser.encoder == replace(encoder, feedforward=512)
