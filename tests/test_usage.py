"""The estimators in the hands of a scikit-learn user."""

import pickle
import tracemalloc
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ruleglm import RuleClassifier, RuleRegressor
from tests.data import mixed_frame, target_of

N = 240
LAMBDA_0 = 0.01
FRAME = mixed_frame(N)
NUMBERS = target_of("gaussian", FRAME)
ZEROS_AND_ONES = target_of("binomial", FRAME).astype(int)
NUMBER_COLUMNS = ["claims", "income", "odd name\n;"]

BOTH = pytest.mark.parametrize(
    ("model", "y"),
    [
        (RuleClassifier(lambda_0=LAMBDA_0), ZEROS_AND_ONES),
        (RuleRegressor(lambda_0=LAMBDA_0, linear_terms=True), NUMBERS),
    ],
    ids=["classifier", "regressor"],
)


def same_frame_elsewhere(frame):
    """The frame in every library, categories as strings where they have no order of their own."""
    plain = frame.assign(region=frame["region"].astype(object), size=frame["size"].astype(str))
    return {
        "pandas": plain,
        "polars": pl.from_pandas(plain),
        "pyarrow": pa.Table.from_pandas(plain, preserve_index=False),
        "pandas with arrow types": plain.convert_dtypes(dtype_backend="pyarrow"),
        "pandas with nullable types": plain.convert_dtypes(),
    }


# -------------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([-1, 1]),
        np.array([1.0, 2.0]),
    ],
    ids=["string", "object", "bool", "signs", "floats"],
)
def test_labels_of_any_type(labels):
    numbered = RuleClassifier(lambda_0=LAMBDA_0).fit(FRAME, ZEROS_AND_ONES)
    named = RuleClassifier(lambda_0=LAMBDA_0).fit(FRAME, labels[ZEROS_AND_ONES])
    assert named.classes_.tolist() == labels.tolist()
    assert named.ensemble_ == replace(numbered.ensemble_, classes=tuple(labels.tolist()))
    predicted = named.predict(FRAME)
    assert predicted.dtype == labels.dtype
    assert predicted.tolist() == labels[numbered.predict(FRAME)].tolist()
    assert named.score(FRAME, labels[ZEROS_AND_ONES]) == numbered.score(FRAME, ZEROS_AND_ONES)


@pytest.mark.parametrize(
    "library", [list, pd.Series, pl.Series, pa.array], ids=["list", "pandas", "polars", "pyarrow"]
)
def test_targets_of_any_library(library):
    expected = RuleClassifier(lambda_0=LAMBDA_0).fit(FRAME, ZEROS_AND_ONES)
    named = np.array(["no", "yes"])[ZEROS_AND_ONES].tolist()
    again = RuleClassifier(lambda_0=LAMBDA_0).fit(FRAME, library(named))
    assert again.ensemble_ == replace(expected.ensemble_, classes=("no", "yes"))
    numbers = RuleRegressor(lambda_0=LAMBDA_0).fit(FRAME, NUMBERS)
    again = RuleRegressor(lambda_0=LAMBDA_0).fit(FRAME, library(NUMBERS.tolist()))
    assert again.ensemble_ == numbers.ensemble_


def test_probabilities_agree_with_labels_and_log_odds():
    model = RuleClassifier(lambda_0=LAMBDA_0).fit(FRAME, ZEROS_AND_ONES)
    probabilities, log_odds = model.predict_proba(FRAME), model.decision_function(FRAME)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(probabilities[:, 1] / probabilities[:, 0]), log_odds)
    np.testing.assert_array_equal(model.predict(FRAME), (log_odds > 0).astype(int))


# ------------------------------------------------------------------- the fit and its input


@BOTH
def test_fit_returns_the_model_and_leaves_its_input_alone(model, y):
    model, frame, target, weights = clone(model), FRAME.copy(), y.copy(), np.arange(N) % 3.0
    offset = np.linspace(-0.1, 0.1, N)
    inputs = pickle.dumps((frame, target, weights, offset))
    parameters = repr(model.get_params())
    assert model.fit(frame, target, weights, offset=offset) is model
    model.predict(frame, offset=offset)
    assert pickle.dumps((frame, target, weights, offset)) == inputs
    assert repr(model.get_params()) == parameters


@BOTH
def test_read_only_and_strided_arrays_are_welcome(model, y):
    array = FRAME[NUMBER_COLUMNS].to_numpy(dtype=float)
    expected = clone(model).fit(array, y)
    frozen = array.copy()
    frozen.flags.writeable = False
    strided = np.repeat(array, 2, axis=0)[::2]
    for X in (frozen, np.asfortranarray(array), strided, array.tolist()):
        again = clone(model).fit(X, y)
        assert again.ensemble_ == expected.ensemble_
        np.testing.assert_array_equal(again.predict(X), expected.predict(array))


@BOTH
def test_the_same_data_give_an_equal_model_twice(model, y):
    first, second = clone(model).fit(FRAME, y), clone(model).fit(FRAME.copy(), y.copy())
    assert first.ensemble_ == second.ensemble_
    assert first.lower_bound_ == second.lower_bound_
    pd.testing.assert_frame_equal(first.rules_, second.rules_)


@BOTH
def test_a_second_fit_forgets_the_first(model, y):
    fresh = clone(model).fit(FRAME[["age", "sex"]], y)
    refitted = clone(model).fit(FRAME, y).fit(FRAME[["age", "sex"]], y)
    assert refitted.ensemble_ == fresh.ensemble_
    assert refitted.feature_names_in_.tolist() == ["age", "sex"]
    assert refitted.n_features_in_ == 2


# ------------------------------------------------------------------- data of every library


@BOTH
def test_every_library_gives_the_same_model_and_predictions(model, y):
    frames = same_frame_elsewhere(FRAME)
    expected = clone(model).fit(frames["pandas"], y)
    assert len(expected.ensemble_.rules) > 3
    for name, frame in frames.items():
        again = clone(model).fit(frame, y)
        assert again.ensemble_ == expected.ensemble_, name
        assert again.feature_names_in_.tolist() == list(FRAME.columns), name
        predicted = expected.predict(frame)
        np.testing.assert_array_equal(predicted, expected.predict(frames["pandas"]), name)


@BOTH
def test_arrays_give_the_same_predictions_as_frames(model, y):
    frame = FRAME[NUMBER_COLUMNS]
    named, numbered = clone(model).fit(frame, y), clone(model).fit(frame.to_numpy(), y)
    assert not hasattr(numbered, "feature_names_in_")
    assert numbered.ensemble_.names == ("x0", "x1", "x2")
    np.testing.assert_array_equal(named.predict(frame), numbered.predict(frame.to_numpy()))
    with pytest.warns(UserWarning, match="fitted with feature names"):
        unnamed = named.predict(frame.to_numpy())
    np.testing.assert_array_equal(unnamed, named.predict(frame))
    with pytest.warns(UserWarning, match="fitted without feature names"):
        by_position = numbered.predict(frame)
    np.testing.assert_array_equal(by_position, named.predict(frame))
    unnamed = pd.DataFrame(frame.to_numpy())  # its columns are 0, 1, 2
    np.testing.assert_array_equal(numbered.predict(unnamed), by_position)
    with pytest.raises(ValueError, match=r"X has 2 features, .* expecting 3 features"):
        numbered.predict(unnamed[[0, 1]])


def test_object_arrays_mix_numbers_and_levels():
    frame = FRAME[["claims", "sex", "smoker"]]
    named = RuleRegressor(lambda_0=LAMBDA_0).fit(frame, NUMBERS)
    numbered = RuleRegressor(lambda_0=LAMBDA_0).fit(frame.to_numpy(dtype=object), NUMBERS)
    np.testing.assert_array_equal(
        numbered.predict(frame.to_numpy(dtype=object)), named.predict(frame)
    )


@pytest.mark.parametrize("wrap", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_columns_are_remembered_in_their_order(wrap):
    frame = FRAME[["age", "claims", "sex"]]
    model = RuleRegressor(lambda_0=LAMBDA_0).fit(wrap(frame), NUMBERS)
    assert model.feature_names_in_.tolist() == ["age", "claims", "sex"]
    assert model.n_features_in_ == 3
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        model.predict(wrap(frame[["sex", "age", "claims"]]))
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time:\n- gender\n.*missing:\n- sex"):
        model.predict(wrap(frame.rename(columns={"sex": "gender"})))
    reordered = model.ensemble_.predict(wrap(frame[["sex", "age", "claims"]]))  # reads by name
    np.testing.assert_array_equal(reordered, model.predict(wrap(frame)))


# ------------------------------------------------------------------------------ parameters


@BOTH
def test_parameters_are_got_set_and_cloned(model, y):
    model = clone(model).set_params(lambda_0=0.5, categorical=["claims"])
    assert model.get_params()["lambda_0"] == 0.5
    assert model.get_params()["categorical"] == ["claims"]
    fitted = model.fit(FRAME, y)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "ensemble_")
    with pytest.raises(ValueError, match="Invalid parameter 'lambda_2'"):
        model.set_params(lambda_2=1)


def test_the_repr_shows_what_was_set():
    assert repr(RuleClassifier()) == "RuleClassifier()"
    assert repr(RuleRegressor(family="poisson", bins=10)) == (
        "RuleRegressor(bins=10, family='poisson')"
    )
    fitted = RuleRegressor(lambda_0=LAMBDA_0).fit(FRAME, NUMBERS)
    assert repr(fitted) == f"RuleRegressor(lambda_0={LAMBDA_0})"
    assert "RuleRegressor" in fitted._repr_html_()


# --------------------------------------------------------------------------------- storage


@BOTH
@pytest.mark.parametrize("store", ["pickle", "joblib"])
def test_models_survive_storage(model, y, store, tmp_path):
    fitted = clone(model).fit(FRAME, y)
    if store == "pickle":
        loaded = pickle.loads(pickle.dumps(fitted))
    else:
        joblib.dump(fitted, tmp_path / "model.joblib")
        loaded = joblib.load(tmp_path / "model.joblib")
    assert loaded.ensemble_ == fitted.ensemble_
    np.testing.assert_array_equal(loaded.predict(FRAME), fitted.predict(FRAME))
    pd.testing.assert_frame_equal(loaded.rules_, fitted.rules_)
    assert loaded.fit(FRAME, y).ensemble_ == fitted.ensemble_


# ---------------------------------------------------------------- pipelines and searches


@BOTH
def test_a_pipeline_with_a_scaler(model, y):
    X = FRAME[NUMBER_COLUMNS]
    plain = clone(model).fit(X, y)
    pipeline = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
    assert pipeline[-1].objective_ == pytest.approx(plain.objective_, rel=1e-3)
    assert len(pipeline.predict(X)) == N
    assert pipeline.score(X, y) == pytest.approx(plain.score(X, y), abs=0.02)


@BOTH
def test_a_column_transformer_keeps_the_names(model, y):
    columns = ColumnTransformer(
        [
            ("scaled", StandardScaler(), ["age", "claims"]),
            ("coded", OneHotEncoder(sparse_output=False), ["sex"]),
        ],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    pipeline = make_pipeline(columns, clone(model)).fit(FRAME, y)
    names = pipeline[-1].feature_names_in_.tolist()
    assert names[:4] == ["age", "claims", "sex_F", "sex_M"]
    assert {"region", "size", "smoker"} <= set(names[4:])
    used = {name for rule in pipeline[-1].ensemble_.rules for name in rule.features}
    assert used <= set(names)
    assert used & {"age", "region", "smoker"}
    reordered = FRAME[FRAME.columns[::-1]]  # the transformer finds its columns by name
    np.testing.assert_array_equal(pipeline.predict(reordered), pipeline.predict(FRAME))


@BOTH
def test_a_grid_search_over_penalty_and_linear_terms(model, y):
    grid = {"lambda_0": [0.3, 0.003], "linear_terms": [False, True]}
    search = GridSearchCV(clone(model), grid, cv=3).fit(FRAME, y)
    assert search.best_params_["lambda_0"] == 0.003
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = clone(model).set_params(**search.best_params_).fit(FRAME, y)
    assert search.best_estimator_.ensemble_ == best.ensemble_


@BOTH
def test_cross_validation(model, y):
    scores = cross_val_score(clone(model), FRAME, y, cv=4)
    chance = max(y.mean(), 1 - y.mean()) if isinstance(model, RuleClassifier) else 0.0
    assert scores.mean() > chance + 0.1
    with joblib.parallel_config(backend="threading", n_jobs=2):
        threads = cross_val_score(clone(model), FRAME, y, cv=4)
    np.testing.assert_array_equal(threads, scores)


def test_calibration():
    labels = np.array(["no", "yes"])[ZEROS_AND_ONES]
    calibrated = CalibratedClassifierCV(RuleClassifier(lambda_0=LAMBDA_0), cv=3).fit(FRAME, labels)
    probabilities = calibrated.predict_proba(FRAME)
    assert probabilities.shape == (N, 2)
    assert calibrated.score(FRAME, labels) > 0.75


def test_more_than_two_classes_one_against_the_rest():
    classes = np.array(["low", "middle", "high"])[np.digitize(NUMBERS, [31.0, 38.0])]
    X = FRAME[NUMBER_COLUMNS]
    model = OneVsRestClassifier(RuleClassifier(lambda_0=0.003)).fit(X, classes)
    assert model.classes_.tolist() == ["high", "low", "middle"]
    assert model.predict_proba(X).shape == (N, 3)
    assert model.score(X, classes) > 0.4


# ------------------------------------------------------------------------ metadata routing


@BOTH
def test_weights_and_offsets_are_routed(model, y):
    weights = np.random.default_rng(0).integers(1, 4, N).astype(float)
    offset = 0.3 * (FRAME["sex"] == "F").to_numpy(float)
    folds = KFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        requesting = clone(model).set_fit_request(sample_weight=True, offset=True)
        requesting.set_predict_request(offset=True).set_score_request(sample_weight=False)
        result = cross_validate(
            requesting,
            FRAME,
            y,
            cv=folds,
            params={"sample_weight": weights, "offset": offset},
            scoring=lambda fitted, X, y: -1.0,
            return_estimator=True,
        )
    for (train, _), fitted in zip(folds.split(FRAME), result["estimator"], strict=True):
        expected = clone(model).fit(
            FRAME.iloc[train], y[train], sample_weight=weights[train], offset=offset[train]
        )
        assert fitted.ensemble_ == expected.ensemble_


def test_metadata_go_through_a_pipeline_to_fit_and_predict():
    exposure = np.random.default_rng(0).uniform(0.5, 2.0, N)
    weights = np.arange(1.0, N + 1)
    counts = np.random.default_rng(1).poisson(exposure * (1 + FRAME["smoker"]))
    X = FRAME[NUMBER_COLUMNS + ["smoker"]].astype(float)
    plain = RuleRegressor(family="poisson", lambda_0=LAMBDA_0)
    with sklearn.config_context(enable_metadata_routing=True):
        requesting = clone(plain).set_fit_request(sample_weight=True, exposure=True)
        requesting.set_predict_request(exposure=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, requesting)
        pipeline.fit(X, counts, sample_weight=weights, exposure=exposure)
        predicted = pipeline.predict(X, exposure=exposure)
    scaled = StandardScaler().fit_transform(X)
    expected = plain.fit(scaled, counts, sample_weight=weights, exposure=exposure)
    np.testing.assert_array_equal(predicted, expected.predict(scaled, exposure=exposure))


def test_metadata_that_nobody_asked_for_are_refused():
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(ValueError, match=r"\[offset\] are passed but are not explicitly set"),
    ):
        cross_validate(RuleRegressor(), FRAME, NUMBERS, params={"offset": np.zeros(N)})


@BOTH
def test_score_takes_weights(model, y):
    fitted, weights = clone(model).fit(FRAME, y), np.arange(1.0, N + 1)
    predicted = fitted.predict(FRAME)
    expected = (
        np.average(predicted == y, weights=weights)
        if isinstance(model, RuleClassifier)
        else r2_score(y, predicted, sample_weight=weights)
    )
    assert fitted.score(FRAME, y, sample_weight=weights) == pytest.approx(expected)


# -------------------------------------------------------------------------------- memory


@pytest.mark.parametrize("family", ["binomial", "gaussian"])
def test_columns_are_gone_when_rules_are_learned(monkeypatch, family):
    rng = np.random.default_rng(0)
    n_rows, n_columns = 5000, 40
    X = rng.normal(size=(n_rows, n_columns)).tolist()
    y = (rng.random(n_rows) < 0.5).astype(float)
    weights = np.arange(n_rows) % 5 / 4  # a fifth of the rows does not count
    alive = []

    class ReachedError(Exception):
        pass

    def stop(*_, **__):
        alive.append(tracemalloc.get_traced_memory()[0])
        raise ReachedError

    monkeypatch.setattr("ruleglm.fitting.run_column_generation", stop)
    model = RuleClassifier(bins=4) if family == "binomial" else RuleRegressor(bins=4)
    tracemalloc.start()
    try:
        with pytest.raises(ReachedError):
            model.fit(X, y, weights)
    finally:
        tracemalloc.stop()
    codes, vectors = n_columns * n_rows, 4 * 8 * n_rows  # y, weights, and the engine's own two
    assert alive[0] < codes + vectors + 100_000
