"""The CoNLL 2018 evaluation: counts by hand, and counts compared with those of udtools."""

import json
import random
import unicodedata
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from depkit.corpus.sentence import new_sentence
from depkit.files.errors import FormatError
from depkit.score.conll18 import COUNTS, METRICS, SPACE, evaluate_aligned, universal_features
from depkit.score.evaluation import Evaluation
from depkit.treebank.check_tree import find_cycles
from tests.corpus.rows import parse, row, row09

HERE = Path(__file__).parent
TINY = HERE.parent / "data" / "tiny.conllu"
SHARED = HERE.parents[2] / "shared"

# "Il va au bord." "Vite !" and "Fin"
GOLD = """\
# sent_id = one
1	Il	il	PRON	_	Person=3	2	nsubj	_	_
2	va	aller	VERB	_	Mood=Ind	0	root	_	_
3-4	au	_	_	_	_	_	_	_	_
3	à	à	ADP	_	_	5	case	_	_
4	le	le	DET	_	Definite=Def|Gender=Masc	5	det	_	_
5	bord	bord	NOUN	N	Gender=Masc|Typo=No	2	obl:arg	_	_
6	.	.	PUNCT	_	_	2	punct	_	_

# sent_id = two
1	Vite	_	ADV	_	_	0	root	_	_
2	!	!	PUNCT	_	_	1	punct	_	_

# sent_id = three
1	Fin	fin	NOUN	_	_	0	root	_	_

"""
# The first two sentences are joined, "au" is not a multiword token, and "bord." is one word.
SYSTEM = """\
1	Il	il	PRON	_	Person=3	2	nsubj	_	_
2	va	va	VERB	_	Mood=Ind	0	root	_	_
3	au	à	ADP	_	_	2	case	_	_
4	bord.	bord	NOUN	N	_	2	obl	_	_
5	Vite	vite	ADV	_	Foo=Bar	2	conj	_	_
6	!	!	X	_	_	5	punct	_	_

1	Fin	fin	NOUN	_	_	0	root	_	_

"""


def evaluate(gold: str, system: str, subtypes: str = "drop") -> Evaluation:
    return evaluate_aligned(parse(gold), [parse(system)], subtypes=subtypes)[0]


def get_counts(evaluation: Evaluation) -> dict[str, tuple[int, int, int]]:
    """Return for each metric the counts: correct, in the gold file, in the system's file."""
    totals = evaluation.totals
    return {
        name: (totals[x.correct], totals[x.gold], totals[x.predicted])
        for name, x in METRICS.items()
    }


def test_counts_equal_those_by_hand() -> None:
    assert get_counts(evaluate(GOLD, SYSTEM)) == {
        "Tokens": (6, 8, 7),  # all except "bord" and the full stop
        "Sentences": (1, 3, 2),
        "Words": (5, 9, 7),  # Il va Vite ! Fin
        "UPOS": (4, 9, 7),
        "XPOS": (5, 9, 7),
        "UFeats": (5, 9, 7),  # Foo is not universal
        "AllTags": (4, 9, 7),
        "Lemmas": (4, 9, 7),  # "Vite" has no gold lemma, so that every lemma is correct
        "UAS": (4, 9, 7),  # all except that of "Vite"
        "LAS": (4, 9, 7),
        "CLAS": (3, 5, 5),  # Il va Fin
        "MLAS": (2, 5, 5),  # "va" has a function word in the system's tree only
        "BLEX": (2, 5, 5),
    }


def test_predicted_items_count_for_the_sentence_in_which_they_begin() -> None:
    evaluation = evaluate(GOLD, SYSTEM)
    counts = {name: evaluation.counts[:, column].tolist() for column, name in enumerate(COUNTS)}
    assert counts["sentences"] == [1, 1, 1] and counts["sentences_predicted"] == [1, 0, 1]
    assert counts["words"] == counts["scored"] == [6, 2, 1]
    assert counts["words_predicted"] == [4, 2, 1]
    assert counts["tokens"] == [5, 2, 1] and counts["tokens_correct"] == [3, 2, 1]
    assert counts["heads"] == [2, 1, 1] and counts["content_predicted"] == [3, 1, 1]


def test_an_evaluation_has_scores_and_a_signature() -> None:
    perfect, system = evaluate_aligned(parse(GOLD), [parse(GOLD), parse(SYSTEM)])
    assert perfect.shows_precision and not perfect.correct and set(perfect.scores) == set(METRICS)
    assert set(perfect.scores.values()) == {100.0}
    assert system.precision_recall("Words") == (500 / 7, 500 / 9)
    assert system.scores["Words"] == pytest.approx(1000 / 16)
    assert "align:characters|subtypes:drop|sentences:3|words:9|scored:9" in system.signature
    assert (perfect.sentences, perfect.words, perfect.scored) == (3, 9, 9)


def test_subtypes_are_dropped_or_kept() -> None:
    without_subtypes = GOLD.replace("obl:arg", "obl")
    assert get_counts(evaluate(GOLD, without_subtypes)) == get_counts(evaluate(GOLD, GOLD))
    full = get_counts(evaluate(GOLD, without_subtypes, "keep"))
    assert [full[name][0] for name in ("UAS", "LAS", "CLAS", "MLAS", "BLEX")] == [9, 8, 4, 4, 4]
    assert full["CLAS"][1:] == (5, 5)
    with pytest.raises(ValueError, match="'keep' or 'drop'"):
        evaluate(GOLD, GOLD, "some")


def test_broken_trees_are_scored() -> None:
    lines = SYSTEM.splitlines(keepends=True)
    lines[0] = lines[0].replace("\t2\tnsubj", "\t_\tnsubj")
    lines[2] = lines[2].replace("\t2\tcase", "\t4\tcase")
    lines[3] = lines[3].replace("\t2\tobl", "\t3\tobl")
    lines[4] = lines[4].replace("\t2\tconj", "\t0\troot")
    totals = evaluate(GOLD, "".join(lines)).totals
    assert [totals[name] for name in ("headless", "cyclic", "many_roots")] == [1, 1, 1]
    assert (totals["heads"], totals["both"], totals["clas"], totals["mlas"]) == (4, 4, 3, 3)


def test_no_head_is_not_the_root() -> None:
    gold = "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    assert evaluate(gold, gold.replace("\t0\t", "\t_\t")).totals["heads"] == 0


def test_other_formats_and_paths_are_evaluated(tmp_path: Path) -> None:
    (tmp_path / "a.conllx").write_text(row(1, "ab", 0, "root") + row(2, "c", 1, "dep"))
    (tmp_path / "b.conll09").write_text(row09(1, "abc", 0, "root") + "\n")
    paths = [tmp_path / "a.conllx", tmp_path / "b.conll09"]
    same, other = evaluate_aligned(paths[0], paths)
    assert same.scores["LAS"] == 100.0 and same.system == str(paths[0])
    assert get_counts(other)["Words"] == (0, 2, 1) and get_counts(other)["Sentences"] == (1, 1, 1)


@pytest.mark.parametrize("form", [" ", "\u00a0"])
def test_tokens_of_nothing_but_spaces_are_evaluated(form: str) -> None:
    """The script rejects them, but spaCy makes them."""
    columns = {"head": ["0", "1", "1"], "deprel": ["root", "dep", "dep"]}
    with_space = [new_sentence(["a", form, "b"], columns)] * 2
    without = [new_sentence(["a", "b"], {name: values[:2] for name, values in columns.items()})] * 2
    pairs = [(with_space, without), (without, with_space), (with_space, with_space)]
    results = [get_counts(evaluate_aligned(gold, [system])[0]) for gold, system in pairs]
    assert [result["Tokens"] for result in results] == [(4, 6, 4), (4, 4, 6), (6, 6, 6)]
    assert [result["UAS"] for result in results] == [(4, 6, 4), (4, 4, 6), (6, 6, 6)]
    words = [[word, "_", "_", "_", "_", "dep", key, 1] for key, word in enumerate("ab", start=1)]
    multiword = parse(dump([[(form, True, words)]]))
    assert evaluate_aligned(multiword, [multiword])[0].scores["LAS"] == 100.0
    spaces_only = [new_sentence([form], {"head": ["0"], "deprel": ["root"]})]
    assert evaluate_aligned(spaces_only, [spaces_only])[0].scores["Words"] == 100.0
    assert evaluate_aligned(spaces_only, [[]])[0].scores["Words"] == 0.0


def test_the_ignored_spaces_are_those_of_unicode() -> None:
    spaces = [x for x in map(chr, range(0x110000)) if unicodedata.category(x) == "Zs"]
    assert [x for x in map(chr, range(0x110000)) if SPACE.fullmatch(x)] == spaces


@pytest.mark.parametrize(
    ("feats", "expected"),
    [
        ("_", ""),
        ("Number=Sing|Case=Nom", "Case=Nom|Number=Sing"),
        ("Number[psor]=Sing|Typo=Yes|Case=Nom", "Case=Nom"),
        ("Case=Nom|Case=Nom", "Case=Nom|Case=Nom"),
    ],
)
def test_universal_features_are_sorted_and_filtered(feats: str, expected: str) -> None:
    assert universal_features(feats) == expected


def test_different_characters_are_an_error(tmp_path: Path) -> None:
    gold, system = tmp_path / "gold.conllu", tmp_path / "system.conllu"
    gold.write_text(GOLD)
    system.write_text(SYSTEM.replace("bord.", "b\u00f4rd."))
    with pytest.raises(FormatError) as caught:
        evaluate_aligned(gold, [system])
    error = caught.value
    assert (error.file, error.line, error.sent_id) == (str(system), 4, "one")
    assert str(error).startswith(
        f"{system}:4: one: sentence 1 has 'Il va au [b\u00f4rd.] Vite ! Fin' (U+00F4), but {gold}:7"
        " has 'Il va au [bord] . Vite ! Fin' (U+006F); "
    )
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("system", "line", "message"),
    [
        (SYSTEM.replace("1\tFin", "1\tFinale"), 8, "[Finale]' (U+0061), but gold sentence 3 has"),
        (SYSTEM.replace("1\tFin", "1\tF"), 8, "[end]', but gold sentence 3 has"),
        ("", 0, "has nothing, but gold sentence 1 has '[Il] va"),
    ],
)
def test_other_lengths_are_an_error(tmp_path: Path, system: str, line: int, message: str) -> None:
    path = tmp_path / "system.conllu"
    path.write_text(system)
    forms = [["Il", "va", "au", "bord", "."], ["Vite", "!"], ["Fin"]]
    gold = [new_sentence(form, {"head": ["0"] * len(form)}) for form in forms]
    with pytest.raises(FormatError) as caught:
        evaluate_aligned(gold, [path])
    assert (caught.value.file, caught.value.line) == (str(path), line)
    assert message in caught.value.message


def test_a_gold_file_without_trees_or_sentences_is_an_error() -> None:
    with pytest.raises(FormatError, match="has no head in the gold"):
        evaluate(GOLD.replace("\t2\tobl", "\t_\tobl"), SYSTEM)
    with pytest.raises(FormatError, match="no sentences"):
        evaluate_aligned([], [parse(SYSTEM)])


# The official script is run on random versions of a treebank with the same characters. A sentence
# is a list of tokens (form, is multiword, words), and a word is a list [form, lemma, upos,
# xpos, feats, deprel, key, key of the head].
Word = list[Any]
Token = tuple[str, bool, list[Word]]


def load(text: str) -> list[list[Token]]:
    loaded = []
    key = 0
    for block in text.strip().split("\n\n"):
        tokens: list[Token] = []
        covered = 0
        rows = [line.split("\t") for line in block.split("\n") if line[0] != "#"]
        for cells in rows:
            first, dash, last = cells[0].partition("-")
            if dash:
                tokens.append((cells[1], True, []))
                covered = int(last)
            elif "." not in first:
                if int(first) > covered:
                    tokens.append((cells[1], False, []))
                head = key + int(cells[6]) if cells[6] != "0" else 0
                tokens[-1][2].append([*cells[1:6], cells[7], key + int(first), head])
        key += len(rows)
        loaded.append(tokens)
    return loaded


def dump(treebank: list[list[Token]]) -> str:
    lines = []
    for tokens in treebank:
        heads = make_tree([word for _, _, words in tokens for word in words])
        number = 0
        for form, multiword, words in tokens:
            if multiword:
                lines.append("\t".join([f"{number + 1}-{number + len(words)}", form] + ["_"] * 8))
            for word in words:
                number += 1
                cells = [str(number), *word[:5], str(heads[number - 1]), word[5], "_", "_"]
                lines.append("\t".join(cells))
        lines.append("")
    return "\n".join(lines) + "\n"


def make_tree(words: list[Word]) -> list[int]:
    """Return a tree with one root: heads that are missing or make a cycle become the root."""
    number_of_key = {word[6]: number for number, word in enumerate(words, start=1)}
    heads = [number_of_key.get(word[7], 0) for word in words]
    root = heads.index(0) + 1 if 0 in heads else 1
    heads = [0 if number == root else head or root for number, head in enumerate(heads, start=1)]
    for first, *_ in find_cycles(heads):
        heads[first - 1] = root
    return heads


def perturb(treebank: list[list[Token]], rng: random.Random, rate: float) -> list[list[Token]]:
    """Return a treebank with the same characters, but other tokens, sentences and annotation."""
    tokens = [token for sentence in treebank for token in sentence]
    ends, result, begin = set(), [], 0
    for sentence in treebank:
        begin += sum(len(remove_spaces(form)) for form, _, _ in sentence)
        ends.add(begin)
    current: list[Token] = []
    character = index = 0
    while index < len(tokens):
        size = rng.randint(1, 4) if rng.random() < rate else 0
        group = deepcopy(tokens[index : index + max(size, 1)])
        index += len(group)
        for token in retokenise(group, rng) if size else group:
            current.append(token)
            character += len(remove_spaces(token[0]))
            if rng.random() > rate / 2 if character in ends else rng.random() < rate / 20:
                result.append(current)
                current = []
    result += [current] if current else []
    for sentence in result:
        reannotate([word for _, _, words in sentence for word in words], rng, rate / 4)
    return result


def remove_spaces(form: str) -> str:
    return SPACE.sub("", form)


def retokenise(group: list[Token], rng: random.Random) -> Iterator[Token]:
    """Join tokens into a multiword token, perhaps with other words, or split them elsewhere."""
    form = "".join(form for form, _, _ in group)
    words = [word for _, _, token_words in group for word in token_words]
    if rng.random() < 0.5:
        if rng.random() < 0.4:
            rng.choice(words)[0] = rng.choice(["x", words[0][0].swapcase()])
        if rng.random() < 0.3:
            words.insert(rng.randrange(len(words)), deepcopy(rng.choice(words)))
        if rng.random() < 0.3:
            words.pop(rng.randrange(len(words)))
            words = words or [["x", "_", "X", "_", "_", "dep", -1, 0]]
        yield form, True, words
        return
    offsets = [i for i in range(1, len(form)) if remove_spaces(form[i])]
    cuts = sorted(rng.sample(offsets, min(len(offsets), rng.randrange(len(words) + 1))))
    for i, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(form)], strict=True)):
        word = deepcopy(words[min(i, len(words) - 1)])
        yield form[start:end], False, [[form[start:end], *word[1:]]]


VALUES = {
    1: ["_", "x"],
    2: ["NOUN", "_"],
    3: ["T", "_"],
    4: ["_", "Case=Nom", "Number=Sing|Case=Acc", "Foo=Bar"],
    5: ["case", "det", "obj", "nsubj:pass", "aux:pass", "punct", "mark", "root", "none"],
}


def reannotate(words: list[Word], rng: random.Random, rate: float) -> None:
    for word in words:
        for column, values in VALUES.items():
            if rng.random() < rate:
                word[column] = rng.choice(values)
        if rng.random() < rate:
            word[7] = rng.choice(words)[6]


def run_script(udeval: Any, folder: Path, *texts: str) -> dict[str, tuple[int, int, int]]:
    loaded = []
    for text in texts:
        path = folder / "file.conllu"
        path.write_text(text, encoding="utf-8")
        loaded.append(udeval.load_conllu_file(str(path)))
    scores = udeval.evaluate(*loaded)
    return {
        name: tuple(int(x) for x in (score.correct, score.gold_total, score.system_total))
        for name, score in scores.items()
        if name in METRICS
    }


def test_counts_of_random_treebanks_equal_the_script(tmp_path: Path) -> None:
    udeval = pytest.importorskip("udtools.udeval")
    sentences = load(TINY.read_text(encoding="utf-8") + GOLD)
    rng = random.Random(18)
    for _ in range(150):
        rate = rng.choice([0.1, 0.4, 0.9])
        start = rng.randrange(len(sentences))
        treebank = sentences[start : start + rng.choice([1, 2, 30])]
        gold = dump(perturb(treebank, rng, rng.choice([0.0, rate])))
        system = dump(perturb(treebank, rng, rate))
        assert get_counts(evaluate(gold, system)) == run_script(udeval, tmp_path, gold, system)


RELATIONS = (
    "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse"
    " dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis"
    " punct reparandum vocative xcomp root acl:relcl aux:pass nsubjpass dobj ref _ OBJ"
).split()
FEATURES = (
    "PronType NumType Poss Reflex Foreign Abbr Typo ExtPos Gender Animacy NounClass Number Case"
    " Definite Deixis DeixisRef Degree VerbForm Mood Tense Aspect Voice Evident Polarity Person"
    " Polite Clusivity NumForm AdpType Style Variant Number[psor] Gender[psor] Strength case"
).split()


@pytest.mark.parametrize("relation", RELATIONS)
def test_relations_are_classified_as_by_the_script(relation: str, tmp_path: Path) -> None:
    """The second word is a content word, a function word of the first, or neither."""
    udeval = pytest.importorskip("udtools.udeval")
    root = row(1, "a", 0, "root")
    gold, system = (root + row(2, "b", 1, deprel) + "\n" for deprel in (relation, "unknown"))
    for pair in ((gold, gold), (gold, system), (system, gold)):
        assert get_counts(evaluate(*pair)) == run_script(udeval, tmp_path, *pair)


def test_universal_features_are_those_of_the_script(tmp_path: Path) -> None:
    udeval = pytest.importorskip("udtools.udeval")
    for feature in FEATURES:
        row = "1\ta\t_\t_\t_\t{}\t0\troot\t_\t_\n\n"
        pair = row.format(f"{feature}=Yes"), row.format("_")
        assert get_counts(evaluate(*pair)) == run_script(udeval, tmp_path, *pair)


DEVELOPMENT = [
    "ud-english-ewt/en_ewt-ud-dev", "ud-coptic-scriptorium/cop_scriptorium-ud-dev",
    "ud-tamil-ttb/ta_ttb-ud-dev", "ud-vietnamese-vtb/vi_vtb-ud-dev",
    "ud-chinese-gsd/zh_gsd-ud-dev", "ud-chinese-gsd-1.4/zh-ud-dev",
    "ud-latin-perseus/la_perseus-ud-train",
]  # fmt: skip


@pytest.mark.parametrize("name", DEVELOPMENT)
def test_counts_of_real_treebanks_equal_the_script(name: str, shared: Path, tmp_path: Path) -> None:
    udeval = pytest.importorskip("udtools.udeval")
    rng = random.Random(name)
    text = (shared / "data" / f"{name}.conllu").read_text(encoding="utf-8")
    treebank = load(text)[:700]
    text = "\n\n".join(text.split("\n\n")[: len(treebank)]) + "\n\n"
    system = dump(perturb(treebank, rng, 0.2))
    result = get_counts(evaluate(text, system))
    assert result == run_script(udeval, tmp_path, text, system)
    assert result["Tokens"][0] < result["Tokens"][1] and result["MLAS"][0] > 100


@pytest.mark.parametrize("pair", ["ewt-goldtok", "ewt-raw"])
def test_counts_equal_those_of_the_oracles(pair: str, shared: Path) -> None:
    oracle = json.loads((shared / "oracles" / "expected.json").read_text())[pair]
    gold, system = (shared / "oracles" / oracle[side] for side in ("gold", "pred"))
    evaluation = evaluate_aligned(gold, [system])[0]
    expected = oracle["ud-evaluation"]
    assert get_counts(evaluation) == {
        name: (counts["correct"], counts["gold"], counts["system"])
        for name, counts in expected.items()
    }
    for name, counts in expected.items():
        scores = evaluation.scores[name], *evaluation.precision_recall(name)
        assert scores == pytest.approx(
            (counts["f1"], counts["precision"], counts["recall"]), abs=1e-9
        )
