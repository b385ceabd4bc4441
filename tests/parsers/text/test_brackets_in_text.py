"""Text that begins with brackets is text, and trees with errors are trees."""

import pytest

import depkit
from depkit.files.errors import FormatError
from depkit.parsers.text.reading import detect_input

TEXT = [
    "((a) and (b)) are both true.", "((a), (b)) hold.", "(Reuters) Rain fell.", "((1) x", "(a) (b)",
    "((Hello world) she said) and left.",
]  # fmt: skip
TREES = [
    "(S (NP (NN a)))", "( (S (NN a)) )", "(S (NN (word)))", "(S (NP (DT the) NN cat))", "(())",
    "(S (da0ms0 El el))", "(\n  (S\n    (NP (NN a))))", "(S\n",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXT[:5])
def test_text_is_parsed_as_text(text, tmp_path):
    path = tmp_path / "in"
    path.write_text(text + "\n")
    assert detect_input(str(path)) == "text"


@pytest.mark.parametrize("text", TREES)
def test_trees_are_recognised(text, tmp_path):
    path = tmp_path / "in"
    path.write_text(text)
    assert detect_input(str(path)) == "ptb"


def test_an_error_in_trees_that_may_be_text_names_the_option(tmp_path):
    parser = depkit.load(device="cpu", threads=1)
    for name, has_hint in (("in.txt", True), ("in.mrg", False)):
        path = tmp_path / name
        path.write_text("((see a) and b) x\n")
        with pytest.raises(FormatError) as caught:
            list(parser.read(path))
        assert ("set `input` to text" in str(caught.value)) == has_hint
    assert [sentence.text for sentence in parser.read(path, "text")] == ["((see a) and b) x"]
