"""Parsing and tagging of files without the command line: totals, notes and errors."""

import json
import re

import pytest

import depkit
from depkit.files.progress import ProgressBars
from depkit.files.streams import open_bytes
from depkit.parsers.settings import ConfigError
from depkit.serving.files import annotate_files
from depkit.serving.job import Job
from depkit.serving.plan import output_name, resolve
from tests.conftest import TINY
from tests.drawing.terminal import Terminal, draw_at_once
from tests.parsers.small_parsers import make_parser, save_parser


@pytest.fixture(scope="module")
def model(tiny, tmp_path_factory):
    return save_parser(make_parser(tiny), tmp_path_factory.mktemp("model"))


def make_job(model, *files, **options):
    return Job(list(map(str, files)), [model], device="cpu", threads=1, **options)


def test_files_are_written_to_one_file_or_separately(model, tmp_path):
    (tmp_path / "b.conllu").write_bytes(TINY.read_bytes())
    files = (TINY, tmp_path / "b.conllu")
    together = annotate_files(make_job(model, *files, output=str(tmp_path / "out.conllu")))
    assert (together.sentences, together.words) == (48, 364) and together.seconds > 0
    expected = list(map(str, depkit.load(model, "cpu").parse(depkit.read(TINY))))
    assert list(map(str, depkit.read(tmp_path / "out.conllu"))) == expected * 2
    separate = annotate_files(make_job(model, *files, output_dir=str(tmp_path / "out")))
    assert (separate.sentences, separate.words) == (48, 364)
    for name in ("tiny.conllu", "b.conllu"):
        assert list(map(str, depkit.read(tmp_path / "out" / name))) == expected


@pytest.mark.parametrize(("action", "name"), [("parse", "parsing"), ("tag", "tagging")])
def test_progress_is_shown_and_changes_nothing(action, name, model, tmp_path, monkeypatch):
    draw_at_once(monkeypatch)
    stream = Terminal()
    for output, bars in (("without", None), ("with", ProgressBars(stream=stream))):
        options = {"output": str(tmp_path / output), "action": action, "batch_tokens": 40}
        annotate_files(make_job(model, TINY, TINY, **options), bars=bars)
    assert (tmp_path / "with").read_bytes() == (tmp_path / "without").read_bytes()
    line = re.compile(rf"{name} .*?(\d+)%.* words/s  (\d+) sentences")
    matches = map(line.match, stream.lines())
    counts = [tuple(map(int, match.groups())) for match in matches if match]
    assert counts == sorted(counts) and counts[-1] == (100, 48)


def test_notes_are_given_on_calibration_and_lost_columns(model, tmp_path):
    notes = []
    options = {"output": str(tmp_path / "out.json"), "format": "json"}
    annotate_files(
        make_job(model, TINY, options={"probabilities": "local"}, **options), notes.append
    )
    assert notes == ["this model is not calibrated; the probabilities may be too high or too low"]
    words = json.loads((tmp_path / "out.json").read_text().splitlines()[0])["words"]
    assert all(0 < word["arc_prob"] <= 1 for word in words)
    notes.clear()
    annotate_files(make_job(model, TINY, output=str(tmp_path / "o"), format="conllx"), notes.append)
    assert len(notes) == 1 and notes[0].startswith("conllx cannot represent")


HTML = "<p>Dogs &amp; cats</p>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat sleeps.\n", []),
        ("1 2 3\n", []),
        ("Собака спит. Кот cat.\n", ["81% of the text's letters are unknown to the model"]),
        (f"{HTML}\n" * 300, [f"{name}.txt: the text looks like HTML" for name in "ab"]),
        (f"{HTML}\n{HTML.replace('a', 'я')}\n" + "The dog barks.\n" * 20, []),
        ('{"text": "Dogs bark."}\n', ["a.txt: the text looks like JSON"]),
        ('[{ "a-b" : true}]\n', ["a.txt: the text looks like JSON"]),
        ('["text", 1] or {"text"} is code.\n', []),
        # Only the first sentences are checked.
        ("The dog barks.\n" * 200 + "Собака спит.\n" * 900, []),
        ("", []),
    ],
)
def test_warnings_about_the_input_are_given_once_a_file(text, expected, model, tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(text, "utf-8")
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    notes: list[str] = []
    options = {"input": "lines", "output_dir": str(tmp_path / "out")}
    annotate_files(make_job(model, *files, **options), notes.append)
    assert len(notes) == len(expected)
    assert all(text in note for note, text in zip(notes, expected, strict=True)), notes


def test_a_note_says_that_a_tokenizer_is_not_used(model, tmp_path):
    unused = "the tokenizer de is not used, because no input is running text"
    text = tmp_path / "text"
    text.write_text("Dogs bark.")
    output = str(tmp_path / "out.conllu")
    for files, input, note in (
        ([TINY], None, (unused,)),
        ([text], "tokens", (unused,)),
        ([TINY, text], None, ()),
        ([text], "lines", ()),
        (["-"], None, ()),
    ):
        plan = resolve(make_job(model, *files, input=input, tokenizer="de", output=output))
        assert plan.notes == note


def test_tagging_does_not_change_trees(model, tmp_path):
    out = tmp_path / "out.conllu"
    annotate_files(make_job(model, TINY, action="tag", tags="predict", output=str(out)))
    gold, tagged = list(depkit.read(TINY)), list(depkit.read(out))
    assert [sentence.head for sentence in tagged] == [sentence.head for sentence in gold]
    assert [sentence.upos for sentence in tagged] != [sentence.upos for sentence in gold]


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        (["a"], {"output": "b", "output_dir": "c"}, "exclude each other"),
        (["-", "-"], {}, "only one file can be standard input"),
        (["-"], {"output_dir": "c"}, "cannot be used with standard input"),
        (["a/x", "b/x"], {"output_dir": "c"}, "the same name, x"),
        (["a", "b"], {"elmo": ["c"]}, "names 1 files, but there are 2"),
        ([TINY], {"output": str(TINY)}, "one of the files to read"),
        ([TINY], {"output": f"file://{TINY}"}, "one of the files to read"),
        (["memory://a.conllu"], {"output_dir": "memory://"}, "one of the files to read"),
        ([TINY], {"elmo": ["s3://a/b"]}, "`elmo` cannot read the URL s3://a/b"),
        ([TINY], {"options": {"beam": 8}}, "the family biaffine do not support `beam`"),
    ],
)
def test_invalid_options_are_rejected_before_anything_is_written(
    files, options, message, model, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=message):
        annotate_files(make_job(model, *files, **options))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["out.json", "out.JSONL", "out.json.gz"])
def test_the_name_of_the_output_can_choose_json(name, model, tmp_path):
    annotate_files(make_job(model, TINY, output=str(tmp_path / name)))
    annotate_files(make_job(model, TINY, output=str(tmp_path / "other"), format="json"))
    with open_bytes(tmp_path / name) as stream:
        assert stream.read() == (tmp_path / "other").read_bytes()
    annotate_files(make_job(model, TINY, output=str(tmp_path / name), format="conllx"))
    with open_bytes(tmp_path / name) as stream:
        assert stream.read().startswith(b"1\t")


@pytest.mark.parametrize("action", ["parse", "tag"])
def test_a_file_has_no_suffix_of_another_format(action, model, tmp_path):
    treebank = tmp_path / "a.conllu"
    treebank.write_text("1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n\n")
    for name in ("b.conllx", "b.conll09.gz", "b.mrg"):
        with pytest.raises(ValueError, match=r"but the sentences (are|would be)"):
            annotate_files(make_job(model, treebank, action=action, output=str(tmp_path / name)))
    assert [path.name for path in tmp_path.iterdir()] == ["a.conllu"]
    for name, format in (("b.conllup", None), ("b.txt", None), ("b.conllu", "conllx")):
        job = make_job(model, treebank, action=action, output=str(tmp_path / name), format=format)
        annotate_files(job)
        assert next(depkit.read(tmp_path / name, format)).form == ["Go"]


def test_files_in_a_directory_have_the_suffix_of_their_format(model, tmp_path):
    row = "1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n\n"
    columns = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC MORE"
    plus = f"# global.columns = {columns}\n{row[:-2]}\tx\n\n"
    for name, content, options, expected in (
        ("a.mrg", "(S (VB Go))\n", {}, "a.conllu"),
        ("a.mrg", "(S (VB Go))\n", {"action": "tag"}, "a.mrg"),
        ("b.conllx", "Go\n", {"input": "tokens"}, "b.conllu"),
        ("c.conll", row, {"input": "conllx"}, "c.conll.conllx"),
        ("c.conllx", row, {"input": "conllu"}, "c.conllu"),
        ("d.conllu", row, {}, "d.conllu"),
        ("e.conllu", plus, {}, "e.conllu"),
        ("f.txt", "Go\n", {"input": "tokens"}, "f.conllu"),
    ):
        (tmp_path / name).write_text(content)
        folder = tmp_path / "out"
        annotate_files(make_job(model, tmp_path / name, output_dir=str(folder), **options))
        (path,) = folder.iterdir()
        assert path.name == expected
        assert next(depkit.read(path)).form == ["Go"]
        path.unlink()


def test_wrong_options_are_reported_before_a_missing_model():
    job = make_job("nowhere", "a/x", "b/x", output_dir="c")
    with pytest.raises(ConfigError, match="would have the same name"):
        annotate_files(job)
    with pytest.raises(ConfigError, match="one of the files to read"):
        annotate_files(make_job("nowhere", TINY, output=str(TINY)))


def test_output_files_are_named_after_their_inputs():
    names = {
        ("a/b.txt", None): "b.conllu", ("b.conllx.gz", None): "b.conllx.gz",
        ("b.conllx.gz", "conllx"): "b.conllx.gz", ("b.conllx.gz", "json"): "b.json",
        ("b.TXT.xz", "conll09"): "b.conll09", ("b.text", None): "b.text.conllu",
    }  # fmt: skip
    assert {key: output_name(*key) for key in names} == names
