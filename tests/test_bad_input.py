"""Input that is wrong gets an error that names it; input that is odd has a defined result."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

from ruleglm import RuleClassifier, RuleRegressor
from tests.data import mixed_frame, target_of

N = 80
FRAME = mixed_frame(N)[["age", "claims", "sex"]]
NUMBERS = target_of("gaussian", mixed_frame(N))
LABELS = np.where(NUMBERS > 34.0, "yes", "no")
ONES = np.ones(N)

PANDAS, POLARS, ARROW = "pandas", "polars", "pyarrow"


def change(values, row, value):
    """A copy with another value in one row."""
    values = np.array(values, dtype=object if isinstance(value, str) else np.float64)
    values[row] = value
    return values


def convert(frame, library):
    if library == POLARS:
        return pl.from_pandas(frame)
    return pa.Table.from_pandas(frame, preserve_index=False) if library == ARROW else frame


@pytest.fixture(scope="module")
def model():
    return RuleRegressor().fit(FRAME, NUMBERS)


@pytest.fixture(scope="module")
def array_model():
    return RuleRegressor().fit(FRAME[["age", "claims"]].to_numpy(), NUMBERS)


# ------------------------------------------------------------------------------- the target


@pytest.mark.parametrize("model", [RuleClassifier(), RuleRegressor()], ids=["class", "number"])
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (change(ONES, 3, np.nan), "row 3"),
        (change(ONES, 3, np.inf), "inf.*row 3|row 3.*inf"),
        (change(ONES, 3, -np.inf), "-inf.*row 3|row 3.*-inf"),
        ([1.0, None] * (N // 2), "row 1"),
        (pd.Series([0, None] * (N // 2), dtype="Int64"), "row 1"),
        (pl.Series([0, None] * (N // 2)), "row 1"),
    ],
    ids=["nan", "inf", "-inf", "None", "pandas NA", "polars null"],
)
def test_an_unknown_target_is_refused_by_its_row(model, y, message):
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(FRAME, y)
    assert "drop the rows" in str(caught.value)


@pytest.mark.parametrize(
    "y",
    [
        np.array(["yes", None] * (N // 2), dtype=object),
        pd.Series(["yes", None] * (N // 2)),
        pd.Series(["yes", None] * (N // 2), dtype="string"),
        pd.Series(["yes", None] * (N // 2), dtype="category"),
        pl.Series(["yes", None] * (N // 2)),
    ],
    ids=["object", "pandas", "pandas string", "pandas category", "polars"],
)
def test_a_missing_label_is_no_class(y):
    with pytest.raises(ValueError, match=r"y is \S+ in row 1; drop the rows"):
        RuleClassifier().fit(FRAME, y)


@pytest.mark.parametrize("model", [RuleClassifier(), RuleRegressor()], ids=["class", "number"])
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "target y is None"),
        (np.zeros(N - 1), f"X has {N} rows, but y has {N - 1}"),
        ([], f"X has {N} rows, but y has 0"),
        (np.zeros((N, 2)), rf"y should be a 1d array, got an array of shape \({N}, 2\)"),
    ],
    ids=["none", "short", "empty", "two columns"],
)
def test_a_target_of_another_shape_is_refused(model, y, message):
    with pytest.raises(ValueError, match=message):
        model.fit(FRAME, y)


@pytest.mark.parametrize(
    ("y", "weights", "message"),
    [
        (["yes"] * N, None, "only one class, 'yes'; .*two classes"),
        (LABELS, LABELS == "no", "only one class in the rows of positive weight, 'no'"),
        (NUMBERS, None, "Unknown label type: continuous"),
    ],
    ids=["one class", "one class with weight", "numbers"],
)
def test_a_classifier_needs_two_classes(y, weights, message):
    with pytest.raises(ValueError, match=message):
        RuleClassifier().fit(FRAME, y, weights)


@pytest.mark.parametrize(
    ("y", "value"),
    [
        (LABELS, "'(yes|no)'"),
        (np.array(["1", "2"] * (N // 2)), "'1'"),
        (change(NUMBERS, 5, "n/a"), "'n/a'"),
        (pl.Series(LABELS), "'(yes|no)'"),
        (pd.date_range("2020", periods=N), "'2020-01-01"),
        ([dt.date(2020, 1, 1)] * N, "'2020-01-01"),
    ],
    ids=["labels", "digits", "one string", "polars", "dates", "date objects"],
)
def test_a_regression_needs_numbers(y, value):
    with pytest.raises(ValueError, match=f"such as {value}.*needs numbers; .*RuleClassifier"):
        RuleRegressor().fit(FRAME, y)


@pytest.mark.parametrize(
    ("family", "value", "message"),
    [
        ("poisson", -1.0, "poisson .*>= 0 .*row 2 .* is -1.0: use family='gaussian'"),
        ("gamma", 0.0, "gamma .*> 0 .*row 2 .* is 0.0: use family='tweedie'"),
        ("gamma", -1.0, "gamma .*> 0 .*row 2 .* is -1.0: .*family='gaussian'"),
        ("tweedie", -0.5, "tweedie .*>= 0 .*row 2 .* is -0.5: use family='gaussian'"),
        ("binomial", 2.0, "binomial .*from 0 to 1 .*row 2 .* is 2.0: encode the two classes"),
        ("binomial", -1.0, "binomial .*from 0 to 1 .*row 2 .* is -1.0: encode the two classes"),
    ],
)
def test_a_target_outside_the_family_is_refused(family, value, message):
    y = change(target_of(family, mixed_frame(N)), 2, value)
    with pytest.raises(ValueError, match=message):
        RuleRegressor(family=family).fit(FRAME, y)


@pytest.mark.parametrize(
    ("family", "y", "mean"), [("gaussian", 7.0, 7.0), ("poisson", 0.0, 0.0), ("gamma", 3.0, 3.0)]
)
def test_a_constant_target_is_predicted(family, y, mean):
    model = RuleRegressor(family=family).fit(FRAME, np.full(N, y))
    assert model.ensemble_.rules == ()
    np.testing.assert_allclose(model.predict(FRAME), mean, atol=1e-9)


# ---------------------------------------------------------- weights, offset and exposure


@pytest.mark.parametrize("model", [RuleClassifier(), RuleRegressor()], ids=["class", "number"])
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (change(ONES, 4, -1.0), "`sample_weight` is -1.0 in row 4; .*the weight 0"),
        (0 * ONES, "`sample_weight` is zero in every row"),
        (ONES[:-1], rf"`sample_weight` has shape \({N - 1},\).*\({N},\)"),
        (ONES[:, None], rf"`sample_weight` has shape \({N}, 1\).*\({N},\)"),
        (change(ONES, 4, np.nan), "`sample_weight` is nan in row 4; .*finite"),
        (change(ONES, 4, np.inf), "`sample_weight` is inf in row 4; .*finite"),
        (["heavy"] * N, "`sample_weight` has to hold numbers.*'heavy'"),
    ],
    ids=["negative", "zero", "short", "2d", "nan", "inf", "strings"],
)
def test_bad_weights_are_refused(model, weights, message):
    y = LABELS if isinstance(model, RuleClassifier) else NUMBERS
    with pytest.raises(ValueError, match=message):
        model.fit(FRAME, y, weights)


@pytest.mark.parametrize("when", ["fit", "predict"])
@pytest.mark.parametrize(
    ("family", "vectors", "message"),
    [
        ("gaussian", {"offset": ONES[:3]}, rf"`offset` has shape \(3,\).*\({N},\)"),
        ("binomial", {"offset": change(ONES, 1, np.inf)}, "`offset` is inf in row 1; .*finite"),
        ("gaussian", {"offset": ["x"] * N}, "`offset` has to hold numbers.*'x'"),
        ("poisson", {"exposure": ONES[:3]}, rf"`exposure` has shape \(3,\).*\({N},\)"),
        ("poisson", {"exposure": change(ONES, 7, 0.0)}, "`exposure` is 0.0 in row 7; .*positive"),
        ("gamma", {"exposure": change(ONES, 7, -2.0)}, "`exposure` is -2.0 in row 7; .*positive"),
        ("tweedie", {"exposure": change(ONES, 7, np.nan)}, "`exposure` is nan in row 7"),
        ("gaussian", {"exposure": ONES}, "needs a log link.*gaussian.*identity.*'poisson'"),
        ("binomial", {"exposure": ONES}, "needs a log link.*binomial.*logit.*`offset`"),
    ],
)
def test_bad_offsets_and_exposures_are_refused(when, family, vectors, message):
    y = target_of(family, mixed_frame(N))
    model = RuleRegressor(family=family, lambda_0=0.05)
    if when == "predict":
        model.fit(FRAME, y)
    with pytest.raises(ValueError, match=message):
        model.fit(FRAME, y, **vectors) if when == "fit" else model.predict(FRAME, **vectors)


def test_the_classifier_checks_its_offset_too():
    model = RuleClassifier(lambda_0=0.05).fit(FRAME, LABELS)
    for method in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(ValueError, match=r"`offset` has shape \(2,\)"):
            method(FRAME, offset=[0.0, 1.0])


# ------------------------------------------------------------------ the shape of the rows


@pytest.mark.parametrize("library", [PANDAS, POLARS, ARROW])
def test_no_rows(library, model):
    empty = convert(FRAME.iloc[:0], library)
    with pytest.raises(ValueError, match=r"0 sample\(s\) \(shape=\(0, 3\)\)"):
        RuleRegressor().fit(empty, [])
    with pytest.raises(ValueError, match=r"0 sample\(s\) \(shape=\(0, 3\)\)"):
        model.predict(empty)


@pytest.mark.parametrize("X", [FRAME[[]], np.empty((N, 0))], ids=["frame", "array"])
def test_no_columns(X):
    with pytest.raises(ValueError, match=rf"0 feature\(s\) \(shape=\({N}, 0\)\)"):
        RuleRegressor().fit(X, NUMBERS)


@pytest.mark.parametrize("library", [PANDAS, POLARS, ARROW])
@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda frame: frame.drop(columns="age"), r"(?s)now missing:\n- age"),
        (lambda frame: frame.rename(columns={"age": "agee"}), r"(?s)agee.*now missing:\n- age"),
        (lambda frame: frame.assign(extra=1), r"(?s)unseen at fit time:\n- extra"),
        (lambda frame: frame[["sex", "claims", "age"]], "same order as they were in fit"),
    ],
    ids=["missing", "renamed", "extra", "reordered"],
)
def test_other_columns_than_in_training_are_named(library, edit, message):
    model = RuleRegressor(lambda_0=0.1).fit(convert(FRAME, library), NUMBERS)
    with pytest.raises(ValueError, match=message):
        model.predict(convert(edit(FRAME), library))


def test_the_ensemble_by_itself_names_the_nearest_column(model):
    renamed = FRAME.rename(columns={"claims": "claim"})
    with pytest.raises(ValueError, match=r"lacks the columns 'claims'; the nearest .* 'claim'"):
        model.ensemble_.predict(renamed)


@pytest.mark.parametrize("n_columns", [1, 3])
def test_another_number_of_array_columns_is_refused(array_model, n_columns):
    with pytest.raises(ValueError, match=f"X has {n_columns} features, .* expecting 2 features"):
        array_model.predict(np.ones((3, n_columns)))


def test_one_row_has_to_be_a_matrix(array_model):
    with pytest.raises(ValueError, match=r"Expected 2D array, got 1D .*\n.*\nReshape"):
        array_model.predict(np.ones(2))


@pytest.mark.parametrize("when", ["fit", "predict"])
def test_duplicated_column_names_are_refused(when, model):
    twice = pd.concat([FRAME, FRAME[["age"]]], axis=1)
    with pytest.raises(ValueError, match="age"):
        RuleRegressor().fit(twice, NUMBERS) if when == "fit" else model.predict(twice)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_prediction_needs_a_fit(method):
    with pytest.raises(NotFittedError, match=r"RuleClassifier instance is not fitted yet.*'fit'"):
        getattr(RuleClassifier(), method)(FRAME)
    assert not hasattr(RuleClassifier(), "rules_")


# -------------------------------------------------------------------------- types of columns


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (change(FRAME["age"], 2, "old"), r"'age' mixes the string 'old' with .*astype\(str\)"),
        ([[1]] * N, r"'age' holds \[1\] of type list; .*leave it out"),
        ([dt.date(2020, 1, 1)] * N, r"'age' holds datetime.date.* of type date; .*convert"),
        (pd.date_range("2020", periods=N), "'age' has the type datetime.*days since a date"),
    ],
    ids=["mixed", "lists", "date objects", "dates"],
)
def test_columns_of_other_types_are_refused(values, message):
    with pytest.raises(TypeError, match=message):
        RuleRegressor().fit(FRAME.assign(age=values), NUMBERS)


@pytest.mark.parametrize("library", [POLARS, ARROW])
def test_dates_of_other_libraries_are_refused(library):
    dates = FRAME.assign(day=pd.date_range("2020", periods=N))
    with pytest.raises(TypeError, match=r"'day' has the type .*days since a date"):
        RuleRegressor().fit(convert(dates, library), NUMBERS)


@pytest.mark.parametrize("library", [PANDAS, POLARS, ARROW])
@pytest.mark.parametrize("text", ["old", "41"])
def test_strings_where_numbers_were_are_refused(model, library, text):
    message = f"'age' was a number in training and now holds the value '{text}'; convert"
    with pytest.raises(ValueError, match=message):
        model.predict(convert(FRAME.assign(age=text), library))


def test_one_string_among_numbers_is_refused(model, array_model):
    with pytest.raises(ValueError, match=r"'age' was a number .* holds the value 'old'"):
        model.predict(FRAME.assign(age=change(FRAME["age"], 2, "old")))
    array = np.array([[30.0, 1], ["old", 2]], dtype=object)
    with pytest.raises(ValueError, match=r"'x0' was a number .* holds the value 'old'"):
        array_model.predict(array)


# -------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lambda_0": 0}, "`lambda_0` and `lambda_1` are both 0.*lambda_0=1e-4"),
        ({"lambda_0": 0, "lambda_1": 0}, "`lambda_0` and `lambda_1` are both 0.*lambda_0=1e-4"),
        ({"lambda_0": -1.0}, r"'lambda_0' .*range \[0.0, inf\). Got -1.0"),
        ({"lambda_1": -0.1}, r"'lambda_1' .*range \[0.0, inf\).* Got -0.1"),
        ({"lambda_0": np.nan}, "'lambda_0' .*Got nan"),
        ({"bins": 1}, r"'bins' .*range \[2, 254\].* Got 1 "),
        ({"bins": 300}, r"'bins' .*range \[2, 254\].* Got 300 "),
        ({"thresholds": {"agee": [1]}}, "no column 'agee'; the nearest names are 'age'"),
        ({"thresholds": {0: [1]}}, "no column 0; the columns are 'age', 'claims', 'sex'"),
        ({"thresholds": {"age": [30, 20]}}, "'age' must ascend, but 30.0 comes before 20.0"),
        ({"thresholds": {"age": [30, 30]}}, "'age' must ascend, but 30.0 comes before 30.0"),
        ({"thresholds": {"age": [np.nan]}}, "'age' has the threshold nan"),
        ({"thresholds": {"age": ["x"]}}, r"'age' are \['x'\]; give a list of numbers"),
        ({"thresholds": {"age": 30}}, "'age' are 30; give a list of numbers"),
        ({"thresholds": {"sex": [1]}}, "'sex', which holds levels"),
        ({"thresholds": [30]}, r"'thresholds' .*'dict'.* Got \[30\]"),
        ({"categorical": ["agee"]}, "`categorical` names 'agee'; the nearest names are 'age'"),
        ({"categorical": [7]}, "`categorical` gives column 7, but X has 3 columns"),
        ({"categorical": [-1]}, "`categorical` gives column -1, but X has 3 columns"),
        ({"categorical": "age"}, "'categorical' .*array-like.* Got 'age'"),
        ({"min_level_share": 1.0}, r"'min_level_share' .*range \[0.0, 1.0\). Got 1.0"),
        ({"family": "weibull"}, "'family' .*'poisson'.* Got 'weibull'"),
        ({"family": "tweedie", "power": 2.5}, r"'power' .*range \(1.0, 2.0\). Got 2.5"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        RuleRegressor(**parameters).fit(FRAME, NUMBERS)


@pytest.mark.parametrize("item", [True, 1.5, None])
def test_categorical_is_neither_a_mask_nor_anything_else(item):
    with pytest.raises(TypeError, match=f"`categorical` holds {item}; give names or positions"):
        RuleRegressor(categorical=[item, "sex"]).fit(FRAME, NUMBERS)


def test_one_lambda_may_be_zero():
    by_rule = RuleRegressor(max_degree=1, lambda_0=0.02, lambda_1=0).fit(FRAME, NUMBERS)
    by_condition = RuleRegressor(max_degree=1, lambda_0=0, lambda_1=0.02).fit(FRAME, NUMBERS)
    assert by_rule.ensemble_ == by_condition.ensemble_  # every rule has one condition


# ------------------------------------------------------------------ odd values, defined results


def steps(values, y, **parameters):
    """A model of one column that follows its values."""
    return RuleRegressor(lambda_0=1e-4, **parameters).fit(pd.DataFrame({"x": values}), y)


def test_an_unseen_level_equals_nothing_and_differs_from_everything():
    values, y = np.tile(["a", "b", "c", "d"], 20), np.tile([0.0, 3.0, 7.0, 1.0], 20)
    model = steps(values, y)
    unseen, missing = model.predict(pd.DataFrame({"x": ["z", None]}))
    fires = [rule.conditions[0].negated for rule in model.ensemble_.rules]
    expected = model.intercept_ + model.ensemble_.coefficients @ np.array(fires, dtype=float)
    assert unseen == pytest.approx(expected)
    assert missing == pytest.approx(model.intercept_)  # neither equals nor differs


def test_an_unseen_level_satisfies_a_negated_rule():
    model = steps(["a", "b", "c", None] * 30, [0.0, 5.0, 5.0, 0.0] * 30)
    (rule,) = model.ensemble_.rules
    assert rule.text() == "x != 'a'"
    predicted = model.predict(pd.DataFrame({"x": ["a", "b", "unseen", None]}))
    np.testing.assert_allclose(predicted, [0.0, 5.0, 5.0, 0.0], atol=0.01)


def test_an_unseen_ordered_level_is_in_no_range():
    sizes = pd.Categorical(["S", "M", "L"] * 30, ["S", "M", "L"], ordered=True)
    model = steps(sizes, [0.0, 0.0, 5.0] * 30)
    large, unseen = model.predict(pd.DataFrame({"x": ["L", "XL"]}))
    fired = model.ensemble_.contributions(pd.DataFrame({"x": ["XL"]}))[0, 1:]
    assert large == pytest.approx(5.0, abs=0.05)
    assert unseen == model.intercept_
    assert not fired.any()


def test_categories_given_in_training_need_no_rows():
    sizes = pd.Categorical(["S", "L"] * 40, ["S", "M", "L"])
    model = steps(sizes, [0.0, 5.0] * 40)
    (rule,) = model.ensemble_.rules
    assert "M" not in rule.text()
    assert np.isfinite(model.predict(pd.DataFrame({"x": ["M"]}))).all()


@pytest.mark.parametrize("linear_terms", [False, True])
def test_infinite_features_are_extreme_values(linear_terms):
    values = np.r_[np.full(20, -np.inf), np.arange(40.0), np.full(20, np.inf)]
    y = np.r_[np.full(20, 5.0), np.zeros(40), np.full(20, -3.0)]
    model = steps(values, y, linear_terms=linear_terms)
    np.testing.assert_allclose(model.predict(pd.DataFrame({"x": values})), y, atol=0.1)
    extremes = pd.DataFrame({"x": [-np.inf, -1e300, 1e300, np.inf]})
    np.testing.assert_allclose(model.predict(extremes), [5.0, 5.0, -3.0, -3.0], atol=0.1)


@pytest.mark.parametrize("linear_terms", [False, True])
def test_infinite_features_where_training_had_none(linear_terms):
    model = steps(np.arange(80.0), np.arange(80.0), linear_terms=linear_terms)
    low, least, high, most = model.predict(pd.DataFrame({"x": [-np.inf, 0.0, np.inf, 79.0]}))
    assert (low, high) == (least, most)
    assert low < high


@pytest.mark.parametrize("linear_terms", [False, True])
def test_a_column_of_nothing_but_infinities(linear_terms):
    model = steps([-np.inf, np.inf] * 40, [0.0, 1.0] * 40, linear_terms=linear_terms)
    assert model.ensemble_.linear_terms == ()
    np.testing.assert_allclose(
        model.predict(pd.DataFrame({"x": [-np.inf, np.inf]})), [0.0, 1.0], atol=0.01
    )


@pytest.mark.parametrize("linear_terms", [False, True])
@pytest.mark.parametrize(
    "useless",
    [1.0, np.inf, np.nan, None, "F", True, pd.NA],
    ids=["number", "inf", "nan", "None", "level", "bool", "NA"],
)
def test_columns_that_do_not_vary_take_no_part(useless, linear_terms):
    alone = RuleRegressor(lambda_0=0.01, linear_terms=linear_terms).fit(FRAME[["claims"]], NUMBERS)
    frame = FRAME[["claims"]].assign(useless=useless)
    model = RuleRegressor(lambda_0=0.01, linear_terms=linear_terms).fit(frame, NUMBERS)
    assert model.ensemble_.rules == alone.ensemble_.rules
    np.testing.assert_array_equal(model.predict(frame), alone.predict(FRAME[["claims"]]))
    only = RuleRegressor(linear_terms=linear_terms).fit(frame[["useless"]], NUMBERS)
    np.testing.assert_allclose(only.predict(frame[["useless"]]), NUMBERS.mean())


def test_a_column_with_more_levels_than_codes():
    rng = np.random.default_rng(0)
    values = np.r_[np.tile([f"level {k}" for k in range(300)], 2), np.full(400, "level 299")]
    y = 4.0 * (values == "level 299") + 0.01 * rng.standard_normal(len(values))
    model = RuleRegressor(lambda_0=0.05).fit(pd.DataFrame({"x": values}), y)
    assert [rule.text() for rule in model.ensemble_.rules] == ["x = 'level 299'"]
    rows = pd.DataFrame({"x": ["level 299", "level 298", "level 300"]})
    np.testing.assert_allclose(model.predict(rows), [4.0, 0.0, 0.0], atol=0.05)


def test_an_ordered_column_with_more_levels_than_codes_is_refused():
    values = pd.Categorical(np.arange(300), ordered=True)
    with pytest.raises(ValueError, match=r"'x' has 300 levels.*at most 254.*group some of them"):
        steps(values, np.arange(300.0))


@pytest.mark.parametrize("linear_terms", [False, True])
def test_missing_values_where_training_had_none(linear_terms):
    model = steps(np.arange(80.0), np.arange(80.0), linear_terms=linear_terms)
    missing = pd.DataFrame({"x": [np.nan]})
    (prediction,) = model.predict(missing)
    lines = model.ensemble_.linear_coefficients @ [t.fill for t in model.ensemble_.linear_terms]
    assert prediction == pytest.approx(model.intercept_ + lines)  # no range holds


def test_missing_levels_where_training_had_none():
    model = steps(["a", "b"] * 40, [0.0, 5.0] * 40)
    assert model.predict(pd.DataFrame({"x": [None]})) == model.intercept_
