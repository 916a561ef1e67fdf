import math

import numpy as np
import pandas as pd
import pytest

from ruleglm import RuleClassifierCV, RuleRegressor
from ruleglm.explain import measure_terms
from ruleglm.explain.words import say_effect, summarise
from tests.data import mixed_frame, target_of
from tests.explain_cases import build, example, frame

TABLE = frame(100)
TABLE = TABLE[np.isfinite(TABLE["<script>x</script>"])]
FAMILIES = ("gaussian", "binomial", "poisson", "multinomial")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_line_is_shorter_than_80_letters(family):
    ensemble = example(family)
    text = summarise(ensemble, measure_terms(ensemble, TABLE), certificate="word " * 40)
    assert max(map(len, text.splitlines())) < 80
    text = " ".join(text.split())
    assert "11 rules and 2 straight lines" in text
    assert "1 rule asks whether age is missing" in text
    assert "age as 45" in text
    assert "Certificate: word" in text
    assert "If age > 50 (" in text


@pytest.mark.parametrize(
    ("family", "coefficient", "words"),
    [
        ("binomial", math.log(3), "the odds of yes are multiplied by 3"),
        ("binomial", 1e4, "the odds of yes are multiplied by more than 1e300"),
        ("poisson", math.log(1.25), "the prediction is 25% higher"),
        ("poisson", math.log(0.5), "the prediction is 50% lower"),
        ("poisson", math.log(3), "the prediction is multiplied by 3"),
        ("gaussian", -2.5, "the prediction is 2.5 lower"),
        ("gaussian", 0.0, "nothing changes"),
        ("multinomial", np.array([0.0, 1.0, -2.0]), "the scores change by c -2, b +1"),
    ],
)
def test_the_effect_of_a_coefficient_in_words(family, coefficient, words):
    assert say_effect(example(family), coefficient) == words


def test_where_no_rule_holds_the_prediction_is_as_told():
    ensemble = build(["age > 50", "sex = 'F'"], [1.0, 2.0], intercept=math.log(3))
    text = summarise(ensemble, measure_terms(ensemble, TABLE))
    assert "Where no rule holds, the probability is 75%." in text
    empty = build([], [], intercept=0.0)
    assert "every row gets the same prediction" in summarise(empty, measure_terms(empty, TABLE))


def test_the_weaker_terms_are_counted():
    ensemble = example()
    text = summarise(ensemble, measure_terms(ensemble, TABLE), most=3)
    assert text.count("  - If") + text.count("  - With") == 3
    assert "And 10 weaker" in text


def test_a_fitted_model_knows_its_base_rate_and_certificate():
    table = mixed_frame(300)
    y = pd.Series(np.where(target_of("binomial", table) > 0, "bad", "good"), name="risk")
    model = RuleClassifierCV(cv=3, max_complexity=6).fit(table, y)
    share = 100 * (y == "good").mean()
    for one in (model, model.at(1)):
        text = " ".join(one.summary().split())
        assert "the probability of risk that a row is good, not bad" in text
        assert f"Of 300 training rows {share:.3g}% were good" in text
        assert one.certificate_ in text
    numbers = target_of("poisson", table)
    weights = np.arange(300) % 3
    model = RuleRegressor(family="poisson", lambda_0=0.1).fit(table, numbers, weights)
    assert f"was {np.average(numbers, weights=weights):.4g}." in " ".join(model.summary().split())


def test_a_refitted_model_tells_of_its_new_rows():
    table = mixed_frame(300)
    y = target_of("gaussian", table)
    model = RuleRegressor(lambda_0=0.1).fit(table, y)
    again = model.refit(table[:100], y[:100] + 5)
    assert f"The mean of 100 training rows was {y[:100].mean() + 5:.4g}." in " ".join(
        again.summary().split()
    )
    assert "The mean of 300" in model.summary()


def test_names_with_line_breaks_stay_on_a_line():
    table = mixed_frame(300)
    model = RuleRegressor(lambda_0=0.05).fit(table, target_of("gaussian", table))
    assert "`odd name ;`" in model.summary()


def test_a_notebook_shows_the_terms_escaped_and_whole():
    ensemble = example("multinomial")
    page = ensemble._repr_html_()
    assert "<script>" not in page
    assert "`&lt;script&gt;x&lt;/script&gt;` &lt;= 0 and age &lt;= 60 and flag = true" in page
    assert "coefficient of b" in page
