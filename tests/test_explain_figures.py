import builtins

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from ruleglm import RuleClassifier, RuleRegressor, RuleRegressorCV
from ruleglm.explain import (
    ColumnFacts,
    build_shapes,
    explain_row,
    feature_importances,
    measure_interactions,
    measure_terms,
)
from ruleglm.explain.figures import (
    draw_calibration,
    draw_importances,
    draw_interactions,
    draw_waterfall,
    write_label,
    write_lines,
)
from ruleglm.explain.shape_figures import draw_shape, draw_shapes
from tests.data import mixed_frame, target_of
from tests.explain_cases import build, example, frame

TABLE = frame(60)
TABLE = TABLE[np.isfinite(TABLE["<script>x</script>"])]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def render(axes):
    """Draw for real; warnings are errors."""
    figure = np.ravel(axes)[0].figure
    figure.canvas.draw()
    return figure


def texts(axis_labels):
    return [label.get_text() for label in axis_labels]


@pytest.mark.parametrize("family", ["binomial", "poisson", "gaussian", "multinomial"])
def test_shapes_are_drawn_with_levels_and_missing_values(family):
    shapes = build_shapes(example(family))
    panels = draw_shapes(shapes)
    render(panels)
    titles = {panel.get_title() for panel in panels}
    assert titles == {"age", "<script>x</script>", "sex", "size"}
    for panel in panels:
        labels = texts(panel.get_xticklabels())
        if panel.get_title() in ("sex", "size"):
            assert labels[-2:] == ["(other)", "(missing)"]
        else:
            assert labels[-1] == "missing"
    assert len({panel.get_ylim() for panel in panels}) == 1


def test_a_drawn_function_has_the_values_of_the_model():
    shapes = build_shapes(build(["age > 50", "age is missing"], [2.0, -1.0]))
    ax = draw_shape(shapes["age"], shapes, {"age": ColumnFacts(low=0.0, high=100.0)})
    render(ax)
    pieces = [line.get_xydata() for line in ax.lines if len(line.get_xydata()) == 2]
    steps = [piece for piece in pieces if piece[0, 1] == piece[1, 1] and piece[0, 0] < piece[1, 0]]
    flat = [piece for piece in steps if piece[1, 0] > 1]  # without the line at 0
    assert_allclose(flat, [[[-6, 0], [50, 0]], [[50, 2], [106, 2]]])
    (diamond,) = (line for line in ax.lines if line.get_marker() == "D")
    assert diamond.get_ydata() == [-1]


def test_chosen_features_and_an_odd_one():
    shapes = build_shapes(example())
    panels = draw_shapes(shapes, features=["sex", "age"])
    assert [panel.get_title() for panel in panels] == ["sex", "age"]
    with pytest.raises(ValueError, match="nothing to draw"):
        draw_shapes(build_shapes(build(["age > 5 and sex = 'F'"], [1.0])))


def test_many_levels_are_cut_to_those_that_matter():
    rules = [f"sex = 'level {k}'" for k in range(40)]
    shapes = build_shapes(build(rules, np.arange(40.0)))
    (panel,) = draw_shapes(shapes)
    render(panel)
    labels = texts(panel.get_xticklabels())
    assert len(labels) == 16
    assert "level 39" in labels
    assert "level 3" not in labels


def test_importances_and_interactions():
    ensemble = example()
    ax = draw_importances(feature_importances(ensemble, measure_terms(ensemble, TABLE)))
    render(ax)
    assert set(texts(ax.get_yticklabels())) == {"age", "<script>x</script>", "sex", "size", "flag"}
    ax = draw_interactions(measure_interactions(ensemble, TABLE), most=2)
    render(ax)
    assert len(ax.get_yticklabels()) == 2
    assert any(text.get_text().startswith("H = ") for text in ax.texts)
    additive = build(["age > 50"], [1.0])
    render(draw_interactions(measure_interactions(additive, TABLE)))


@pytest.mark.parametrize("by", ["terms", "features"])
@pytest.mark.parametrize("family", ["binomial", "poisson", "gaussian"])
def test_a_waterfall_ends_at_the_prediction(family, by):
    explanation = explain_row(example(family), TABLE.iloc[[3]], offset=0.25)
    ax = draw_waterfall(explanation, by=by, most=4)
    render(ax)
    bars = ax.patches
    assert len(bars) <= 5
    assert bars[0].get_x() == 0
    last = bars[-1]
    assert last.get_x() + last.get_width() == pytest.approx(explanation.eta)
    assert texts(ax.get_yticklabels())[0] == "(intercept)"
    with pytest.raises(ValueError, match="`by`"):
        draw_waterfall(explanation, by="rules")


def test_a_waterfall_is_of_one_class():
    ensemble = example("multinomial")
    render(draw_waterfall(explain_row(ensemble, TABLE.iloc[[3]], class_="b")))
    with pytest.raises(ValueError, match="class_"):
        draw_waterfall(explain_row(ensemble, TABLE.iloc[[3]]))


def test_calibration_of_one_or_several_classes():
    bins = pd.DataFrame(
        {"predicted": [0.1, 0.5, 0.9], "observed": [0.2, 0.5, 0.8], "standard_error": [0.1] * 3}
    )
    ax = draw_calibration(bins)
    render(ax)
    assert texts(ax.get_legend().get_texts()) == ["ideal", "observed"]
    several = pd.concat([bins.assign(**{"class": label}) for label in ("a", "$b$")])
    ax = draw_calibration(several)
    render(ax)
    assert texts(ax.get_legend().get_texts()) == ["ideal", "a", r"\$b\$"]


def test_labels_are_shown_to_the_letter():
    assert write_label("cost $x$ and $y$") == r"cost \$x\$ and \$y\$"
    assert write_label("a\n b") == "a b"
    long = write_label("x" * 100 + "end")
    assert len(long) <= 42
    assert long.endswith("end")
    assert write_lines("$a " * 10) == r"\$a " * 9 + r"\$a"
    lines = write_lines("word " * 60 + "end").splitlines()
    assert len(lines) == 2
    assert lines[1].endswith("end")


def test_fitted_models_draw_themselves():
    table = mixed_frame(300)
    table["$price$_^"] = table.pop("income")
    model = RuleRegressorCV(family="poisson", cv=2, max_complexity=6, max_degree=2, bins=8)
    y = target_of("poisson", table)
    model.fit(table, y)
    for axes in (
        model.plot.path(),
        model.plot.shapes(table),
        model.plot.importances(),
        model.plot.interactions(),
        model.plot.row(table.iloc[[0]], by="features"),
        model.plot.calibration(table, y),
    ):
        render(axes)
    _, ax = plt.subplots()
    assert model.plot.importances(ax=ax) is ax
    plain = RuleRegressor(lambda_0=0.1).fit(table, y)
    with pytest.raises(ValueError, match="path of models"):
        plain.plot.path()


def test_an_unfitted_model_says_so_and_matplotlib_is_an_extra(monkeypatch):
    with pytest.raises(AttributeError, match="not fitted"):
        _ = RuleClassifier().plot
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r'pip install "ruleglm\[plot\]"'):
        draw_importances(pd.DataFrame({"importance": []}))
