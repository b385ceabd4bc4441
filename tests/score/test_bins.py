import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from depkit.score.bins import NONE, ROOT, bin_each_value, parse_bins


def assign_labels(text: str, *values: int) -> list[str]:
    bins = parse_bins(text)
    return [bins.labels[index] for index in bins.assign(np.array(values))]


def test_a_bin_is_a_number_a_range_or_an_open_range() -> None:
    assert assign_labels("1,2,3-6,7-", 1, 2, 3, 6, 7, 700) == ["1", "2", "3-6", "3-6", "7-", "7-"]
    assert assign_labels("0..2, 5..", 0, 2, 5, 6) == ["0..2", "0..2", "5..", "5.."]
    assert assign_labels("3..3,4-4", 3, 4) == ["3..3", "4-4"]


def test_bins_can_contain_negative_numbers() -> None:
    assert assign_labels("..-7,-6..-3,-2,-1,1", -100, -7, -6, -3, -2, -1, 1) == [
        "..-7", "..-7", "-6..-3", "-6..-3", "-2", "-1", "1",
    ]  # fmt: skip
    assert assign_labels("-5--3,-2-2,3-", -5, -4, -3, -2, 0, 2, 3) == [
        "-5--3", "-5--3", "-5--3", "-2-2", "-2-2", "-2-2", "3-",
    ]  # fmt: skip


def test_values_outside_all_bins_are_labelled_other_root_or_none() -> None:
    assert parse_bins("1,5-6").labels == ["root", "1", "5-6", "other", "none"]
    labels = assign_labels("1,5-6", 0, 1, 4, 5, 7, -1)
    assert labels == ["other", "1", "other", "5-6", "other", "other"]
    assert assign_labels("..-7,0,7..", ROOT, NONE) == ["root", "none"]


def test_bins_have_the_order_of_the_text() -> None:
    assert parse_bins("7-,1,3-6").labels == ["root", "7-", "1", "3-6", "other", "none"]
    assert assign_labels("7-,1,3-6", 9, 1, 4) == ["7-", "1", "3-6"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' in bins '' is not a bin"),
        ("1,,2", "'' in bins '1,,2' is not a bin"),
        ("1,two", "'two' in bins '1,two' is not a bin"),
        ("1.5", "'1.5' in"),
        ("-", "'-' in"),
        ("..", "'..' in"),
        ("--3", "'--3' in"),
        ("1-2-3", "'1-2-3' in"),
        ("1...3", "'1...3' in"),
        ("6-3", "bin '6-3' ends before it begins"),
        ("3..2", "bin '3..2' ends before it begins"),
        ("-3..-6", "bin '-3..-6' ends before it begins"),
        ("1,2,1", "bin '1' overlaps an earlier bin"),
        ("1-3,3-5", "bin '3-5' overlaps an earlier bin in '1-3,3-5'"),
        ("7-,10", "bin '10' overlaps"),
        ("2-4,1-9", "bin '1-9' overlaps"),
        ("..-7,-8", "bin '-8' overlaps"),
    ],
)
def test_invalid_bins_are_an_error(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_bins(text)
    assert message in str(caught.value)


def test_bin_each_value_makes_a_bin_for_every_number() -> None:
    bins = bin_each_value(np.array([3, ROOT, -2, 3]), np.array([NONE, 10, 3]))
    assert bins.labels == ["root", "-2", "3", "10", "other", "none"]
    assert bins.assign(np.array([10, -2, 3, 4, ROOT, NONE])).tolist() == [3, 1, 2, 4, 0, 5]
    assert bin_each_value(np.array([ROOT]), np.array([NONE])).labels == ["root", "other", "none"]


@given(st.integers(-20, 20), st.integers(0, 9), st.integers(-40, 40))
def test_both_ends_of_a_range_are_in_it(low: int, width: int, number: int) -> None:
    high = low + width
    text = f"{low}..{high}"
    assert assign_labels(text, number) == [text if low <= number <= high else "other"]
    assert assign_labels(f"{low}..", number) == [f"{low}.." if number >= low else "other"]
    assert assign_labels(f"..{high}", number) == [f"..{high}" if number <= high else "other"]
