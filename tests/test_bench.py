"""The benchmarks' own arithmetic, and that each entry is there; how long it takes is not asked."""

import json
import sys
import time
from functools import partial

import pytest
import torch
from torch import nn

from tests.bench import gpu
from tests.bench.__main__ import ENTRIES, NEEDS, entry_of, main, shares, table
from tests.bench.flops import flops_of
from tests.bench.measure import Bench, BenchError, Program, Row, Run, in_turn
from tests.bench.stages import stage_of
from tests.bench.whole import less
from tests.conftest import TINY
from tests.parsers.inputs.test_transformer import save_bert

BATCH, LENGTH, FEATURES, SIZE, LABELS = 3, 5, 20, 40, 7
TOKENS = BATCH * LENGTH
GATES = 2 * TOKENS * 4 * SIZE * (FEATURES + SIZE)  # each gate reads the input and the last state
LINEAR = 2 * TOKENS * SIZE * LABELS


@pytest.fixture
def layers():
    torch.manual_seed(0)
    return nn.LSTM(FEATURES, SIZE, batch_first=True), nn.Linear(SIZE, LABELS)


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_flops_are_those_of_a_count_by_hand(layers, precision):
    lstm, linear = layers
    x = torch.randn(BATCH, LENGTH, FEATURES)

    def forward():
        with torch.autocast("cpu", precision, enabled=precision != torch.float32):
            return linear(lstm(x)[0])

    with torch.inference_mode():
        assert flops_of(forward) == GATES + LINEAR
    # backward: gradients of inputs and of weights, a product each
    assert flops_of(lambda: forward().float().sum().backward()) == 3 * (GATES + LINEAR)


def test_figures_follow_from_the_runs():
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
        "roofline": 0.125,  # of 4/32, 8/16 and 2/16: pairs, not medians over medians
        "peak_megabytes": 7.0,
        "times": [1.0, 0.5, 2.0],
    }
    assert table([row]).row_count == 1


def test_runs_are_taken_in_turn_after_a_warm_up():
    said = []

    def says(name):
        return lambda: said.append(name) or Run(float(len(said)))

    found = in_turn(2, {"a": says("a"), "b": says("b")})
    assert said == ["a", "b"] * 3
    assert [run.seconds for run in found["a"]] == [3.0, 5.0]


def test_start_up_is_taken_off():
    one = [Run(1.0, 1.0), Run(9.0, 1.5), Run(2.0, 9.0)]
    assert less([Run(5.0, 4.0, 77), Run(2.5, 1.0)], one) == [Run(3.0, 2.5, 77), Run(0.5, 0.0)]
    assert less([Run(5.0), Run(2.0)], one) == []


def test_a_program_is_measured_from_outside(tmp_path):
    source = tmp_path / "in.txt"
    source.write_text("Zeit\n")
    code = "import sys; data = bytearray(60_000_000); print(sys.stdin.read().upper(), end='')"
    run = Program([sys.executable, "-S", "-c", code], source)()
    assert run.output == "ZEIT\n"
    assert 0 < run.first <= run.seconds
    assert run.peak > 60_000_000 and run.processor > 0


def test_a_program_that_fails_says_why():
    code = "import sys; print('more', file=sys.stderr); sys.exit('no such model')"
    with pytest.raises(BenchError, match="exit 1: no such model"):
        Program([sys.executable, "-S", "-c", code])()


def test_every_entry_is_there(capsys):
    main(["--list"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(ENTRIES)
    assert all(len(line.split()) > 3 for line in lines)
    assert NEEDS.keys() <= ENTRIES.keys()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "no entry 'nonsense'"),
        (["spacy"], "spacy needs --spacy"),
        (["supar-parse", "--supar", "python"], "supar-parse needs --supar-model"),
        (["--runs", "0"], "--threads and --runs are 1 or more"),
        (["--data", "nowhere.conllu"], "nowhere.conllu is not there"),
    ],
)
def test_bad_usage_is_one_line(arguments, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--data", str(TINY), *arguments])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


@pytest.fixture
def bench(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("tests.bench.roofline.SIZE", 16)
    monkeypatch.setattr("tests.bench.decode.SENTENCES", 2)
    text = tmp_path / "text.txt"
    text.write_text("Time flies like an arrow. Fruit flies like a banana.\n")
    words = sum(map(len, tiny))
    return Bench(TINY, tiny, words, text, TINY, text, TINY, tmp_path, threads=1, runs=1)


def test_the_flops_of_the_encoder_are_those_of_its_lstms(bench):
    row = {row.name: row for row in entry_of("encoder")(bench)}["forward"]
    stage = stage_of(bench)
    encoder = stage.parser.config.encoder
    assert encoder.kind == "bilstm"
    features = [stage.parser.network.inputs.features] + [2 * encoder.size] * (encoder.layers - 1)
    gates = sum(2 * 2 * 4 * encoder.size * (each + encoder.size) for each in features)
    assert row.flops == gates * sum(batch.word.numel() for batch in stage.batches)


def test_every_stage_has_its_rows(bench):
    names = ["reading", "writing", "tokenizing", "batching", "scoring", "decoding", "backward"]
    rows = [row for name in names for row in entry_of(name)(bench)]
    assert {row.entry for row in rows} == set(names)
    assert {row.name for row in rows if row.step} == {
        "with_tree and writing", "raw text to sentences", "numbers", "padded batches",
        "arcs, labels, tags", "trees as in parsing, the model's scores",
    }  # fmt: skip
    assert all(row.flops and row.limit for row in rows if row.entry in ("scoring", "backward"))
    assert json.loads(json.dumps([row.figures() for row in rows]))
    assert shares(rows).count("%") == 6


@pytest.fixture
def options(tmp_path):
    """The GPU's command for the CPU, small data and small networks."""
    small = ("bilstm:encoder.size=8", "selfatt:encoder.size=8", "selfatt:encoder.layers=1")
    return [
        "--treebank", str(TINY), "--dev", str(TINY), "--device", "cpu",
        "--transformer", str(save_bert(tmp_path)), "--output", str(tmp_path / "gpu.md"),
        *(part for setting in small for part in ("--set", setting)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "arguments", "figure"),
    [
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
def test_a_row_of_a_gpu_has_a_figure_or_a_reason(
    function, arguments, figure, options, tmp_path, monkeypatch
):
    monkeypatch.setattr("torch.compile", partial(torch.compile, backend="eager"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    torch.set_num_threads(1)  # of several, those of other processes are waited for
    assert function in {row.function for row in gpu.all_measures()}
    row = gpu.Measure("group", "what", 1, function, arguments)
    ready, found = gpu.measure([row], gpu.arguments_of(options), time.monotonic() + 0.5)
    assert ready is None
    torch.set_float32_matmul_precision("highest")
    assert figure in found or figure in found["note"] + found.get("text", "")


def test_a_gpu_is_measured_in_time_whatever_happens(options, tmp_path):
    rows = gpu.all_measures()
    began = time.monotonic()
    gpu.main([*options, "--minutes", "0.15"])
    assert time.monotonic() - began < 15
    lines = (tmp_path / "gpu.md").read_text().splitlines()
    table = [[cell.strip() for cell in line.split("|")] for line in lines if line.startswith("|")]
    assert [cells[1:3] for cells in table[2:]] == [[row.group, row.what] for row in rows]
    assert all(any(cells[3:]) for cells in table[2:])
    assert "- torch: " in "\n".join(lines)
