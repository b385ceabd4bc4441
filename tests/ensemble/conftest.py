"""A teacher trained without dropout until it parses the small treebank well."""

import pytest

import depkit
from tests.training.small_runs import run_until, small_recipe


@pytest.fixture(scope="session")
def teacher_directory(tiny, tmp_path_factory):
    """The model directory of the teacher, which has no tokenizer."""
    directory = tmp_path_factory.mktemp("teacher")
    run_until(99.0, small_recipe(epochs=40, patience=40), tiny, directory)
    return directory


@pytest.fixture
def teacher(teacher_directory):
    """The teacher in float32, so that its scores do not depend on the batches."""
    return depkit.load(teacher_directory, device="cpu", precision="float32", threads=1)
