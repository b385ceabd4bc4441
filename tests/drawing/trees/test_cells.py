import pytest
from hypothesis import given
from hypothesis import strategies as st

from depkit.drawing.trees.cells import cell_width, clipped, visible


@pytest.mark.parametrize(
    ("text", "width"), [("", 0), ("abc", 3), ("同樣", 4), ("e\u0301", 1), ("한", 2), ("שלום", 4)]
)
def test_widths(text: str, width: int) -> None:
    assert cell_width(text) == width


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, même 同樣", "plain, même 同樣"),
        ("\x1b[31mred\x07", "␛[31mred␇"),
        ("\x7f\x85\u2028", "␡\ufffd\ufffd"),
        ("a\u202eb\u2066", "a\ufffdb\ufffd"),
        ("\uffff\U0001fffe", "\ufffd\ufffd"),
        ("می\u200cخواهم", "می\u200cخواهم"),  # this one shapes the word
        ("\u0301", "\u25cc\u0301"),
        ("\u200b", "\u25cc\u200b"),
        ("\xa0", "␣"),
        ("", ""),
    ],
)
def test_what_is_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_what_is_visible_stays(text: str) -> None:
    assert visible(visible(text)) == visible(text)
    assert bool(text) == bool(cell_width(visible(text)))


def test_clipped() -> None:
    assert clipped("nsubj:pass", 10) == "nsubj:pass"
    assert clipped("nsubj:pass", 9) == "nsubj:pa…"
    assert clipped("同樣同樣", 6) == "同樣…"
    assert clipped("ab", 1) == "…"
    assert clipped("ab", 0) == ""


@given(st.text(), st.integers(0, 30))
def test_clipped_text_fits(text: str, width: int) -> None:
    assert cell_width(clipped(visible(text), width)) <= width
