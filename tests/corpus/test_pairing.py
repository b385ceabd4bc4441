import io
from pathlib import Path

import pytest

from depkit.corpus.io import read
from depkit.corpus.pairing import ADVICE, make_source, pair_sentences
from depkit.files.errors import FormatError


def text(*sentences: str, ids: bool = True) -> str:
    blocks = []
    for number, sentence in enumerate(sentences, start=1):
        comment = f"# sent_id = s{number}\n" if ids else ""
        rows = [f"{i}\t{form}" + "\t_" * 8 + "\n" for i, form in enumerate(sentence.split(), 1)]
        blocks.append(comment + "".join(rows) + "\n")
    return "".join(blocks)


def get_error(tmp_path: Path, gold: str, predicted: str, advice: str = f"; {ADVICE}") -> str:
    (tmp_path / "gold.conllu").write_text(gold, encoding="utf-8")
    (tmp_path / "pred.conllu").write_text(predicted, encoding="utf-8")
    with pytest.raises(FormatError) as caught:
        list(
            pair_sentences(
                make_source(tmp_path / "gold.conllu"), [make_source(tmp_path / "pred.conllu")]
            )
        )
    message = str(caught.value).replace(f"{tmp_path}/", "")
    assert "\n" not in message
    assert message.endswith(advice)
    return message.removesuffix(advice)


def test_sentences_with_the_same_words_are_paired(tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text(text("one two", "three"))
    gold, *systems = (make_source(tmp_path / "a.conllu") for _ in range(3))
    results = list(pair_sentences(gold, systems))
    assert [(len(gold), len(predicted)) for gold, predicted in results] == [(2, 2), (1, 2)]


FIVE = "a b c d e f g h i j k l m n"  # five words on either side are quoted
DIFFERENCES = {  # gold and predicted sentences, and the message
    "other word": (
        text("we go", "we cannot go home now"),
        "\n" + text("we go", "we can not go home", ids=False),
        "pred.conllu:6: s2: sentence 2, word 2 differs: 'we [can] not go home',"
        " but gold.conllu:7 has 'we [cannot] go home now'",
    ),
    "long sentence": (
        text(FIVE), text(FIVE.replace("g", "x")),
        "pred.conllu:8: s1: sentence 1, word 7 differs: '... b c d e f [x] h i j k l ...',"
        " but gold.conllu:8 has '... b c d e f [g] h i j k l ...'",
    ),
    "too short": (
        text("we go home now"), text("we go"),
        "pred.conllu:3: s1: sentence 1, word 3 differs: 'we go [end]',"
        " but gold.conllu:4 has 'we go [home] now'",
    ),
    "too long": (
        text("we go"), text("we go home"),
        "pred.conllu:4: s1: sentence 1, word 3 differs: 'we go [home]',"
        " but gold.conllu:3 has 'we go [end]'",
    ),
    "ends early": (
        text("we go", "so what"), text("we go"),
        "pred.conllu:3: s2: this file ends after sentence 1, but gold.conllu:6 continues with"
        " '[so] what'",
    ),
    "has more": (
        text("we go"), text("we go", "so what"),
        "pred.conllu:6: s2: sentence 2 is one too many: '[so] what'; the gold ends at"
        " gold.conllu:3",
    ),
    "differs before it ends": (
        text("a b", "c d", "e"), text("a b", "c x"),
        "pred.conllu:7: s2: sentence 2, word 2 differs: 'c [x]', but gold.conllu:7 has 'c [d]'",
    ),
    "look-alikes": (
        text("caf\u00e9"), text("cafe\u0301"),
        "pred.conllu:2: s1: sentence 1, word 1 differs: '[cafe\\u0301]',"
        " but gold.conllu:2 has '[caf\\xe9]' (they are equal except for Unicode normalisation)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("gold", "predicted", "message"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_differences_are_reported(tmp_path: Path, gold: str, predicted: str, message: str) -> None:
    assert get_error(tmp_path, gold, predicted) == message


def test_empty_files_are_an_error(tmp_path: Path) -> None:
    assert get_error(tmp_path, text("we go"), "", "") == "pred.conllu: there are no sentences"
    assert get_error(tmp_path, "", text("we go"), "") == "gold.conllu: there are no sentences"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("c", r"two\.conllu:2: s1"),
        ("a b", r"two\.conllu:5: s2: sentence 2 is one too many: '\[b\]'"),
    ],
)
def test_the_error_names_the_second_system(tmp_path: Path, words: str, message: str) -> None:
    for name, words_in_file in {"gold": "a", "one": "a", "two": words}.items():
        (tmp_path / f"{name}.conllu").write_text(text(*words_in_file.split()))
    gold, *systems = (make_source(tmp_path / f"{name}.conllu") for name in ("gold", "one", "two"))
    with pytest.raises(FormatError, match=message):
        list(pair_sentences(gold, systems))


def test_sentences_in_memory_are_numbered() -> None:
    gold, predicted = (list(read(io.StringIO(text("a b", last)))) for last in ("c d", "c e"))
    for sentence in (gold[1], *predicted):
        sentence.file, sentence.line = "", 0
    message = r"^s2: sentence 2, word 2 .*'c \[e\]', but gold sentence 2 has 'c \[d\]'"
    with pytest.raises(FormatError, match=message):
        list(pair_sentences(make_source(gold), [make_source(predicted)]))


def test_files_are_read_in_parallel() -> None:
    """Only the current pair is in memory, so endless files can be paired."""
    gold, predicted = (read(lines) for lines in (endless_lines(), endless_lines()))
    results = pair_sentences(make_source(gold), [make_source(predicted)])
    assert [next(results)[0].form for _ in range(3)] == [["a"]] * 3


def endless_lines():  # type: ignore[no-untyped-def]
    while True:
        yield "1\ta" + "\t_" * 8 + "\n"
        yield "\n"
