"""Distributions of the values of columns for a form equal those of plain loops over the words."""

import pickle
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

from depkit.parsers.columns.lemma_dictionary import LemmaDictionary, extract_readings
from depkit.parsers.config import Inputs
from depkit.parsers.inputs import priors
from depkit.parsers.inputs.append_rows import append_rows
from depkit.parsers.inputs.priors import Priors, encode_priors
from depkit.parsers.inputs.tables import Table
from tests.parsers.small_parsers import make_parser, texts

COLUMNS = ["upos", "xpos", "feats"]


def value_of(reading, column):
    _, tags, _ = reading
    return tags[COLUMNS.index(column)]


def make_priors(readings, columns):
    return Priors(LemmaDictionary.from_counts(readings), columns)


@pytest.fixture
def readings(tiny):
    return Counter(chain.from_iterable(map(extract_readings, tiny)))


@pytest.fixture
def columns(readings):
    return {
        name: Table(sorted({value_of(reading, name) for reading in readings})) for name in COLUMNS
    }


def expected(readings, column, values, form):
    """Compute a distribution by loops over all words."""
    pairs = Counter()
    for reading, count in readings.items():
        pairs[reading[0], value_of(reading, column)] += count
    result = {value: 1 / len(values) for value in values}

    def interpolate(counts, weight):
        total = sum(counts.values()) + weight
        return {value: (counts[value] + weight * result[value]) / total for value in values}

    for size in range(min(priors.LONGEST_ENDING, len(form)) + 1):
        result = interpolate(
            Counter(
                value for word, value in pairs
                if len(word) >= size
                and word.lower()[len(word) - size :] == form.lower()[len(form) - size :]
                and (word == word.lower()) == (form == form.lower())
            ),
            priors.ENDING_WEIGHT,
        )  # fmt: skip
    for same in (lambda word: word.lower() == form.lower(), lambda word: word == form):
        counts = Counter()
        for (word, value), count in pairs.items():
            counts[value] += count * same(word)
        result = interpolate(counts, priors.FORM_WEIGHT)
    return [result[value] for value in values]


@pytest.mark.parametrize("column", COLUMNS)
def test_distributions_equal_those_of_plain_loops(readings, columns, column):
    forms = sorted({form for form, _, _ in readings}) + ["xyzzing", "Xs", "THE", "ß", "-ing"]
    values = columns[column].symbols
    table = make_priors(readings, columns)
    computed = table.counts[column].distributions(table.chains(forms))
    for form, row in zip(forms, computed, strict=True):
        np.testing.assert_allclose(row, expected(readings, column, values, form), rtol=1e-4)
    np.testing.assert_allclose(computed.sum(1), 1, rtol=1e-4)


@pytest.mark.parametrize("column", COLUMNS)
def test_words_are_left_out_as_if_they_were_not_in_the_treebank(readings, columns, column):
    full = make_priors(readings, columns)
    words = list(readings)[::2] + list(readings)[:3]  # some of them twice
    readings.update(list(readings)[:3])
    full = make_priors(readings, columns)
    gold = np.array([columns[column].indices[value_of(reading, column)] for reading in words])
    pairs = full.occurrences[column].without(full.chains([form for form, _, _ in words]), gold)
    forms = sorted({form for form, _, _ in readings}) + ["xyzzing"]
    computed = pairs.count(len(full.nodes)).distributions(full.chains(forms))
    rest = make_priors(readings - Counter(words), columns)
    expected = rest.counts[column].distributions(rest.chains(forms))
    np.testing.assert_allclose(computed, expected, rtol=1e-4)


def test_the_best_values_are_those_with_the_highest_probabilities(readings, columns):
    table = make_priors(readings, columns)
    chains = table.chains(["the", "dog", "xyzzing"])
    full = table.counts["upos"].distributions(chains)
    indices, probabilities = table.counts["upos"].best(chains)
    kept = min(priors.NUM_VALUES, full.shape[1])
    for row in range(len(chains)):
        assert sorted(probabilities[row]) == sorted(full[row])[-kept:]
        np.testing.assert_array_equal(full[row][indices[row]], probabilities[row])


def test_several_threads_can_look_up_forms(readings, columns):
    """Each thread looks up the forms in another order, so that they add forms at the same time."""
    forms = sorted({form for form, _, _ in readings}) + [f"x{number}" for number in range(200)]
    expected = make_priors(readings, columns).look_up(forms)
    table, failed = make_priors(readings, columns), []
    interval = sys.getswitchinterval()

    def look_up(seed):
        order = np.random.default_rng(seed).permutation(len(forms))
        for indices in np.array_split(order, len(forms) // 2):
            tables = table.look_up([forms[index] for index in indices])
            for name, rows in tables.items():
                pairs = zip(rows, expected[name], strict=True)
                if not all(np.array_equal(found, best[indices]) for found, best in pairs):
                    failed.append(indices)

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as executor:
            list(executor.map(look_up, range(4)))
    finally:
        sys.setswitchinterval(interval)
    assert not failed


def test_a_parser_can_be_copied_after_parsing(tiny):
    parser = make_parser(tiny, Inputs(word=6, prior=4))
    parser = replace(parser, vocabulary=parser.vocabulary.with_lemmas(tiny, tags=True))
    expected = texts(parser.parse(tiny))
    assert texts(deepcopy(parser).parse(tiny)) == expected
    assert pickle.dumps(parser.vocabulary)


@pytest.mark.parametrize("width", [(), (3,)])
def test_appended_rows_equal_concatenated_ones(width):
    random = np.random.default_rng(0)
    table, expected = np.empty((0, 0)), np.empty((0, *width))
    for size in (1, 3, 0, 2, 7, 1):
        has_room = len(expected) + size <= len(table)
        rows = random.random((size, *width))
        before = table[: len(expected)].copy()
        former = table
        table = append_rows(table, len(expected), rows)
        assert (table is former) == has_room
        np.testing.assert_array_equal(former[: len(expected)], before)
        expected = np.concatenate((expected, rows))
        np.testing.assert_array_equal(table[: len(expected)], expected)


def test_cached_rows_equal_computed_ones(readings, columns, monkeypatch):
    monkeypatch.setattr(priors, "MAX_FORMS", 3)
    table = make_priors(readings, columns)
    for forms in (["the", "dog"], ["dog", "xyzzing", "the"], ["a", "dog", "b"], ["the", "the"]):
        for name, cached in table.look_up(forms).items():
            best = table.counts[name].best(table.chains(forms))
            for computed, rows in zip(best, cached, strict=True):
                np.testing.assert_array_equal(computed, rows)


def test_equal_words_of_a_dataset_share_a_row(readings, columns):
    table = make_priors(readings, columns)
    forms, form = ["", "\n", "the", "dog"], np.array([0, 1, 2, 3, 1, 2])
    rows, tables = encode_priors(table, forms, form, {})
    assert rows[2] == rows[5] and rows[1] == rows[4] and len(set(rows.tolist())) == 4
    assert set(tables) == set(COLUMNS)
    for _, probabilities in tables.values():
        assert not probabilities[rows[:2]].any() and probabilities[rows[2:4]].any(1).all()


def test_the_counts_for_a_training_word_are_those_of_the_other_folds(tiny, columns, monkeypatch):
    monkeypatch.setattr(priors, "FOLDS", 3)
    words = [reading for sentence in tiny for reading in extract_readings(sentence)]
    table = make_priors(Counter(words), columns)
    forms = ["", "\n", *dict.fromkeys(form for form, _, _ in words), "not counted"]
    form = np.array([0, 1, *(forms.index(form) for form, _, _ in words), len(forms) - 1])
    gold = {
        name: np.array(
            [-100, -100, *(columns[name].indices[value_of(word, name)] for word in words), -100]
        )
        for name in COLUMNS
    }
    rows, tables = encode_priors(table, forms, form, gold)
    for i, (word, _, _) in enumerate(words):
        fold = i * 3 // len(words)
        rest = [other for j, other in enumerate(words) if j * 3 // len(words) != fold]
        counts = make_priors(Counter(rest), columns)
        for name, (values, probabilities) in tables.items():
            whole = counts.counts[name].distributions(counts.chains([word]))[0]
            row = rows[i + 2]
            np.testing.assert_allclose(probabilities[row], whole[values[row]], rtol=1e-4)
    for name, (values, probabilities) in tables.items():
        assert not probabilities[rows[:2]].any()
        whole = table.counts[name].distributions(table.chains(["not counted"]))[0]
        np.testing.assert_allclose(probabilities[rows[-1]], whole[values[rows[-1]]], rtol=1e-4)


def test_turkish_words_have_the_values_of_their_lower_case():
    readings = Counter({(form, (form, "_", "_"), "[]"): 3 for form in ("kışı", "kisi", "iyi")})
    table = make_priors(readings, {"upos": Table(["kışı", "kisi", "iyi"])})
    values, _ = table.look_up(["KIŞI", "İYİ"])["upos"]
    assert values[:, 0].tolist() == [0, 2]
