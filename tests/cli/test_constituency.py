"""train, parse, eval, analyze, show, ensemble and info with bracketed trees."""

import json
from pathlib import Path

import pytest

from depkit.corpus.io import read
from tests.cli.commands import ON_CPU, Command, set_options
from tests.conftest import TINY, TREES

SMALL = ON_CPU + set_options(
    "inputs.word=8", "inputs.char=8", "encoder.layers=1", "encoder.size=16", "encoder.heads=2",
    "encoder.head_size=8", "encoder.feedforward=16",
)  # fmt: skip
TEXT = 'The cat (a big one) sleeps. Mary said "yes".\n'
(train, parse, tag, evaluate, analyze, show, ensemble, distill, info, convert) = map(
    Command, "train parse tag eval analyze show ensemble distill info convert".split()
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A parser of bracketed trees, trained for three epochs."""
    directory = tmp_path_factory.mktemp("model") / "trees.model"
    _, err = train(
        TREES, "--dev", TREES, "-o", directory, "--recipe", "kk2018-small", "--epochs", 3, *SMALL
    )
    assert "LF1" in err and "LAS" not in err
    return directory


@pytest.fixture(scope="module")
def parsed(model, tmp_path_factory):
    """The file of trees, parsed."""
    output = tmp_path_factory.mktemp("parsed") / "parsed.mrg"
    parse(TREES, "--model", model, "-o", output, *ON_CPU)
    return output


def test_parsed_trees_are_scored_analyzed_and_shown(parsed):
    trees = parsed.read_text().splitlines()
    assert len(trees) == 26 and all(tree.startswith("(") for tree in trees)
    scores = json.loads(evaluate(TREES, parsed, "--json")[0])
    assert 0 < scores["LF1"] <= 100 and scores["errors"] == 0
    out, _ = analyze(TREES, parsed, "--by", "label", "--bins", "1-", "--by", "span-length",
                     "--format", "csv")  # fmt: skip
    assert out.startswith("system,by,metric,bin,gold,predicted,")
    assert f"{parsed},label × span-length,LF1,NP × 1-,47," in out
    out, _ = show(TREES, "--diff", parsed, "--all")
    assert out.count("# sentence") == 26 and "✗ " in out


def test_parsed_trees_stand_in_the_brackets_of_the_input(model, tmp_path):
    path, tree = tmp_path / "in.mrg", "(S (NP (NN rain)) (VP (VBZ falls)))"
    path.write_text(f"{tree}\n( {tree})\n(TOP {tree})\n(S1 {tree})\n")
    out, _ = parse(path, "--model", model, *ON_CPU)
    plain, *wrapped = out.splitlines()
    assert plain.startswith("(") and not plain.startswith("( ")
    assert wrapped == [f"({label} {plain})" for label in ("", "TOP", "S1")]


def test_analyze_has_the_options_of_eval(parsed, tmp_path):
    prm = tmp_path / "my.prm"
    prm.write_text("DELETE_LABEL NP\n")
    out, _ = analyze(TREES, parsed, TREES, "--evalb", prm, "--test", "ar", "--confidence", "--rer")
    assert "LF1 by label" in out and "\nNP" not in out and "|evalb:my.prm|" in out
    assert " RER " in out and "p (Holm)" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--worst", "3"], "not for bracketed trees"),
        (["--preset", "li2019"], "not for bracketed trees"),
        (["--confusion", "deprel"], "not for bracketed trees"),
        (["--punct", "ptb"], "EVALB say which words count"),
        (["--by", "distance"], "no grouping 'distance'"),
        (["--metric", "UAS"], "no metric 'UAS'; choose from LF1"),
        (["--bins", "1,2"], "more bins than groupings of numbers"),
        (["--test", "ar"], "it needs two or more PRED files"),
        (["--measure", "f1"], "it needs --plot"),
    ],
)
def test_options_of_analyze_for_words_are_refused(parsed, options, message):
    assert message in analyze(TREES, parsed, *options, code=2)[1]


def test_text_tokens_and_tables_are_parsed(model, tmp_path):
    out, _ = parse("--model", model, *ON_CPU, stdin=TEXT)
    first, second = out.splitlines()
    for word in ("-LRB-", "-RRB-"):
        assert f" {word})" in first
    assert " ``)" in second and " '')" in second and '"' not in second
    out, _ = parse("--model", model, "--input", "tokens", *ON_CPU, stdin="A cat sleeps .\n")
    assert out.count("\n") == 1 and out.count("(") == out.count(")")
    out, _ = parse(TINY, "--model", model, *ON_CPU)
    assert len(out.splitlines()) == 24
    record = json.loads(
        parse("--model", model, "--format", "json", *ON_CPU, stdin=TEXT)[0].split("\n")[0]
    )
    assert record["tree"].startswith("(") and record["words"][2]["form"] == "("


def test_trees_are_converted_to_dependencies(model, tmp_path):
    output = tmp_path / "out.conllu"
    parse("--model", model, "--dependencies", "ud", "-o", output, *ON_CPU, stdin=TEXT)
    sentences = list(read(output))
    assert [sentence.form[2] for sentence in sentences] == ["(", '"']
    for sentence in sentences:
        assert sentence.head.count(0) == 1 and "_" not in sentence.upos
    out, _ = parse(TREES, "--model", model, "--dependencies", "sd", "--format", "conllx", *ON_CPU)
    assert out.count("\n\n") == 26


@pytest.mark.parametrize("kind", ["sd", "ud", "ud2"])
def test_parsed_brackets_become_the_dependencies_of_depkit_convert(model, kind, tmp_path):
    """So they can be scored against gold trees that were converted."""
    verb = (
        "(VP (VBP do) (RB n't) (VP (VB eat) (NP (NN meat) (-LRB- -LRB-) (NN beef) (-RRB- -RRB-))))"
    )
    source, output = tmp_path / "in" / "a b.mrg", tmp_path / "out" / "a b.mrg"
    source.parent.mkdir()
    source.write_text(f"( (S (`` ``) (NP (PRP I)) {verb} ('' '') (. .)) )\n((NP (NNS Cats)))\n")
    parse(source, "--model", model, "-o", output, *ON_CPU)
    to_kind = ("--dependencies", kind, "--to", "conllu")
    dependencies = ("--model", model, "--dependencies", kind, *ON_CPU)
    out, _ = parse(source, *dependencies)
    assert out == convert(output, *to_kind)[0]
    if kind == "ud2":
        assert out.startswith('# sent_id = a_b-1\n# text = "I don\'t eat meat (beef)".\n')
        assert "3-4\tdon't\t" in out and "# sent_id = a_b-2\n" in out
    out, _ = parse(*dependencies, stdin=source.read_text())
    assert out == convert("-", *to_kind, stdin=output.read_text())[0]
    gold, predicted = tmp_path / "gold.conllu", tmp_path / "predicted.conllu"
    convert(source, *to_kind, "-o", gold)
    parse(source, *dependencies, "-o", predicted)
    assert "UAS" in evaluate(gold, predicted)[0]


def test_converted_tables_and_texts_keep_their_words_and_comments(model):
    row = "1\tdon't\t_\t_\tVB\t_\t_\t_\t_\tKept=Yes\n"
    table = f"# sent_id = mine\n# text = ``don't\n{row}\n"
    options = ("--model", model, "--dependencies", "ud2", *ON_CPU)
    out, _ = parse(*options, stdin=table)
    assert out.startswith("# sent_id = mine\n# text = ``don't\n1\tdon't\t") and "Kept=Yes" in out
    out, _ = parse(*options, "--input", "tokens", stdin="`` do n't\n")
    assert "# sent_id = 1\n" in out and "\n1\t``\t" in out and "1-2" not in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--format", "conllu"], "--dependencies sd, ud or ud2"),
        (["--format", "ptb", "--dependencies", "sd"], "exclude each other"),
        (["--prob"], "do not support --prob"),
        (["--decode", "mst"], "do not support --decode"),
        (["--tokenizer", "nothing"], "there is no model 'nothing'"),
    ],
)
def test_options_that_do_not_fit_are_refused(model, options, message):
    error = parse.failure("--model", model, *options, *ON_CPU, stdin=TEXT)
    assert message in str(error)


def test_models_of_other_families_write_no_trees():
    error = parse.failure("--dependencies", "ud", *ON_CPU, stdin=TEXT)
    assert "predicts no constituency trees" in str(error)
    error = parse.failure("--format", "ptb", *ON_CPU, stdin=TEXT)
    assert "predicts no constituency trees" in str(error)
    assert "has no bracketed tree" in str(tag.failure("--format", "ptb", *ON_CPU, stdin=TEXT))


def test_a_parser_without_tokenizer_can_use_that_of_another_model(tmp_path, model):
    directory = tmp_path / "model"
    train(
        TINY, "--dev", TINY, "-o", directory, "--epochs", 1, *ON_CPU,
        *set_options("tokenizer.enabled=false", "encoder.layers=1", "encoder.size=16"),
    )  # fmt: skip
    assert "no tokenizer" in str(parse.failure("--model", directory, *ON_CPU, stdin=TEXT))
    out, _ = parse("--model", directory, "--tokenizer", "en-ewt", *ON_CPU, stdin=TEXT)
    assert '# text = Mary said "yes".\n' in out
    error = parse.failure("--tokenizer", model, *ON_CPU, stdin=TEXT)
    assert "has no tokenizer" in str(error)


def test_an_ensemble_of_constituency_parsers_is_trained_and_parses(tmp_path):
    directory = tmp_path / "ensemble"
    _, err = ensemble(
        TREES, "--dev", TREES, "-o", directory, "--folds", 2, "--recipes", "kk2018-small",
        "--epochs", 2, *SMALL,
    )  # fmt: skip
    assert "LF1" in err
    out, _ = parse("--model", directory, *ON_CPU, stdin=TEXT)
    assert len(out.splitlines()) == 2
    out, _ = info(directory)
    assert "yes, with the tokenizer of en-ewt" in out


def test_the_card_and_info_describe_the_model(model):
    card = (model / "README.md").read_text()
    assert (
        "the parameters collins of EVALB" in card
        and "tokenizer of en-ewt" in card
        and "constituents" in card
    )
    out, _ = info(model)
    assert "yes, with the tokenizer of en-ewt" in out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file has no sentences"),
        ("(S (NN a)\n", "tree 1: the tree that begins here is not finished"),
        ("(S (NN a)))\n", "1: tree 2: there is a closing bracket too many"),
        ("(" * 1_000_000, "1"),
        ("\0\1\2(((", "1"),
    ],
)
def test_hostile_files_are_an_error_of_one_line(text, message, tmp_path, model):
    path = tmp_path / "bad.mrg"
    path.write_text(text)
    error = train.failure(
        path, "--dev", TREES, "-o", tmp_path / "out", "--recipe", "kk2018-small", *SMALL
    )
    assert str(path) in str(error) and message in str(error) and len(str(error)) < 400
    assert str(error).count("\n") == 0
    if text:
        # Trees before the error are parsed.
        assert str(path) in str(parse.invoke((path, "--model", model, *ON_CPU), None).exception)


def test_dependency_treebanks_and_teachers_are_refused(model, tmp_path):
    error = train.failure(
        TINY, "--dev", TINY, "-o", tmp_path / "out", "--recipe", "kk2018-small", *SMALL
    )
    assert "has no constituency tree" in str(error)
    error = distill.failure(
        model, TINY, "--train", TINY, "--dev", TINY, "-o", tmp_path / "student", *ON_CPU
    )
    assert "family constituency" in str(error)


def test_trees_on_stdin_are_recognised(model):
    out, _ = parse("--model", model, *ON_CPU, stdin=Path(TREES).read_text())
    assert len(out.splitlines()) == 26


def write_features(path: Path) -> Path:
    """Write trees in the manner of the treebanks of SPMRL: labels have features with spaces."""
    trees = [
        f"(TOP (S##m=d## (NP##f=suj t## (D##g=m|n=s## {d}) (N##lem=(|g=m## {n}))"
        f" (VP##a b## (V##m=ind## {v})) (PONCT## .)))"
        for d in ("le", "un", "ce") for n in ("chat", "chien", "mot") for v in ("dort", "lit")
    ]  # fmt: skip
    path.write_text("\n".join(trees) + "\n")
    return path


@pytest.mark.parametrize("options", [[], ["--evalb", "spmrl"]])
def test_trees_with_features_are_learned(options, tmp_path):
    trees = write_features(tmp_path / "spmrl.mrg")
    quick = set_options(
        "training.updates=0", "training.warmup=0", "training.rate=1e-2", "inputs.dropout=0",
        "inputs.part_dropout=0", "training.patience=8", "encoder.residual_dropout=0",
    )  # fmt: skip
    _, err = train(
        trees, "--dev", trees, "-o", tmp_path / "m", "--recipe", "kk2018-small", "--epochs", 40,
        *SMALL, *quick, *options,
    )  # fmt: skip
    assert ", dev LF1 100.00" in err
    assert 'evalb = "spmrl"' in (tmp_path / "m" / "config.toml").read_text()
    assert "with the parameters spmrl of EVALB" in (tmp_path / "m" / "README.md").read_text()
    out, _ = parse(trees, "--model", tmp_path / "m", *ON_CPU)
    assert out.splitlines()[0] == "(TOP (S (NP (D le) (N chat)) (VP (V dort)) (PONCT .)))"


def test_other_parameters_of_evalb_select(tmp_path):
    """With collins, the label NP##f=s## never equals NP; a parameter file is read from its path."""
    trees, prm = write_features(tmp_path / "spmrl.mrg"), tmp_path / "my.prm"
    prm.write_text("DELETE_LABEL NP\n")
    common = (trees, "--dev", trees, "--recipe", "kk2018-small", "--epochs", 1, *SMALL)
    _, err = train(*common, "-o", tmp_path / "m", "--evalb", "collins")
    assert "best epoch: 1 of 1, dev LF1 0.00" in err
    train(*common, "-o", tmp_path / "n", *set_options(f"training.evalb={prm}"))
    assert f'evalb = "{prm}"' in (tmp_path / "n" / "config.toml").read_text()
    message = str(train.failure(*common, "-o", tmp_path / "o", "--evalb", "colins"))
    assert "training.evalb: there are no parameters 'colins'" in message
    message = str(train.failure(TINY, "--dev", TINY, "-o", tmp_path / "o", "--evalb", "spmrl"))
    assert "family=biaffine has no constituents" in message


def test_predicted_tags_do_not_end_a_training(tmp_path):
    """Words are deleted by the gold tags; a dev part without a scored word has the score 0."""
    dev = tmp_path / "dev.mrg"
    dev.write_text("(S (X (. .) (, ,)) (. .))\n")
    predict = set_options("scorer.predict=['xpos']")
    common = ("--recipe", "kk2018-small", "--epochs", 1, *SMALL, *predict)
    _, err = train(TREES, "--dev", dev, "-o", tmp_path / "a", *common)
    assert "best epoch: 1 of 1, dev LF1 0.00" in err
    parse(TREES, "--model", tmp_path / "a", *ON_CPU)


def test_dev_scores_delete_words_by_their_gold_tags():
    from depkit.parsers.families import FAMILIES

    gold, parsed = (
        list(read([f"(S (NP (NN rain)) (VP (VBZ falls) ({tag} now)) ({stop} .))\n"]))
        for tag, stop in (("RB", "."), (",", "NN"))
    )
    scores = FAMILIES["constituency"].evaluate(None, gold, parsed)
    assert scores == {"LF1": 100.0, "LP": 100.0, "LR": 100.0, "EM": 100.0}


def test_trees_with_features_are_recognised_in_text(tmp_path):
    """Features with spaces and brackets do not make the beginning of a file look like text."""
    for first in (
        "(NP##f=s t## (D##lem=(|a=) x## the) (N cat))",
        "(TOP (S##m=d t## (N##a)b## cat)))",
    ):
        file = tmp_path / "in.txt"
        file.write_text(f"{first}\n")
        tag(file, "-o", tmp_path / "out.mrg", *ON_CPU)
        words = [word for sentence in read(tmp_path / "out.mrg") for word in sentence.form]
        assert words in (["the", "cat"], ["cat"])
