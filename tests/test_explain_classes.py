"""Explanations of fitted models of more than two classes."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from ruleglm import RuleClassifier
from ruleglm.explain import measure_terms, rule_importances
from tests.data import mixed_frame, mixed_signal

TABLE = mixed_frame(300)
LABELS = np.array(["low", "middle", "top"])[np.digitize(mixed_signal(TABLE), [0.0, 1.0])]


@pytest.fixture(scope="module")
def model():
    more = {"linear_terms": True, "max_complexity": 14, "max_degree": 2, "bins": 8}
    return RuleClassifier(penalty="l0", **more).fit(TABLE, LABELS)


def test_training_rows_need_not_be_given(model):
    spread = measure_terms(model.ensemble_, TABLE)
    pd.testing.assert_frame_equal(model.rules_, rule_importances(model.ensemble_, spread))
    pd.testing.assert_frame_equal(model.importances(), model.importances(TABLE))
    one = model.importances(class_="top")
    assert not np.allclose(one["importance"], model.importances()["importance"])
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_shapes_and_rows_add_up(model):
    eta = model.decision_function(TABLE)
    assert_allclose(model.shapes(centred=True).decision_function(TABLE), eta, atol=1e-9)
    top = model.shapes(centred=True, class_="top")
    assert_allclose(top.decision_function(TABLE), eta[:, 2], atol=1e-9)
    for shape in top:
        values = shape.values(model.ensemble_.read(TABLE).column(shape.feature))
        assert values.mean() == pytest.approx(0, abs=1e-9)
    shares = model.predict_proba(TABLE)
    for k in range(5):
        assert_allclose(model.explain(TABLE.iloc[[k]]).mean, shares[k], atol=1e-12)


def test_a_change_reaches_the_class_asked_for(model):
    place = int(np.flatnonzero(model.predict(TABLE) == "low")[0])
    row = TABLE.iloc[[place]]
    found = model.nearest_change(row, target="top", max_features=4)
    changed = row.astype(object)
    for name, value in found.values.items():
        changed[name] = [value]
    numbers = dict.fromkeys(TABLE.select_dtypes("number"), float)
    assert model.predict(changed.astype(numbers))[0] == "top"
    assert found.after > found.before


def test_words_and_figures(model):
    text = " ".join(model.summary().split())
    assert "the probabilities of 3 classes: low, middle, top" in text
    assert f"{100 * np.mean(LABELS == 'top'):.3g}% were top" in text
    for axes in (
        model.plot.shapes(),
        model.plot.shapes(class_="top"),
        model.plot.row(TABLE.iloc[[0]], class_="top"),
        model.plot.calibration(TABLE, LABELS),
        model.plot.interactions(TABLE),
    ):
        np.ravel(axes)[0].figure.canvas.draw()
    plt.close("all")


def test_a_refitted_model_tells_of_its_new_rows(model):
    again = model.refit(TABLE[:200], LABELS[:200])
    share = 100 * np.mean(LABELS[:200] == "low")
    assert f"Of 200 training rows {share:.3g}% were low" in " ".join(again.summary().split())
    pd.testing.assert_frame_equal(again.importances(), again.importances(TABLE[:200]))
