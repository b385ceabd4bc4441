"""A teacher trained on the small treebank without dropout until it predicts it well."""

import pytest

import depkit
from tests.training.test_loop import run, small


@pytest.fixture(scope="session")
def teacher_directory(tiny, tmp_path_factory):
    """The teacher's model directory, without a tokenizer."""
    directory = tmp_path_factory.mktemp("teacher")
    run(small(epochs=40, patience=40), tiny, directory)
    return directory


@pytest.fixture
def teacher(teacher_directory):
    """The teacher in float32, so that its scores do not depend on the batches."""
    return depkit.load(teacher_directory, device="cpu", precision="float32", threads=1)
