"""A teacher that has learnt the small treebank, without drop-out, and knows it well."""

import pytest

import depkit
from tests.training.test_loop import run, small


@pytest.fixture(scope="session")
def teacher_directory(tiny, tmp_path_factory):
    """Its model directory, without a tokenizer."""
    directory = tmp_path_factory.mktemp("teacher")
    run(small(epochs=40, patience=40), tiny, directory)
    return directory


@pytest.fixture
def teacher(teacher_directory):
    """That parser, in float32, so that batches make no difference."""
    return depkit.load(teacher_directory, device="cpu", precision="float32", threads=1)
