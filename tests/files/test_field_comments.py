"""The comments of fields are found wherever they stand."""

from dataclasses import dataclass
from typing import Literal

from depkit.files.bounds import setting
from depkit.files.field_comments import field_comment


@dataclass
class Base:
    count: int = 1  # how many
    # the size
    # of everything
    size: int = setting(
        3,
        minimum=1,
    )  # in metres
    kind: Literal["a", "b"] = "a"  # which one

    plain: int = 0

    # This comment belongs to no field.

    last: str = "# this is a text"


@dataclass
class Derived(Base):
    count: int = 2
    kind: Literal["a"] = "a"  # type: ignore[assignment]
    size: int = 4  # its own size


def test_comments_stand_beside_or_above_a_field():
    assert field_comment(Base, "count") == "how many"
    assert field_comment(Base, "size") == "the size of everything in metres"
    assert [field_comment(Base, name) for name in ("plain", "last", "unknown")] == ["", "", ""]


def test_a_field_without_a_comment_has_that_of_the_base():
    assert field_comment(Derived, "count") == "how many"
    assert field_comment(Derived, "kind") == "which one"
    assert field_comment(Derived, "size") == "its own size"
