import re
from pathlib import Path

import numpy as np
import pytest

from depkit.corpus.sentence import new_sentence
from depkit.files.digest import digest, digest_files, digest_forms


def test_digests_depend_on_parts_order_and_boundaries() -> None:
    inputs = [(), ("",), ("ab",), ("a", "b"), ("b", "a"), ("a\0b",), ("", "ab"), ("\udcff",)]
    digests = [digest(*parts) for parts in inputs]
    assert len(set(digests)) == len(inputs)
    assert all(re.fullmatch("[0-9a-f]{16}", value) for value in digests)
    numbers = np.arange(6).reshape(2, 3)
    assert digest("a", numbers.data) == digest(b"a", numbers.tobytes())


def test_digest_of_files_depends_on_contents_and_order(tmp_path: Path) -> None:
    first, second, same = (tmp_path / name for name in "abc")
    first.write_bytes(b"x")
    second.write_bytes(b"yz")
    same.write_bytes(b"x")
    assert digest_files([first, second]) == digest_files([str(same), second])
    assert digest_files([first, second]) != digest_files([second, first])
    with pytest.raises(FileNotFoundError):
        digest_files([tmp_path / "d"])


def test_digest_of_forms_depends_on_forms_and_boundaries_only() -> None:
    texts = ["", "a b", "a / b", "ab", "b a", "a b / a", "1 a", "1 / a", "\ufffd"]
    corpora = [[forms.split() for forms in text.split("/") if forms] for text in texts]
    corpora.append([["a b"]])
    digests = [digest_forms(corpus) for corpus in corpora]
    assert len(set(digests)) == len(corpora)
    assert all(re.fullmatch("[0-9a-f]{16}", digest) for digest in digests)
    sentence = new_sentence(["a", "b"], {"upos": ["X", "Y"]})
    assert digest_forms([sentence.form]) == digests[1] == "d1b15f66a216b16a"
