"""Fixtures for tests of commands."""

import pytest


@pytest.fixture(scope="module")
def short_tokenizer_training():
    """Train tokenizers for few updates; tests/training/test_tokenizer.py has all of them."""
    from depkit.training import tokenizer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenizer, "MIN_UPDATES", 10)
        yield
