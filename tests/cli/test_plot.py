"""depkit analyze --plot: panels and the images drawn of them."""

import errno
import os
import re
import struct
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from depkit.drawing.plot import _limits, check_plot_path, plot
from depkit.score.analysis import PRESETS, Analysis, View, analyze_view
from depkit.score.attachment import read_data
from depkit.score.calibration import Reliability, measure_calibration
from depkit.score.panels import Panel, make_diagram, make_panel
from depkit.score.report import Options, rows
from depkit.score.significance import DEFAULT_SEED
from depkit.score.table import short_names

Tree = list[tuple[int, str]]  # head and relation of each word

GOLD: list[Tree] = [
    [(2, "nsubj"), (0, "root"), (2, "obj"), (2, "punct")],
    [(0, "root"), (1, "obj")],
]
# FIRST has one wrong head, at the predicted distance 1. SECOND has one wrong relation, and one
# wrong head at the predicted distance 2.
FIRST: list[Tree] = [[(2, "nsubj"), (0, "root"), (4, "obj"), (2, "punct")], GOLD[1]]
SECOND: list[Tree] = [[(2, "obj"), (0, "root"), (1, "obj"), (2, "punct")], GOLD[1]]
BY_DISTANCE, BY_DEPREL = View(("distance",)), View(("deprel",))
EACH_DISTANCE = View(("distance",), ("each",))


def write(folder: Path, name: str, trees: list[Tree]) -> str:
    text = ""
    for tree in trees:
        for i, (head, deprel) in enumerate(tree, start=1):
            text += f"{i}\tw\t_\tX\t$\t_\t{head}\t{deprel}\t_\t_\n"
        text += "\n"
    (folder / name).write_text(text)
    return str(folder / name)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Files with the gold trees and the trees of two systems."""
    (tmp_path / "in").mkdir()
    trees = {"gold.conllu": GOLD, "first.conllu": FIRST, "second.conllu": SECOND}
    return [write(tmp_path / "in", *item) for item in trees.items()]


def analyze_files(files: list[str], view: View) -> Analysis:
    return analyze_view(read_data(files[0], files[1:]), view)


def texts(svg: str) -> list[tuple[str, float]]:
    """Return the texts in an SVG image, with their distances from the top."""
    matches = re.findall(r"<text\b([^>]*)>([^<]*)</text>", svg)
    heights = [re.search(r'\by="([-\d.]+)"', attributes) for attributes, _ in matches]
    return [(text, float(y[1]) if y else -1) for y, (_, text) in zip(heights, matches, strict=True)]


def draw_texts(path: Path, files: list[str], *views: View) -> dict[str, float]:
    """Draw an image; return the distance from the top of the last occurrence of each text."""
    pytest.importorskip("matplotlib", reason="plots need the extra depkit-parser[plot]")
    plot([analyze_files(files, view) for view in views], str(path))
    return dict(texts(path.read_text())) if path.suffix == ".svg" else {}


@pytest.mark.parametrize(
    ("measure", "side", "values"),
    [
        (None, "gold", [[100, 200 / 3, 100], [100, 100 / 3, 100]]),
        ("precision", "predicted", [[100, 200 / 3, 100], [100.0, 50, 50]]),
    ],
)
def test_curves_show_recall_or_precision_by_distance(
    measure: str | None, side: str, values: list[list[float]], files: list[str]
) -> None:
    """Recall is drawn over bins of gold words, precision over bins of predicted words."""
    panel = make_panel(analyze_files(files, BY_DISTANCE), measure)
    assert (panel.curves, panel.value_label) == (True, f"LAS {measure or 'recall'}, %")
    assert panel.bin_label == f"{side} distance (|head - dependent|)"
    assert (panel.bins, panel.sizes.tolist()) == (["root", "1", "2"], [2, 3, 1])
    assert panel.names == ["first", "second"]
    np.testing.assert_allclose(panel.values, values)


def test_recall_equals_precision_if_words_are_grouped_by_sentence_length(files: list[str]) -> None:
    recall, precision = (
        make_panel(analyze_files(files, View(("length",))), measure)
        for measure in (None, "precision")
    )
    assert recall.value_label == precision.value_label == "LAS, %"
    assert recall.bin_label == "length (words in the sentence)"
    np.testing.assert_allclose(recall.values, [[500 / 6], [400 / 6]])
    np.testing.assert_array_equal(recall.values, precision.values)


def test_error_bands_equal_the_confidence_intervals_of_the_table(files: list[str]) -> None:
    analysis = analyze_files(files, BY_DISTANCE)
    panel = make_panel(analysis, "f1", seed=3)
    table = rows(analysis, Options(confidence=True, seed=3))
    for bound, column in ((panel.low, "f1_low"), (panel.high, "f1_high")):
        expected = [[row[column] for row in table if row["system"] == name] for name in files[1:]]
        np.testing.assert_allclose(bound, expected)


def test_undefined_scores_are_not_drawn(files: list[str], tmp_path: Path) -> None:
    """Bins without predicted words have no precision; bins without gold words have no recall."""
    # A system whose predicted distances are all 1, and which leaves a word without a head.
    trees: list[Tree] = [
        [(2, "nsubj"), (0, "root"), (2, "obj"), (3, "punct")],
        [(-1, "_"), (1, "_")],
    ]
    path = write(tmp_path, "near", trees)
    Path(path).write_text(Path(path).read_text().replace("\t-1\t", "\t_\t"))
    analysis = analyze_files([files[0], files[1], path], EACH_DISTANCE)
    panel = make_panel(analysis, "precision")
    assert panel.bins == ["root", "1", "2"]
    for values in (panel.values, panel.low, panel.high):
        assert np.isnan(values).tolist() == [[False] * 3, [False, False, True]]
    # The predicted distance 3 does not occur in the gold trees.
    distant: list[Tree] = [[(4, "nsubj"), (0, "root"), (2, "obj"), (2, "punct")], GOLD[1]]
    analysis = analyze_files([files[0], write(tmp_path, "far", distant)], EACH_DISTANCE)
    assert make_panel(analysis).bins == ["root", "1", "2"]
    assert make_panel(analysis, "precision").bins == ["root", "1", "2", "3"]


def test_bars_by_difference_with_paired_intervals(files: list[str]) -> None:
    """By hand, F1 of the first system is 100, 100, 50, 100, and that of the second 100, 100, 40, 0.

    In a single sentence, obj has no difference, because both systems have 0 or both have 100. The
    paired interval is therefore from -10 to 0. Every nsubj differs.
    """
    panel = make_panel(analyze_files(files, BY_DEPREL))
    assert (panel.curves, panel.value_label) == (
        False,
        "difference in LAS F1, points: second − first",
    )
    assert (panel.bin_label, panel.drawn_systems) == ("deprel (gold words)", range(1, 2))
    assert (panel.bins, panel.sizes.tolist()) == (["root", "punct", "obj", "nsubj"], [2, 1, 2, 1])
    np.testing.assert_allclose(panel.values, [[0, 0, -10, -100]])
    np.testing.assert_allclose(panel.low, [[0, 0, -10, -100]])
    np.testing.assert_allclose(panel.high, [[0, 0, 0, -100]])


def test_bars_of_one_system_are_its_f1(files: list[str]) -> None:
    panel = make_panel(analyze_files([files[0], files[2]], BY_DEPREL))
    assert (panel.value_label, panel.drawn_systems) == ("LAS F1 of second, %", range(1))
    assert panel.bins == ["root", "punct", "obj", "nsubj"]
    np.testing.assert_allclose(panel.values, [[100, 100, 40, 0]])
    assert (panel.low[0, 2], panel.high[0, 2]) == (0, 100)


def test_bars_are_in_the_order_of_the_second_of_three_systems(files: list[str]) -> None:
    panel = make_panel(analyze_files([files[0], files[2], files[1], files[0]], BY_DEPREL))
    assert panel.value_label == "difference in LAS F1, points: system − second"
    assert (panel.drawn_systems, panel.bins) == (range(1, 3), ["nsubj", "obj", "root", "punct"])
    np.testing.assert_allclose(panel.values, [[100, 10, 0, 0], [100, 60, 0, 0]])


def test_there_is_no_bar_where_precision_is_undefined(files: list[str]) -> None:
    panel = make_panel(analyze_files(files, BY_DEPREL), "precision")
    assert panel.bins == ["root", "punct", "obj", "nsubj"]
    np.testing.assert_allclose(panel.values, [[0, 0, 100 / 3 - 50, np.nan]])
    assert np.isnan(panel.low).tolist() == np.isnan(panel.high).tolist() == [[False] * 3 + [True]]


def test_crossed_groupings_are_bars(files: list[str]) -> None:
    panel = make_panel(analyze_files(files, View(("upos", "distance"), (), "UAS")))
    assert (panel.curves, panel.bin_label) == (False, "upos × distance (gold words)")
    assert set(panel.bins) == {"X × root", "X × 1", "X × 2"}


def test_only_the_largest_bins_are_drawn(tmp_path: Path) -> None:
    # The relation r7 occurs once, the 29 other relations except root twice.
    tree = [(0, "root"), *[(1, f"r{i}") for i in range(30) for _ in range(1 if i == 7 else 2)]]
    path = write(tmp_path, "gold.conllu", [tree])
    panel = make_panel(analyze_files([path, path], BY_DEPREL))
    assert panel.bin_label == "deprel (gold words): the 25 largest, 6 left out"
    assert len(panel.bins) == len(panel.sizes) == panel.values.shape[1] == 25
    assert "r7" not in panel.bins


def test_wide_bands_of_rare_bins_do_not_determine_the_axis() -> None:
    # The second bin has only 5 words, and therefore an interval from 0 to 100.
    values, low, high = np.array([[[80.0, 90.0]], [[78.0, 0.0]], [[82.0, 100.0]]])
    panel = Panel(True, "", "", ["1", "2"], np.array([1000, 5]), ["a"], values, low, high)
    bottom, top = _limits(panel)
    assert 77 < bottom < 78 and 90 < top < 91


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["out/a.conllu", "other/b.conllu"], ["a", "b"]),
        (["runs/a/dev.conllu", "runs/b/dev.conllu"], ["a", "b"]),
        (["x/1/dev.txt", "x/2/dev.txt", "x/2/test.txt"], ["1/dev", "2/dev", "2/test"]),
        (["a.dev.conllu.gz", "b.dev.conllu.gz"], ["a", "b"]),
        (["a.conllu", "a.conllx"], ["a.conllu", "a.conllx"]),
        (["/data/en.spacy.conllu"], ["en.spacy"]),
        (["same.conllu", "same.conllu"], ["same", "same (2)"]),
        (["", "-"], ["system 1", "-"]),
        (["a\n\udcff"], ["a??"]),
    ],
)
def test_short_names(paths: list[str], names: list[str]) -> None:
    assert short_names(paths) == names


def test_very_long_names_stay_distinct() -> None:
    names = short_names([f"{'x' * 80}{middle}{'y' * 80}" for middle in "abc"])
    assert len(set(names)) == 3
    assert max(map(len, names)) < 60


def test_labels_of_curves_are_texts_in_the_image(files: list[str], tmp_path: Path) -> None:
    draw_texts(tmp_path / "a.svg", files, BY_DISTANCE)
    written = [text for text, _ in texts((tmp_path / "a.svg").read_text())]
    settings = "95% intervals: bootstrap over sentences; punct: keep, subtypes: keep,"
    axes = ["root", "LAS recall, %", "gold distance (|head - dependent|)", "gold words"]
    for text in ("first", "second", *axes, settings, "seed: 1"):
        assert written.count(text) == 1, text


def test_axes_have_no_percentage_above_100(tmp_path: Path) -> None:
    path = write(tmp_path, "gold", GOLD[:1])
    written = draw_texts(tmp_path / "a.svg", [path, path], BY_DISTANCE)
    assert [text for text in written if re.fullmatch(r"1\d\d\.\d", text)] == ["100.0"]


def test_dollar_signs_in_labels_are_not_formulas(tmp_path: Path) -> None:
    path = write(tmp_path, "gold", [[(0, "root"), (1, "$x$")]])
    assert "$x$ (1)" in draw_texts(tmp_path / "a.svg", [path, path], BY_DEPREL)


def test_one_system_has_a_legend_for_curves_only(files: list[str], tmp_path: Path) -> None:
    bars = draw_texts(tmp_path / "a.svg", files[:2], BY_DEPREL)
    assert "LAS F1 of first, %" in bars and "first" not in bars
    assert "first" in draw_texts(tmp_path / "a.svg", files[:2], BY_DISTANCE)


def test_bars_are_drawn_from_the_top(files: list[str], tmp_path: Path) -> None:
    heights_by_text = draw_texts(tmp_path / "a.svg", files, BY_DEPREL)
    order = ["deprel (gold words)", "root (2)", "punct (1)", "obj (2)", "nsubj (1)"]
    heights = [
        heights_by_text[name] for name in [*order, "difference in LAS F1, points: second − first"]
    ]
    assert heights == sorted(set(heights))
    assert "first" not in heights_by_text  # there is no legend, because the axis has the names


def test_all_views_share_one_legend(files: list[str], tmp_path: Path) -> None:
    draw_texts(tmp_path / "a.svg", files, *PRESETS["conllx"], View(("xpos", "upos")))
    written = [text for text, _ in texts((tmp_path / "a.svg").read_text())]
    assert written.count("first") == written.count("second") == 1
    assert written.count("upos (gold words)") == 3
    assert written.count("deprel (gold words)") == 2
    assert {"xpos × upos (gold words)", "$ × X (6)", "same bin recall, %"} <= set(written)


def test_every_third_of_many_bins_is_labelled(tmp_path: Path) -> None:
    path = write(tmp_path, "gold", [[(0, "root"), *[(1, "dep")] * 45]])
    written = draw_texts(tmp_path / "a.svg", [path, path], EACH_DISTANCE)
    assert "words, log" in written
    # Labels of bins are as far from the top as the label of the bin "root".
    labels = [int(text) for text in written if text.isdigit() and written[text] == written["root"]]
    assert labels == list(range(3, 46, 3))


def calibrate_systems(folder: Path, *probabilities: tuple[str, str]) -> Reliability:
    """Calibrate systems that are wrong for the first word only.

    probabilities: each system's probabilities of the first word and of the other words.
    """
    gold = write(folder, "gold", GOLD)
    text = Path(gold).read_text().replace("\t_\n", "\t%s\n")  # %s is the value of MISC
    parsed = []
    for number, (first, rest) in enumerate(probabilities):
        misc = [f"ArcProb={arc}|LabelProb=1" for arc in (first, *[rest] * 5)]
        system = folder / f"system{number}"
        system.write_text(text.replace("nsubj", "obj") % tuple(misc))
        parsed.append(str(system))
    return measure_calibration(read_data(gold, parsed, probabilities=True), bins=4)


def test_a_diagram_shows_accuracy_over_confidence(tmp_path: Path) -> None:
    calibration = calibrate_systems(tmp_path, ("0.3", "0.9"), ("0.6", "0.7"))
    diagram = make_diagram(calibration)
    assert diagram.bins == ["0-25", "25-50", "50-75", "75-100"]
    assert diagram.sizes.tolist() == [[0, 1, 0, 5], [0, 0, 6, 0]]
    nan = np.nan
    confidence = [[nan, 30, nan, 90], [nan, nan, 410 / 6, nan]]
    np.testing.assert_allclose(diagram.confidence, confidence)
    accuracy = [[nan, 0, nan, 100], [nan, nan, 500 / 6, nan]]
    np.testing.assert_allclose(diagram.values, accuracy)
    # The bounds of the interval are the accuracies of the two sentences, 75 and 100.
    np.testing.assert_allclose(diagram.low, [[nan, 0, nan, 100], [nan, nan, 75, nan]])
    np.testing.assert_allclose(diagram.high, [[nan, 0, nan, 100], [nan, nan, 100, nan]])


def test_a_diagram_is_drawn_to_the_same_bytes_each_time(tmp_path: Path) -> None:
    calibration = calibrate_systems(tmp_path, ("0.3", "0.9"), ("0.6", "0.7"))
    images = []
    for name in ("a.svg", "b.svg"):
        plot([calibration], str(tmp_path / name))
        images.append((tmp_path / name).read_text())
    assert images[0] == images[1]
    expected = {"LAS, %", "confidence, %", "words, log", "25", "75", "system0", "system1"}
    assert expected <= {text for text, _ in texts(images[0])}


def test_a_png_has_the_expected_size(files: list[str], tmp_path: Path) -> None:
    draw_texts(tmp_path / "a.PNG", files, BY_DISTANCE)
    data = (tmp_path / "a.PNG").read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", data[16:24]) == (1500, 1160)


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_images_do_not_depend_on_style_and_date(
    suffix: str, files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    first, second = tmp_path / f"1{suffix}", tmp_path / f"2{suffix}"
    draw_texts(first, files, BY_DISTANCE, BY_DEPREL)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")  # another day
    with matplotlib.rc_context({"font.size": 31, "axes.facecolor": "red"}):
        draw_texts(second, files, BY_DISTANCE, BY_DEPREL)
        assert matplotlib.rcParams["font.size"] == 31
    assert first.read_bytes() == second.read_bytes()


def test_another_seed_gives_other_error_bands(tmp_path: Path) -> None:
    gold = [GOLD[0]] * 5 + [GOLD[1]] * 6
    wrong = [FIRST[0]] * 2 + [SECOND[0]] * 3 + [GOLD[1]] * 6
    paths = [write(tmp_path, "gold", gold), write(tmp_path, "wrong", wrong)]
    first, second = (
        make_panel(analyze_files(paths, BY_DISTANCE), seed=seed) for seed in (DEFAULT_SEED, 2)
    )
    np.testing.assert_array_equal(first.values, second.values)
    assert not np.array_equal(first.low, second.low)


@pytest.mark.parametrize("name", ["a.jpg", "svg", "-", "a.svg.gz"])
def test_other_suffixes_are_rejected(name: str, files: list[str], tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"^plot: `plot` draws \.svg, \.png, \.pdf, not (\.|no suffix)"
    ):
        plot([analyze_files(files, BY_DISTANCE)], str(tmp_path / name))
    assert os.listdir(tmp_path) == ["in"]


def test_an_unknown_measure_is_rejected(files: list[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match="no measure 'f2' to plot; there are precision, recall"):
        plot([analyze_files(files, BY_DISTANCE)], str(tmp_path / "a.svg"), "f2")
    assert os.listdir(tmp_path) == ["in"]


def test_missing_matplotlib_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    message = r"^plot: drawing needs matplotlib: pip install 'depkit-parser\[plot\]'$"
    with pytest.raises(ValueError, match=message):
        check_plot_path("a.svg")


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
@pytest.mark.parametrize("function", ["os.replace", "matplotlib.figure.Figure.savefig"])
def test_a_failure_does_not_change_existing_files(
    error: BaseException,
    function: str,
    files: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("matplotlib.figure")
    (tmp_path / "old.svg").write_text("old")

    monkeypatch.setattr(function, Mock(side_effect=error))
    for name in ("old.svg", "new.svg"):
        with pytest.raises(type(error)):
            plot([analyze_files(files, BY_DISTANCE)], str(tmp_path / name))
    assert sorted(os.listdir(tmp_path)) == ["in", "old.svg"]
    assert (tmp_path / "old.svg").read_text() == "old"
