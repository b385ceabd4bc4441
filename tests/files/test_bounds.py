"""A setting's bounds, and what it needs, are said beside it and checked when settings are read."""

from dataclasses import dataclass, field

import pytest

from depkit.files.bounds import MAX_SIZE, setting
from depkit.parsers.settings import ConfigError, check_effects, from_dict, setting_names


@dataclass(frozen=True)
class Clock:
    hours: int = setting(12, minimum=1, maximum=24)
    size: int = 3
    share: float = setting(0.5, below=1)
    weight: float = setting(1.0, maximum=2)
    speed: float = setting(1.0, above=0, at_test_time=True)
    alarm: bool = False
    sound: str = setting("bell", needs="alarm")
    repeats: int = setting(1, needs={"sound": ["bell", "horn"]})

    def check(self) -> None:
        if self.hours == self.size:
            raise ValueError("clock.hours and clock.size are the same")


@dataclass(frozen=True)
class House:
    clock: Clock = field(default_factory=Clock)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"hours": 0}, "clock.hours is 0; it takes from 1 to 24"),
        ({"hours": 25}, "clock.hours is too large; it takes 24 at most"),
        ({"size": -1}, "clock.size is -1; it takes 0 or more"),
        ({"size": MAX_SIZE + 1}, f"clock.size is too large; it takes {MAX_SIZE} at most"),
        ({"share": 1.0}, "clock.share is 1.0; it takes from 0 to less than 1"),
        ({"share": float("nan")}, "clock.share is nan; it takes from 0 to less than 1"),
        ({"weight": 3}, "clock.weight is 3.0; it takes from 0 to 2"),
        ({"speed": 0}, "clock.speed is 0.0; it takes a number above 0"),
        ({"speed": float("inf")}, "clock.speed is inf; it takes a number above 0"),
        ({"hours": 3}, "clock.hours and clock.size are the same"),
    ],
)
def test_values_outside_the_bounds_are_named(values, message):
    with pytest.raises(ConfigError) as error:
        from_dict(House, {"clock": values})
    assert str(error.value) == message


def test_values_at_the_bounds_are_taken():
    values = {"hours": 24, "size": MAX_SIZE, "share": 0, "weight": 2, "speed": 1e-300}
    assert from_dict(House, {"clock": values}).clock.size == MAX_SIZE


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sound": "horn"}, "clock.sound has no effect without clock.alarm; set both, or leave it"),
        ({"sound": "bell"}, ""),
        ({"sound": "horn", "alarm": True, "repeats": 2}, ""),
        (
            {"sound": "drum", "alarm": True, "repeats": 2},
            "clock.repeats has no effect with clock.sound=drum; leave it out, or set clock.sound to"
            " bell or horn",
        ),
    ],
)
def test_a_setting_without_effect_is_an_error_if_the_user_wrote_it(values, message):
    config, written = from_dict(House, {"clock": values}), {"clock": values}
    check_effects(config, {})
    if not message:
        check_effects(config, written)
        return
    with pytest.raises(ConfigError, match=message):
        check_effects(config, written)


def test_settings_of_a_trained_model_are_listed():
    assert setting_names(House, at_test_time=True) == ["clock.speed"]
