"""A teacher that has learnt the small treebank, without drop-out, and knows it well."""

import pytest
import torch

import depkit
from depkit.training.data import settle
from depkit.training.loop import train
from tests.training.test_loop import CPU, small


@pytest.fixture(scope="session")
def teacher_directory(tiny, tmp_path_factory):
    """Its model directory, without a tokenizer."""
    directory = tmp_path_factory.mktemp("teacher")
    torch.set_num_threads(1)
    train(settle(small(epochs=40, patience=40), tiny), tiny, tiny, directory, CPU)
    return directory


@pytest.fixture
def teacher(teacher_directory):
    """That parser, in float32, so that batches make no difference."""
    return depkit.load(teacher_directory, device="cpu", precision="float32", threads=1)
