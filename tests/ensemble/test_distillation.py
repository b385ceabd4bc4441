"""A student learns what its teacher thinks, of text too; its runs go on as if never interrupted."""

from collections import Counter
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest

import depkit
from depkit.corpus.sentence import new_sentence
from depkit.ensemble import distillation, silver
from depkit.ensemble.silver import annotate
from depkit.ensemble.teacher import make_teach
from depkit.parsers.config import Context, Inputs
from depkit.parsers.inputs.batches import IGNORED
from depkit.parsers.inputs.soft_targets import LARGEST, MOST, places
from depkit.parsers.inputs.vocabulary import SPECIAL, Table, Vocabulary
from depkit.parsers.model_directory import find_model, read_config
from depkit.parsers.settings import ConfigError
from depkit.training.data import resolve_auto
from depkit.training.loop import train, updates_of
from depkit.training.origin import ResumeError
from depkit.training.progress import Progress
from depkit.training.recipe import Distillation, make_recipe, trained_parts
from tests.training.test_loop import CPU, Killed, killed_at, same_runs, small


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(silver, "SHARD_WORDS", 40)
    monkeypatch.setattr(distillation, "SHARD_WORDS", 40)


@pytest.fixture
def taught(teacher, tiny, tmp_path):
    """What makes the lesson of a treebank of so many sentences, with the others as text."""

    def make(treebank=8, with_text=True, weight=0.5, text=1.0, **training):
        recipe = replace(small(**training), distillation=Distillation(weight, text))
        recipe = resolve_auto(recipe, tiny[:treebank])
        progress = Progress(tmp_path, quiet=True)
        teach = make_teach(teacher)
        own = distillation.treebank_rows(teach, tiny[:treebank], tmp_path, "key", progress)
        shards = []
        if with_text:
            file = tmp_path / "text.txt"
            file.write_text("".join(" ".join(each.form) + "\n" for each in tiny[treebank:]))
            shards = annotate(
                teacher, teach, [str(file)], tmp_path / "text", "key", "tokens"
            ).shards
        return distillation.make_lesson(recipe, tiny[:treebank], own, shards, teacher)

    return make


def test_slices_take_the_text_in_turn():
    random = np.random.default_rng(1)
    for _ in range(50):
        sizes = random.integers(2, 30, random.integers(1, 40))
        total, words = int(sizes.sum()), int(random.integers(1, 400))
        epochs = 5 * total  # so many cycles that all is read equally often
        counts = Counter()
        for epoch in range(epochs if words < 60 else 4):
            chosen = distillation.slice_of(sizes, words, epoch)
            if words >= total:
                assert chosen.all()
            else:
                # sentences begin among so many words; the last one goes on beyond
                assert words - 30 < sizes[chosen].sum() < words + 30
            counts.update(np.flatnonzero(chosen).tolist())
        if words < 60:
            assert set(counts) == set(range(len(sizes)))
        if words < 60 and words < total:
            assert set(counts.values()) == {5 * words}
    assert not distillation.slice_of(np.array([3, 4]), 0, 1).any()
    assert distillation.slice_of(np.array([], dtype=np.int64), 5, 1).shape == (0,)


def test_symbols_are_matched_by_name():
    def vocabulary(*symbols):
        tables = {"deprel": Table(list(symbols)), "upos": Table(["X"])}
        return Vocabulary(Table(SPECIAL), Table(SPECIAL), Table(SPECIAL), tables)

    names = ["head", "deprel", "upos"]
    rows = np.zeros((1, 1 + 2 * MOST * 3), dtype=np.uint16)
    rows[0, 0] = 7
    rows[0, places(0)[0]], rows[0, places(0)[1]] = [7, 2, 1, 0], [9, 3, 2, 1]
    rows[0, places(1)[0]], rows[0, places(1)[1]] = [0, 1, 2, 0], [50, 30, 20, 0]
    before = rows.copy()
    found = distillation.translate(
        rows, names, vocabulary("a", "b", "c"), vocabulary("z", "c", "a")
    )
    assert (rows == before).all()
    assert found[0, places(1)[0]].tolist() == [2, 0, 1, 2]
    assert found[0, places(1)[1]].tolist() == [50, 0, 20, 0]
    others = np.r_[0 : places(1)[0].start, places(2)[0].start : rows.shape[1]]
    assert (found[0, others] == rows[0, others]).all()


def test_the_vocabulary_is_of_treebank_and_text(taught, teacher, tiny):
    alone = taught(treebank=2, with_text=False).student
    few = {form.lower() for each in tiny[:2] for form in each.form}
    assert {symbol.lower() for symbol in alone.words.symbols} <= few | set(SPECIAL)
    lesson = taught(treebank=2)
    counts = Counter(form.lower() for each in tiny for form in each.form)
    assert lesson.recipe.parser.inputs.word_min_count == 2
    often = {form for form, count in counts.items() if count >= 2}
    assert set(lesson.student.words.symbols[len(SPECIAL) :]) == often
    characters = {character for each in tiny for form in each.form for character in form}
    assert characters <= set(lesson.student.characters.symbols)
    for name, table in lesson.student.columns.items():
        assert sorted(table.symbols) == sorted(teacher.vocabulary.columns[name].symbols)
        # what the treebank has comes first, as in a training without teacher
        few = {symbol for each in tiny[:2] for symbol in getattr(each, name)}
        assert set(table.symbols[: len(few)]) == few


def test_an_epoch_has_the_treebank_and_its_slice(taught, teacher, tiny):
    lesson = taught(text=0.5)
    words = sum(map(len, tiny[:8]))
    seen = set()
    for epoch in range(8):
        data = lesson.data(epoch, CPU)
        assert data.sizes.tolist() == lesson.epoch_sizes(epoch).tolist()
        assert data.sizes[:8].tolist() == [len(each) + 1 for each in tiny[:8]]
        assert 0.5 * words - 12 < (data.sizes[8:] - 1).sum() < 0.5 * words + 12
        first_text = int(data.starts[8])
        assert data.targets.keys() == {"head", "deprel", "upos"}
        assert all((each[first_text:] == IGNORED).all() for each in data.targets.values())
        gold = data.targets["head"][1:first_text]
        assert gold[gold != IGNORED].tolist() == [head for each in tiny[:8] for head in each.head]
        rows = data.soft.rows
        nothing = [0, *data.starts.tolist()]
        assert not rows[nothing].any()
        assert np.count_nonzero(rows[:, places(0)[1].start]) == len(rows) - len(nothing)
        for start, size in zip(data.starts[8:], data.sizes[8:], strict=True):
            form = tuple(data.forms[i] for i in data.form[start + 1 : start + size])
            seen.add(form)
            parsed = next(teacher.parse([new_sentence(form)]))
            assert rows[start + 1 : start + size, 0].tolist() == parsed.head
            best = rows[start + 1 : start + size, places(1)[0].start].tolist()
            symbols = lesson.student.columns["deprel"].symbols
            assert [symbols[number] for number in best] == parsed.deprel
    assert seen == {tuple(each.form) for each in tiny[8:]}


def test_the_schedule_ends_with_the_last_update(taught, tmp_path):
    lesson = taught(text=0.7, epochs=3, accumulate=2)
    feed = distillation.make_feed(lesson, "key", CPU)
    state = run(lesson, tmp_path / "student")
    assert state.update == updates_of(feed, lesson.recipe)


def run(lesson, directory, dev=None, key="key", **arguments):
    directory.mkdir(exist_ok=True)
    return train(
        lesson.recipe, lesson.treebank, dev or lesson.treebank, directory, CPU,
        vocabulary=lesson.student, feed=distillation.make_feed(lesson, key, CPU),
        keep_state=True, **arguments,
    )  # fmt: skip


@pytest.mark.parametrize("moment", [1, 4, 6, 8])
def test_a_resumed_student_ends_as_one_never_interrupted(moment, taught, tmp_path):
    lesson = taught(inputs=Inputs(word=12, char=12), text=0.6, save_every=0.0, epochs=3)
    run(lesson, tmp_path / "whole")
    with killed_at(moment), pytest.raises(Killed):
        run(lesson, tmp_path / "cut")
    run(lesson, tmp_path / "cut", resume=True)
    assert same_runs(tmp_path / "whole", tmp_path / "cut")


def test_another_teacher_cannot_go_on(taught, tmp_path):
    lesson = taught(epochs=1)
    run(lesson, tmp_path / "student")
    lesson_of_other = replace(lesson, recipe=replace(lesson.recipe, distillation=Distillation(0.7)))
    for each, key in ((lesson_of_other, "key"), (lesson, "other")):
        with pytest.raises(ResumeError):
            run(each, tmp_path / "student", key=key, resume=True)


def test_a_student_learns_trees_that_only_its_teacher_has_seen(taught, teacher, tiny, tmp_path):
    unseen = list(teacher.parse([new_sentence(each.form) for each in tiny[8:]]))
    scores = {}
    for name, text, epochs in (("treebank", 0.0, 15), ("text", 5.0, 50)):
        lesson = taught(text=text, epochs=epochs, patience=epochs)
        run(lesson, tmp_path / name, dev=unseen)
        student = depkit.load(tmp_path / name, device="cpu", precision="float32")
        blank = [new_sentence(each.form) for each in unseen]
        scores[name] = depkit.evaluate(unseen, student.parse(blank)).LAS
    assert scores["text"] > 90 and scores["treebank"] < 60


def test_the_treebanks_rows_are_kept(taught, teacher, tiny, tmp_path):
    progress = Progress(tmp_path, quiet=True)
    lesson = taught(with_text=False)
    assert (lesson.own == make_teach(teacher, 50)(tiny[:8], True)).mean() > 0.9

    never = Mock(side_effect=AssertionError)
    assert (
        distillation.treebank_rows(never, tiny[:8], tmp_path, "key", progress) == lesson.own
    ).all()
    for count, key in ((8, "other"), (7, "key")):
        with pytest.raises(ValueError, match="another teacher"):
            distillation.treebank_rows(never, tiny[:count], tmp_path, key, progress)
    assert lesson.own[:, places(0)[1]].astype(int).sum(-1).max() <= LARGEST + MOST
    assert lesson.own[:, 0].tolist() == [head for each in tiny[:8] for head in each.head]


def test_which_students_there_can_be():
    recipe = make_recipe("small")
    distillation.check_student(recipe)
    distillation.check_student(make_recipe("finetune"))
    for inputs, told in (
        (Inputs(tag=8), "inputs.tag"),
        (Inputs(context=Context(source="transformer", model="m")), "frozen"),
        (Inputs(context=Context(source="elmo")), "frozen"),
    ):
        with pytest.raises(ConfigError, match=told):
            distillation.check_student(
                replace(recipe, parser=replace(recipe.parser, inputs=inputs))
            )
    with pytest.raises(ConfigError, match="family is 'tagger'"):
        distillation.check_student(make_recipe("tagger"))
    with pytest.raises(ConfigError, match=r"distillation\.weight"):
        make_recipe("small", settings=["distillation.weight=1.5"])


def test_the_bundled_model_is_of_its_recipe():
    config, _ = read_config(find_model("en-ewt"))
    recipe = make_recipe("en-ewt")
    assert trained_parts(recipe.parser) == trained_parts(config)
    assert recipe.parser.encoder == make_recipe("small").parser.encoder
