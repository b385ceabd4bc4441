from collections.abc import Iterator

import pytest

from tests.drawing.report.browser import Browser, open_browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with open_browser() as window:
        yield window
