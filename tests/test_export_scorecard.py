import math
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import log_loss, mean_poisson_deviance, roc_auc_score

from ruleglm import parse_rule
from ruleglm.export import Scorecard, to_scorecard, to_sql
from ruleglm.rules import LinearTerm
from tests.export_cases import (
    ADULT_LINES,
    adult_ensemble,
    adult_frame,
    bike_frame,
    bike_target,
    fit_adult,
    fit_bike,
    small_ensemble,
)


def risk(**parts):
    """Three rules of two columns for two classes."""
    given = {
        "coefficients": [2.0, -0.9, 0.04],
        "intercept": -1.0,
        "family": "binomial",
        "classes": ("good", "bad"),
    }
    return small_ensemble("age > 50", "job = 'clerk'", "job = 'smith'", **{**given, **parts})


ROWS = pd.DataFrame({"age": [60.0, 60.0, 20.0, np.nan], "job": ["clerk", "x", "clerk", "smith"]})


def test_points_are_rounded_coefficients():
    card = to_scorecard(risk())
    assert card.table()["rule"].tolist() == ["age > 50", "job = 'clerk'"]
    assert card.table()["points"].tolist() == [10, -4]
    assert card.left_out == ("job = 'smith'",)
    assert card.start == 0
    assert card.factor == 5.0
    assert card.score(ROWS).tolist() == [6, 10, -4, 0]
    assert card.limits == (-4, 10)
    expected = 1 / (1 + np.exp(1.0 - np.array([6, 10, -4, 0]) / 5.0))
    assert_allclose(card.predict(ROWS), expected, rtol=1e-12)
    assert_allclose(card.ensemble.predict(ROWS), expected, rtol=1e-12)


@pytest.mark.parametrize("max_points", [1, 3, 50])
def test_the_largest_term_has_the_most_points(max_points):
    card = to_scorecard(adult_ensemble(lines=()), max_points=max_points)
    assert np.abs(card.points).max() == max_points
    assert 0 not in card.points


def test_points_that_double_the_odds():
    card = to_scorecard(risk(), pdo=20, base_points=600, base_odds=50)
    assert_allclose(card.mean_of(600), 50 / 51)
    odds = [each / (1 - each) for each in card.mean_of([500, 520])]
    assert_allclose(odds[1] / odds[0], 2.0)
    factor = 20 / math.log(2)
    assert card.start == round(600 + factor * (-1.0 - math.log(50)))
    assert card.points.tolist() == [round(2.0 * factor), round(-0.9 * factor), 1]
    assert_allclose(card.predict(ROWS), card.ensemble.predict(ROWS), rtol=1e-12)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_many_points_and_steps_come_near_the_model(family):
    rows = adult_frame(60)
    ends = [LinearTerm(t.feature, max(t.low, -2), min(t.high, 99), t.fill) for t in ADULT_LINES]
    ensemble = adult_ensemble(family, lines=tuple(ends))
    eta = ensemble.decision_function(rows)
    errors = []
    for points, steps in ((10, 5), (100, 50), (2000, 1000)):
        card = to_scorecard(ensemble, max_points=points, line_steps=steps)
        assert_allclose(card.predict(rows), card.ensemble.predict(rows), rtol=1e-9)
        errors.append(np.abs(card.ensemble.decision_function(rows) - eta).max())
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    assert errors[2] < 0.02


def test_lines_become_steps():
    ensemble = small_ensemble(
        "age > 50",
        coefficients=[1.0],
        family="poisson",
        linear_terms=(LinearTerm("age", 0, 10, 7),),
        linear_coefficients=[0.5],
    )
    card = to_scorecard(ensemble, max_points=10, line_steps=4)
    assert card.table()["rule"].tolist() == [
        "age > 7.5",
        "age is missing",
        "5 < age <= 7.5",
        "age > 50",
        "2.5 < age <= 5",
    ]
    assert card.factor == 2.0
    values = pd.DataFrame({"age": [-9.0, 2.5, 5.0, 7.0, 9.0, 99.0, np.nan]})
    expected = np.rint(2 * 0.5 * (np.array([1.25, 1.25, 3.75, 6.25, 8.75, 8.75, 7]) - 1.25))
    expected[5] += 2
    assert card.score(values).tolist() == expected.tolist()
    assert_allclose(card.ensemble.intercept, 0.625)
    assert card.limits == (0, 10)


def test_a_line_of_less_than_a_point_is_left_out():
    line = LinearTerm("age", 0, 1, 0.5)
    ensemble = risk(linear_terms=(line,), linear_coefficients=[0.001])
    card = to_scorecard(ensemble)
    assert card.left_out == ("job = 'smith'", line.label())
    assert card.limits == (-4, 10)


def test_limits_hold_and_are_reached():
    ensemble = small_ensemble(
        "a = 'x'",
        "a = 'y'",
        "a not in {'x', 'y', 'z'}",
        "b > 1",
        "b > 2",
        "b is missing",
        "c in {1, 2}",
        "c = 3",
        "a = 'x' and b > 1",
        "true",
        coefficients=[3.0, 4, -2, 1, 2, -5, 7, -1, 10, 0.5],
        family="binomial",
    )
    card = to_scorecard(ensemble, max_points=10)
    assert card.limits == (-2 - 5 - 1, 4 + 3 + 7 + 10)
    frame = pd.MultiIndex.from_product(
        [["x", "y", "z", "?"], [0.0, 1.5, 3.0, np.nan], [0, 1, 3]], names=["a", "b", "c"]
    ).to_frame(index=False)
    scores = card.score(frame)
    assert scores.min() == card.limits[0]
    assert card.limits[1] >= scores.max() == 3 + 3 + 7 + 10
    assert_allclose(card.ensemble.intercept, 0.5)


def test_all_totals_of_a_census_lie_within_the_limits():
    ensemble = adult_ensemble(lines=(LinearTerm("hours", 10, 90, 40),))
    card = to_scorecard(ensemble)
    scores = card.score(adult_frame(400, seed=8))
    assert card.limits[0] <= scores.min() < scores.max() <= card.limits[1]


def test_accuracy_of_a_classifier():
    model, rows = fit_adult(), adult_frame(150, seed=6).drop(columns="select")
    rng = np.random.default_rng(0)
    y = np.where(rng.random(150) < 0.5, "rich", model.predict(rows))
    weights = rng.integers(0, 3, 150)
    card = model.to_scorecard(max_points=3, X=rows, y=y, sample_weight=weights)
    truth = y == "rich"
    for place, probability in enumerate((model.predict_proba(rows)[:, 1], card.predict(rows))):
        expected = log_loss(truth, probability, sample_weight=weights)
        assert_allclose(card.accuracy["log loss"][place], expected, rtol=1e-9)
    for place, score in enumerate((model.decision_function(rows), card.score(rows))):
        expected = roc_auc_score(truth, score, sample_weight=weights)
        assert_allclose(card.accuracy["AUC"][place], expected, rtol=1e-9)
    assert card.accuracy["log loss"][0] != card.accuracy["log loss"][1]
    assert card.observed == (card.score(rows).min(), card.score(rows).max())


def test_accuracy_of_counts():
    model, rows = fit_bike(), bike_frame(120, seed=4)
    y = bike_target(rows, seed=7)
    card = model.to_scorecard(pdo=5, X=rows, y=y)
    expected = [mean_poisson_deviance(y, each.predict(rows)) for each in (model, card)]
    assert_allclose(card.accuracy["mean deviance"], expected, rtol=1e-9)


def test_fractions_have_no_auc():
    ensemble = risk(classes=())
    card = to_scorecard(ensemble, X=ROWS, y=[0.5, 0.2, 0.0, 1.0])
    assert list(card.accuracy) == ["log loss"]
    assert card.mean_name == "probability"


# ------------------------------------------------------------------------------------------- text


def test_text_of_a_card():
    card = to_scorecard(risk(), X=ROWS, y=["bad", "bad", "good", "good"])
    points, plain = (log_loss([1, 1, 0, 0], each.predict(ROWS)) for each in (card, risk()))
    assert str(card).splitlines() == [
        "Scorecard: start at 0 points, add those of every rule that holds.",
        "",
        "  points  rule",
        "  ------  ----",
        "     +10  age > 50",
        "      -4  job = 'clerk'",
        "",
        "  total  probability of bad",
        "  -----  ------------------",
        *[f"  {total:5d}  {1 / (1 + math.exp(1 - total / 5)):.1%}" for total in range(-4, 11)],
        "",
        f"log loss: {points:.4f} with points, {plain:.4f} with the model's coefficients.",
        "AUC: 1.0000 with points, 1.0000 with the model's coefficients.",
        "Worth less than half a point: job = 'smith'.",
    ]


@pytest.mark.parametrize("options", [{"max_points": 10}, {"pdo": 20, "base_points": 600}])
def test_text_fits_a_terminal(options):
    for model in (fit_bike().ensemble_, fit_adult().ensemble_):
        card = to_scorecard(model, **options)
        assert max(map(len, str(card).splitlines())) <= 80
        assert len(card.totals()) <= 25
        assert str(card).replace("\n", "").isprintable()


def test_extreme_probabilities_are_not_rounded_away():
    card = to_scorecard(risk(coefficients=[20.0, -20.0, 0.0]), X=ROWS, y=["good"] * 3 + ["bad"])
    said = str(card)
    assert "  0.0%" not in said
    assert "100.0%" not in said
    assert "1 - 5.6e-09" in said


def test_tables_are_escaped():
    ensemble = small_ensemble("`<b>|x` = 'a|<i>`\n'", family="binomial", classes=("<u>", "a|b"))
    card = to_scorecard(ensemble)
    lines = card.to_markdown().splitlines()
    assert lines[2] == "| rule | points |"
    assert lines[4] == r"| \`\<b\>\|x\` = 'a\|\<i\>\` ' | +10 |"
    assert lines[6] == r"| total points | probability of a\|b |"

    class Reader(HTMLParser):
        tags, texts = [], []

        def handle_starttag(self, tag, attrs):
            self.tags.append(tag)

        def handle_data(self, data):
            self.texts.append(data)

    reader = Reader()
    reader.feed(card.to_html())
    assert not {"b", "i", "u"} & set(reader.tags)
    assert "`<b>|x` = 'a|<i>`\n'" in reader.texts
    assert "probability of a|b" in reader.texts
    assert card._repr_html_() == card.to_html()


def test_a_card_without_rules():
    card = to_scorecard(risk().drop(1, 2, 3))
    assert card.score(ROWS).tolist() == [0] * 4
    for text in (str(card), card.to_markdown(), card.to_html()):
        assert "No rule gets points." in text


def test_a_card_is_a_model():
    card = fit_adult().to_scorecard()
    assert isinstance(card, Scorecard)
    assert "SELECT" in to_sql(card.ensemble)
    assert card.ensemble.classes == fit_adult().ensemble_.classes
    assert parse_rule(card.table()["rule"][0], card.ensemble.orders) in card.rules


# --------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_points": 5, "pdo": 20}, "either `max_points` or `pdo`"),
        ({"max_points": 0}, "max_points=0 has to be at least 1"),
        ({"pdo": -1}, "pdo=-1 has to be positive"),
        ({"pdo": 1, "base_odds": 0}, "base_odds=0 has to be positive"),
        ({"base_points": 600}, "belong to `pdo`"),
        ({"line_steps": 0}, "line_steps=0 has to be at least 1"),
        ({"X": ROWS}, "Give both `X` and `y`"),
        ({"X": ROWS, "y": ["good", "bad"]}, r"`y` has shape \(2,\)"),
        ({"X": ROWS, "y": ["good", "bad", "ugly", "bad"]}, "`y` holds 'ugly'"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        to_scorecard(risk(), **arguments)


def test_models_that_have_no_card():
    with pytest.raises(ValueError, match="gaussian model with identity link"):
        to_scorecard(small_ensemble("a > 1"))
    with pytest.raises(ValueError, match="multinomial model with softmax link"):
        to_scorecard(adult_ensemble("multinomial", ("a", "b", "c")))
    with pytest.raises(ValueError, match=r"line of column .* has no end"):
        to_scorecard(adult_ensemble())
    with pytest.raises(ValueError, match=r"negative|needs a finite number >= 0"):
        to_scorecard(small_ensemble("a > 1", family="poisson"), X=[[1.0]], y=[-1.0])
