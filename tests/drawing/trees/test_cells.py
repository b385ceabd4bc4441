import pytest
from hypothesis import given
from hypothesis import strategies as st

from depkit.drawing.trees.cells import clip, make_visible
from depkit.files.terminal import cell_width


@pytest.mark.parametrize(
    ("text", "width"), [("", 0), ("abc", 3), ("同樣", 4), ("e\u0301", 1), ("한", 2), ("שלום", 4)]
)
def test_cell_width_counts_terminal_columns(text: str, width: int) -> None:
    assert cell_width(text) == width


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("plain, même 同樣", "plain, même 同樣"),
        ("\x1b[31mred\x07", "␛[31mred␇"),
        ("\x7f\x85\u2028", "␡\ufffd\ufffd"),
        ("a\u202eb\u2066", "a\ufffdb\ufffd"),
        ("\uffff\U0001fffe", "\ufffd\ufffd"),
        ("می\u200cخواهم", "می\u200cخواهم"),  # this character shapes the word
        ("\u0301", "\u25cc\u0301"),
        ("\u200b", "\u25cc\u200b"),
        ("\xa0", "␣"),
        ("", ""),
    ],
)
def test_make_visible_replaces_invisible_characters(text: str, result: str) -> None:
    assert make_visible(text) == result


@given(st.text())
def test_make_visible_does_not_change_visible_text(text: str) -> None:
    assert make_visible(make_visible(text)) == make_visible(text)
    assert bool(text) == bool(cell_width(make_visible(text)))


def test_clip_shortens_to_the_width() -> None:
    assert clip("nsubj:pass", 10) == "nsubj:pass"
    assert clip("nsubj:pass", 9) == "nsubj:pa…"
    assert clip("同樣同樣", 6) == "同樣…"
    assert clip("ab", 1) == "…"
    assert clip("ab", 0) == ""


@given(st.text(), st.integers(0, 30))
def test_clipped_text_fits(text: str, width: int) -> None:
    assert cell_width(clip(make_visible(text), width)) <= width
