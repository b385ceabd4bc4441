"""The benchmarks compute correct figures, and every entry runs; nothing is asserted about speed."""

import json
import sys
import time
from collections import Counter
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
import tokenizers
import torch
import transformers
from torch import nn

from depkit.corpus.sentence import new_sentence
from depkit.nn.lstm import run_lstm
from depkit.parsers.loading import load
from depkit.parsers.model_directory import find_model
from depkit.serving.http_server import Server
from depkit.serving.udpipe import Models
from depkit.trees.shape import is_tree
from tests.bench import figure, gpu, languages, serve, suspects
from tests.bench.__main__ import (
    ENTRIES,
    REQUIRED_OPTIONS,
    describe_shares,
    load_entry,
    main,
    make_bench,
    parse_arguments,
    table,
)
from tests.bench.flops import count_flops
from tests.bench.languages import LANGUAGES, TREEBANKS, commands
from tests.bench.measure import NO_PEER, Bench, BenchError, Peer, Program, Row, Run, run_alternately
from tests.bench.processes import subtract_start_up
from tests.bench.stages import make_stage
from tests.bench.words import choose_words
from tests.conftest import TINY
from tests.parsers.inputs.small_transformers import fast_tokenizer, save_bert, save_pretrained
from tests.pretend_gpu import WHY_NOT

BATCH, LENGTH, INPUT_SIZE, SIZE, LABELS = 3, 5, 20, 40, 7
TOKENS = BATCH * LENGTH
GATES = 2 * TOKENS * 4 * SIZE * (INPUT_SIZE + SIZE)  # gates read the input and the previous state
LINEAR = 2 * TOKENS * SIZE * LABELS


@pytest.fixture
def layers():
    torch.manual_seed(0)
    return nn.LSTM(INPUT_SIZE, SIZE, batch_first=True), nn.Linear(SIZE, LABELS)


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_flops_agree_with_a_count_by_hand(layers, precision):
    lstm, linear = layers
    x = torch.randn(BATCH, LENGTH, INPUT_SIZE)

    def forward():
        with torch.autocast("cpu", precision, enabled=precision != torch.float32):
            return linear(run_lstm(lstm, x))

    with torch.inference_mode():
        assert count_flops(forward) == GATES + LINEAR
    # The backward pass has two products for each product of the forward pass: the gradients of
    # the inputs and of the weights.
    assert count_flops(lambda: forward().float().sum().backward()) == 3 * (GATES + LINEAR)


def test_figures_are_computed_from_the_runs():
    runs = [Run(2.0, 3.0, peak=5_000_000), Run(1.0, 2.0), Run(4.0, 1.0, peak=7_000_000)]
    limit = [Run(0.5), Run(1.0), Run(1.0)]
    base = [Run(1.0), Run(1.0), Run(8.0)]
    row = Row("entry", "name", runs, 100, 8e9, 4e9, limit, 16e9, "base", base)
    assert row.figures() == {
        "seconds": 2.0,
        "words_per_second": 50.0,
        "processor_us_per_word": 2e4,
        "gflops_per_second": 4.0,
        "megaflops_per_word": 80.0,
        "gigabytes_per_second": 2.0,
        "roofline": 0.125,  # the median of 4/32, 8/16 and 2/16, which are ratios of pairs
        "peak_megabytes": 7.0,
        "times": [1.0, 0.5, 2.0],
    }
    assert table([row]).row_count == 1


def test_runs_alternate_after_a_warm_up():
    calls = []

    def make_measure(name):
        return lambda: calls.append(name) or Run(float(len(calls)))

    runs = run_alternately(2, {"a": make_measure("a"), "b": make_measure("b")})
    assert calls == ["a", "b"] * 3
    assert [run.seconds for run in runs["a"]] == [3.0, 5.0]


def test_start_up_is_subtracted():
    start_up = [Run(1.0, 1.0), Run(9.0, 1.5), Run(2.0, 9.0)]
    assert subtract_start_up([Run(5.0, 4.0, 77), Run(2.5, 1.0)], start_up) == [
        Run(3.0, 2.5, 77),
        Run(0.5, 0.0),
    ]
    assert subtract_start_up([Run(5.0), Run(2.0)], start_up) == []


def test_the_costs_of_a_program_are_measured(tmp_path):
    source = tmp_path / "in.txt"
    source.write_text("Zeit\n")
    code = "import sys; data = bytearray(60_000_000); print(sys.stdin.read().upper(), end='')"
    run = Program([sys.executable, "-S", "-c", code], source)()
    assert run.output == "ZEIT\n"
    assert 0 < run.first <= run.seconds
    assert run.peak > 60_000_000 and run.processor > 0


def test_the_error_of_a_program_is_raised():
    code = "import sys; print('more', file=sys.stderr); sys.exit('no such model')"
    with pytest.raises(BenchError, match="exit 1: no such model"):
        Program([sys.executable, "-S", "-c", code])()


def test_every_entry_is_listed(capsys):
    main(["--list"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(ENTRIES)
    assert all(len(line.split()) > 3 for line in lines)
    assert REQUIRED_OPTIONS.keys() <= ENTRIES.keys()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "no entry 'nonsense'"),
        (["spacy"], "spacy needs --spacy"),
        (["supar-parse", "--supar", "python"], "supar-parse needs --supar-model"),
        (["--runs", "0"], "--threads and --runs must be 1 or more"),
        (["--data", "nowhere.conllu"], "nowhere.conllu does not exist"),
    ],
)
def test_usage_errors_are_reported_in_one_line(arguments, message, capsys):
    with pytest.raises(SystemExit) as error:
        main(["--data", str(TINY), *arguments])
    assert error.value.code == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_options_are_passed_to_the_entries(tmp_path):
    options = ["--set", "a=1", "--same-model", "dir", "--spacy", "python", "--spacy-model", "en"]
    bench = make_bench(parse_arguments(["--data", str(TINY), *options]), tmp_path)
    assert (bench.limit, bench.settings, bench.same_model) == (0.0, ["a=1"], "dir")
    assert (bench.supar, bench.spacy, bench.udpipe) == (NO_PEER, Peer("python", "en"), NO_PEER)


@pytest.fixture
def bench(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("tests.bench.roofline.SIZE", 16)
    monkeypatch.setattr("tests.bench.decode.SENTENCES", 2)
    text = tmp_path / "text.txt"
    text.write_text("Time flies like an arrow. Fruit flies like a banana.\n")
    words = sum(map(len, tiny))
    return Bench(TINY, tiny, words, text, TINY, text, TINY, tmp_path, threads=1, runs=1)


def test_the_flops_of_the_encoder_are_those_of_its_layers(bench):
    row = {row.name: row for row in load_entry("encoder")(bench)}["forward"]
    stage = make_stage(bench, counted=True)
    encoder, network = stage.parser.config.encoder, stage.parser.network
    assert encoder.kind == "selfatt"
    modules = [network.projection, *network.encoder.modules()]
    weights = sum(
        module.weight.numel() for module in modules if isinstance(module, nn.Linear | nn.Conv1d)
    )
    flops = 0
    for batch in stage.batches:
        sentences, length = batch.shape
        keys = -(-length // 32) * 32  # attention pads the keys to a multiple of 32
        attention = 2 * encoder.layers * encoder.heads * encoder.head_size * keys
        flops += 2 * sentences * length * (weights + attention)
    assert row.flops == flops


def test_every_stage_has_its_rows(bench):
    names = ["reading", "writing", "tokenizing", "batching", "scoring", "decoding", "backward"]
    rows = [row for name in names for row in load_entry(name)(bench)]
    assert {row.entry for row in rows} == set(names)
    assert {row.name for row in rows if row.step} == {
        "with_tree and writing", "raw text to sentences", "numbers", "padded batches",
        "arcs, labels, tags", "trees as in parsing, the model's scores",
    }  # fmt: skip
    assert all(row.flops and row.limit for row in rows if row.entry in ("scoring", "backward"))
    assert json.loads(json.dumps([row.figures() for row in rows]))
    assert describe_shares(rows).count("%") == 6


@pytest.fixture
def options(tmp_path):
    """Options of the GPU benchmark for the CPU, with small data and small networks."""
    small = ("bilstm:encoder.size=8", "selfatt:encoder.size=8", "selfatt:encoder.layers=1")
    return [
        "--treebank", str(TINY), "--dev", str(TINY), "--device", "cpu",
        "--transformer", str(save_bert(tmp_path)), "--output", str(tmp_path / "gpu.md"),
        *(part for setting in small for part in ("--set", setting)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "arguments", "figure"),
    [
        ("family", ("tagger",), "words/s"),
        ("family", ("kk2018-small",), "parsing"),
        ("family", ("g2g-sent",), "parsing"),
        ("train", ("bilstm", "bfloat16", 5000), "words/s"),
        ("train", ("finetune", "tf32", 1000), "words/s"),
        ("train_compiled", ("selfatt", "encoder", 5000), "words/s"),
        ("train_graphed", ("bilstm", 5000), "needs CUDA"),
        ("parse_untrained", ("finetune", 4000), "sentences/s"),
        ("parse", (4000,), "sentences/s"),
        ("parse_without_network", (), "sentences/s"),
        ("parse_as_a_process", (), "killed"),
        ("profile_training", ("selfatt",), "by time on the host"),
        ("profile_parsing", (), "by time on the host"),
        ("supar", ("SuPar trains",), "--supar"),
        ("dev_score", ("float32",), "LAS"),
    ],
)
def test_every_gpu_measure_gives_a_figure_or_a_reason(
    function, arguments, figure, options, tmp_path, monkeypatch
):
    monkeypatch.setattr("torch.compile", partial(torch.compile, backend="eager"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    torch.set_num_threads(1)  # several threads would wait for other processes
    assert function in {row.function for row in gpu.plan_rows()}
    row = gpu.PlannedRow("group", "name", 1, function, arguments)
    ready, figures = gpu.measure([row], gpu.parse_arguments(options), time.monotonic() + 0.5)
    assert ready is None
    torch.set_float32_matmul_precision("highest")
    assert figure in figures or figure in figures["note"] + figures.get("text", "")


@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
@pytest.mark.parametrize(
    ("function", "arguments", "figure"),
    [
        ("family", ("refine",), "0 waits; parsing: "),
        ("train_graphed", ("bilstm", 5000), "without the graph"),
    ],
)
def test_a_gpu_measure_runs_on_the_pretend_gpu(function, arguments, figure, options):
    row = gpu.PlannedRow("group", "name", 1, function, arguments)
    parsed = gpu.parse_arguments([*options, "--device", "pretend"])
    _, figures = gpu.measure([row], parsed, time.monotonic() + 0.5)
    assert figure in figures["note"]


def test_the_gpu_benchmark_ends_in_time(options, tmp_path):
    rows = gpu.plan_rows()
    start = time.monotonic()
    gpu.main([*options, "--minutes", "0.15"])
    assert time.monotonic() - start < 15
    lines = (tmp_path / "gpu.md").read_text().splitlines()
    table = [[cell.strip() for cell in line.split("|")] for line in lines if line.startswith("|")]
    assert [cells[1:3] for cells in table[2:]] == [[row.group, row.name] for row in rows]
    assert all(any(cells[3:]) for cells in table[2:])
    assert "- torch: " in "\n".join(lines)


def test_planted_errors_are_counted(tiny, tmp_path, capsys):
    corrupted, errors = suspects.corrupt(tiny, 0.05, 0.02, np.random.default_rng(1))
    changed = {
        (i, j): (new[0] != old[0], new[1] != old[1])
        for i, sentences in enumerate(zip(corrupted, tiny, strict=True))
        for j, (new, old) in enumerate(
            zip(*(zip(s.head, s.deprel, strict=True) for s in sentences), strict=True)
        )
        if new != old
    }
    words = sum(map(len, tiny))
    assert changed.keys() == errors
    assert list(changed.values()).count((False, True)) == round(0.05 * words)
    assert list(changed.values()).count((True, False)) == round(0.02 * words)
    assert all(is_tree(np.array(sentence.head, np.int32)) for sentence in corrupted)
    # With parses that are equal to the treebank, exactly the planted errors are suspect.
    main(["suspects", str(TINY), "--parses", str(TINY), "--heads", "0.02"])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("parser")][-1].endswith("| 100.0% | 100.0%")


def test_requests_to_the_server_are_measured_and_compared(monkeypatch, capsys):
    parser = load("en-ewt", "cpu", threads=1, engine="onnx")
    server = Server(Models({"en-ewt": ("en-ewt", parser)}))
    server.start()

    def parse(texts, options):
        return Run(
            1.0 * len(texts),
            0.5 * len(texts),
            output="".join(map(str, parser.parse("".join(texts), "predict"))),
        )

    monkeypatch.setattr(serve, "measure_parse", parse)
    monkeypatch.setattr(serve, "start_server", lambda options: nullcontext((0, server.port)))
    monkeypatch.setattr(serve, "read_usage", lambda process: serve.Usage(time.process_time(), 9.0))
    arguments = ["serve", "--data", str(TINY), "--requests", "12", "--clients", "1", "3"]
    try:
        main(arguments)
        assert not server.batcher.open
        monkeypatch.setattr(
            serve, "measure_parse", lambda texts, _: Run(len(texts), len(texts), output="x\n\n")
        )
        with pytest.raises(BenchError, match="differ from the output of depkit parse"):
            main(arguments)
    finally:
        server.stop()
    cells = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if " | " in line]
    names = [row[0] for row in cells[2:7]]
    assert names[2:] == ["| 1 client", "| 3 clients", "| 3 clients, a connection for each request"]
    assert all(0 < float(row[1]) <= float(row[2]) for row in cells[4:7])


TABLE = f"""# Figures
{figure.SECTION}

Some text.

| parser | LAS | words/s of processor time | note |
|---|---|---|---|
| depkit, `a` | 88.7 | 26,000 | |
| other | 79.3 | 7,236 | x |

| another | table |
"""


def test_the_figure_has_a_point_for_each_row(tmp_path):
    points = figure.read_points(TABLE)
    assert points == [("depkit, a", 88.7, 26000), ("other", 79.3, 7236)]
    assert [point.is_depkit for point in points] == [True, False]
    pytest.importorskip("matplotlib")
    (results := tmp_path / "RESULTS.md").write_text(TABLE, "utf-8")
    images = []
    for name in ("a.svg", "b.svg"):
        main(["figure", "--results", str(results), "-o", str(tmp_path / name)])
        images.append((tmp_path / name).read_text("utf-8"))
    assert images[0] == images[1]
    assert all(f">{point.name}</text>" in images[0] for point in points)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (figure.SECTION, "", "no heading"),
        ("parser |", "program |", "does not have the columns"),
        ("79.3", "?", "row of other"),
    ],
)
def test_a_table_that_cannot_be_drawn_is_refused(old, new, message):
    with pytest.raises(BenchError, match=message):
        figure.read_points(TABLE.replace(old, new))


def test_the_figure_of_the_readme_is_that_of_the_measured_figures():
    matplotlib = pytest.importorskip("matplotlib")
    drawn = figure.FIGURE.read_text("utf-8")
    points = figure.read_points(figure.RESULTS.read_text("utf-8"))
    if f"Matplotlib v{matplotlib.__version__}," not in drawn:
        pytest.skip("another version of matplotlib has drawn the figure")
    assert drawn == figure.make_image(lambda: figure.draw(points), ".svg").decode()


def test_the_text_of_manuals_is_collected(tmp_path, capsys):
    kde = tmp_path / "usr/share/doc/HTML/de"
    notices = {"kate": "&FDLNotice;", "other": "&GPLNotice;"}
    for name, notice in notices.items():
        (kde / name).mkdir(parents=True)
        (kde / name / "index.docbook").write_text(
            f"<legalnotice>{notice}</legalnotice>\n"
            "<!-- <para>Das ist ein alter, langer Satz.</para> -->"
            "<para>In &kate; wählen\nSie <guimenu>Datei</guimenu><guimenuitem>Neu</guimenuitem>"
            " aus.</para><para>Choose the name of the file.</para>"
            "<para>ls -l /usr | wc -l | less.</para>"
            f"<para>Der zweite Satz steht in {name}.</para><para>Zu kurz.</para>",
            "utf-8",
        )
    gnome = tmp_path / "usr/share/help/de/gnome-help"
    gnome.mkdir(parents=True)
    (gnome / "a.page").write_text("<p>Der zweite Satz steht in kate.</p>", "utf-8")
    main(["manuals", "de", "--packages", str(tmp_path), "-o", str(tmp_path / "de.txt")])
    paragraphs = (tmp_path / "de.txt").read_text("utf-8").split("\n\n")
    expected = ["In Kate wählen Sie Datei Neu aus.", "Der zweite Satz steht in kate."]
    assert sorted(paragraphs) == sorted(["", *expected])
    assert capsys.readouterr().out == "de: 2 paragraphs, 13 words\n"
    command = ["manuals", "de", "--packages", str(tmp_path), "--words", "7", "-o"]
    main([*command, str(tmp_path / "few.txt")])
    assert len((tmp_path / "few.txt").read_text("utf-8").split()) <= 7


def test_the_speed_of_a_model_is_that_of_both_readings(tmp_path, capsys, monkeypatch):
    """English manuals, which no other manuals may contain, are in a folder with another name."""
    gnome = tmp_path / "usr/share/help/C/gnome-help"
    gnome.mkdir(parents=True)
    sentences = [f"<p>You can choose the name of the file number {n}.</p>" for n in range(3)]
    (gnome / "a.page").write_text("".join(sentences), "utf-8")
    seconds = iter([2.0, 3.0, 3.5])

    def parse_times(model, texts, folder):
        assert model == "en-ewt"
        return [len(text.split()) for text in texts], [next(seconds) for _ in texts]

    monkeypatch.setattr(languages, "parse_times", parse_times)
    main(["languages", "speed", "en", "--packages", str(tmp_path)])
    # 30 words, 20 more than the first sentence, in a second, and 30 more in half a second
    assert capsys.readouterr().out == "| en | 30 | 20 | 60 |\n"


def test_the_commands_of_a_card_train_the_model(tmp_path):
    """All commands of a model with text exist, and each reads what those before it have written."""
    written = {f"{name}-ud-train.conllu" for name in TREEBANKS}
    for code, facts in LANGUAGES.items():
        steps = commands(code)
        assert [step[-2] for step in steps] == ["-o"] * len(steps)
        assert [step[-1] for step in steps][-1] == code
        text = facts.get("text")
        assert len(steps) == (1 if text is None else 5 if "vocabulary" in text else 4)
        for step in steps:
            own = {word for word in step[:-2] if word.startswith(f"{code}.") or "conllu" in word}
            assert {word.partition("=")[2] or word for word in own} <= written
            written.add(step[-1])


def test_a_model_with_fewer_words_knows_the_most_useful_ones(tmp_path):
    counts = {"b": 1, "c": 2}, {"a": 30, "b": 10, "d": 9}
    words = ["<pad>", "<unknown>", "<root>", "a", "b", "c", "d"]
    kept = [choose_words(words, number, *map(Counter, counts)) for number in (4, 5, 6)]
    assert kept == [[0, 1, 2, 5], [0, 1, 2, 3, 5], [0, 1, 2, 3, 4, 5]]
    small = tmp_path / "small"
    scripts = ["--scripts", "50"]
    main(["words", str(find_model("nl")), "--keep", "100", *scripts, str(TINY), "-o", str(small)])
    parsers = [load(model, engine="onnx", threads=1) for model in (find_model("nl"), small)]
    whole, reduced = (parser.vocabulary.words.symbols for parser in parsers)
    assert len(reduced) == 100 and set(reduced) < set(whole)
    known = new_sentence([word for word in reduced[3:] if word.isalpha()][:9])
    trees = [next(parser.parse([known])) for parser in parsers]
    assert trees[0].head == trees[1].head and trees[0].upos == trees[1].upos
    assert trees[0].lemma == trees[1].lemma  # The dictionary has them.
    assert len(parsers[1].vocabulary.columns["lemma"].symbols) == 50


def test_a_transformer_with_fewer_pieces_gives_the_same_vectors(tmp_path):
    lines = ["Der Hund bellt.", "Der kleine Hund bellt nicht."]
    (tmp_path / "text.txt").write_text("\n".join(lines), "utf-8")
    backend = tokenizers.Tokenizer(tokenizers.models.Unigram())
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=60, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    backend.train_from_iterator([*lines, "Eine ganz andere Katze miaut oft, aber leise."], trainer)
    tokenizer = fast_tokenizer(backend, "<s> $A </s>", "<unk>", "<pad>", "<s>", "</s>")
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=8, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    large, small = tmp_path / "large", tmp_path / "small"
    save_pretrained(large, transformers.BertModel, config, tokenizer)
    main(["pieces", str(large), str(tmp_path / "text.txt"), "-o", str(small)])
    vectors = []
    for model in (large, small):
        loaded = transformers.AutoModel.from_pretrained(model).eval()
        pieces = transformers.AutoTokenizer.from_pretrained(model)(lines[1], return_tensors="pt")
        with torch.no_grad():
            vectors.append(loaded(**pieces).last_hidden_state)
    assert torch.equal(*vectors)
    sizes = [
        json.loads((model / "config.json").read_text())["vocab_size"] for model in (large, small)
    ]
    assert sizes[1] < sizes[0]
