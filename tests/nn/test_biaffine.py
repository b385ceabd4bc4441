"""Biaffine scorers and dropouts against explicit computations."""

from itertools import product

import torch

from depkit.nn.biaffine import ArcScorer, LabelScorer
from depkit.nn.dropout import InputDropout, SharedDropout


def compute_random_scores(scorer):
    """Return random weights, random dependents and heads [2, 4, 3], and their scores."""
    torch.manual_seed(0)
    scorer.weight.data.normal_()
    dependent, head = torch.randn(2, 4, 3), torch.randn(2, 4, 3)
    return scorer.weight, dependent, head, scorer(dependent, head)


def test_arc_score_is_equation_4_of_li_et_al():
    weight, dependent, head, scores = compute_random_scores(ArcScorer(3))
    for b, i, j in product(range(2), range(4), range(4)):
        expected = torch.cat((dependent[b, i], torch.ones(1))) @ weight @ head[b, j]
        torch.testing.assert_close(scores[b, i, j], expected)


def test_label_score_has_a_bias_on_both_sides():
    weight, dependent, head, scores = compute_random_scores(LabelScorer(3, 5))
    bias = torch.ones(1)
    for b, i, label in product(range(2), range(4), range(5)):
        left, right = torch.cat((dependent[b, i], bias)), torch.cat((head[b, i], bias))
        expected = left @ weight.view(4, 5, 4)[:, label] @ right
        torch.testing.assert_close(scores[b, i, label], expected)


def test_scorers_start_at_zero():
    assert not ArcScorer(3).weight.any()
    assert not LabelScorer(3, 5).weight.any()


def test_shared_dropout_drops_columns_of_whole_sentences():
    torch.manual_seed(0)
    x = SharedDropout(0.5)(torch.ones(50, 4, 40))
    assert set(x.unique().tolist()) == {0.0, 2.0}
    assert (x == x[:, :1]).all()
    assert 0.4 < (x == 0).float().mean() < 0.6


def test_word_and_tag_dropout_rescales_the_remaining_input():
    torch.manual_seed(0)
    word, tag = InputDropout(0.33, [2.0, 1.0])([torch.ones(200, 50, 1), torch.ones(200, 50, 1)])
    pairs = torch.cat((word, tag), -1).flatten(0, 1)
    values = {tuple(round(x, 4) for x in pair) for pair in pairs.tolist()}
    assert values == {(0.0, 0.0), (1.0, 1.0), (1.5, 0.0), (0.0, 3.0)}
    share = (word > 0).float().mean().item()
    assert abs(share - 0.67) < 0.02


def test_nothing_is_dropped_in_prediction():
    x = torch.randn(2, 3, 4)
    assert SharedDropout(0.5).eval()(x) is x
    assert InputDropout(0.5, [2.0, 1.0]).eval()([x, x]) == [x, x]
