"""Fixtures for all tests: a small treebank, and the folder of real treebanks."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from depkit.corpus.io import read

# The tests run in several processes, so each process computes on one thread.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Models are run with torch, and their graphs are not exported, unless a test says otherwise.
os.environ["DEPKIT_ENGINE"] = "torch"

# A test must not fail because the machine is busy.
settings.register_profile("depkit", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("depkit")

HERE = Path(__file__).parent
TINY = HERE / "data" / "tiny.conllu"
TREES = HERE / "data" / "trees.mrg"
SHARED = HERE.parent.parent / "shared"


@pytest.fixture(scope="session")
def tiny():
    """Return the sentences of tests/data/tiny.conllu."""
    return list(read(TINY))


@pytest.fixture(scope="session")
def shared():
    """Return the folder of real treebanks beside the checkout; skip the test if there is none."""
    if not SHARED.is_dir():
        pytest.skip("there is no ../shared: real treebanks are not part of the repository")
    return SHARED
