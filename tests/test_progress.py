"""Callbacks, progress on standard error and warm starts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from ruleglm import FitProgress, RuleClassifier, RuleClassifierCV, RuleRegressor, RuleRegressorCV
from tests.data import mixed_frame, target_of

FRAME = mixed_frame(300)
NUMBERS = target_of("gaussian", FRAME)
CLASSES = target_of("binomial", FRAME)
SMALL = {"max_complexity": 8, "cv": 2, "bins": 8, "n_lambdas": 5}


class Recorder:
    """Keeps what it is told, and stops at a number of reports of a stage."""

    def __init__(self, stage="", most=10**9):
        self.stage, self.most, self.told = stage, most, []

    def __call__(self, told):
        self.told.append(told)
        return told.stage == self.stage and told.number >= self.most


# ----------------------------------------------------------------------------------- callbacks


def test_a_round_is_told_as_the_trace_has_it():
    recorder = Recorder()
    model = RuleRegressor(lambda_0=0.02, callback=recorder).fit(FRAME, NUMBERS)
    assert all(isinstance(told, FitProgress) and told.stage == "fit" for told in recorder.told)
    assert [told.number for told in recorder.told] == list(range(1, model.n_iter_ + 1))
    assert_allclose([told.objective for told in recorder.told], model.trace_["objective"])
    assert_allclose([told.gap for told in recorder.told], model.trace_["gap"])
    assert recorder.told[-1].n_terms == len(model.rules_)
    assert recorder.told[-1].complexity == pytest.approx(model.complexity_)
    assert np.all(np.diff([told.seconds for told in recorder.told]) >= 0)


@pytest.mark.parametrize("penalty", ["l1", "l0"])
def test_a_callback_stops_a_fit_with_the_model_so_far(penalty):
    recorder = Recorder("fit", 2)
    parameters = {"penalty": penalty, "lambda_0": 0.01, "max_complexity": 15}
    model = RuleRegressor(callback=recorder, **parameters).fit(FRAME, NUMBERS)
    assert len(recorder.told) == 2
    whole = RuleRegressor(**parameters).fit(FRAME, NUMBERS)
    assert 0 < len(model.rules_) < len(whole.rules_)
    assert_allclose(model.predict(FRAME), model.ensemble_.predict(FRAME))
    assert not model.certified_


def test_what_is_not_true_stops_nothing():
    model = RuleRegressor(lambda_0=0.02, callback=lambda told: told.number).fit(FRAME, NUMBERS)
    assert model.certified_


def test_an_error_of_the_callback_is_the_users():
    def fail(told):
        raise RuntimeError(f"seen {told.number}")

    with pytest.raises(RuntimeError, match="seen 1"):
        RuleRegressor(callback=fail).fit(FRAME, NUMBERS)


@pytest.mark.parametrize("penalty", ["l1", "l0"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_all_models_of_a_path_and_its_folds_are_told(penalty, n_jobs):
    recorder = Recorder()
    model = RuleRegressorCV(penalty=penalty, callback=recorder, n_jobs=n_jobs, **SMALL)
    model.fit(FRAME, NUMBERS)
    stages = [told.stage for told in recorder.told]
    assert stages == sorted(stages, reverse=True)  # path, then folds
    assert stages.count("path") >= len(model.path_) - 1
    assert stages.count("folds") >= 2 * (len(model.path_) - 2)
    numbers = [told.number for told in recorder.told if told.stage == "folds"]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("penalty", ["l1", "l0"])
def test_a_path_that_is_stopped_is_compared_as_far_as_it_goes(penalty):
    whole = RuleRegressorCV(penalty=penalty, **SMALL).fit(FRAME, NUMBERS)
    recorder = Recorder("path", 2)
    model = RuleRegressorCV(penalty=penalty, callback=recorder, **SMALL).fit(FRAME, NUMBERS)
    assert 1 < len(model.path_) < len(whole.path_)
    assert np.isfinite(model.path_.means()).all()
    assert len(model.path_.scores) == 2


def test_folds_that_are_complete_count_after_a_stop():
    first = Recorder()
    RuleRegressorCV(callback=first, **SMALL).fit(FRAME, NUMBERS)
    n_told = [told.stage for told in first.told].count("folds")
    recorder = Recorder("folds", n_told // 2 + 2)
    model = RuleRegressorCV(callback=recorder, **SMALL).fit(FRAME, NUMBERS)
    assert len(model.path_.scores) == 1
    assert np.isfinite(model.path_.means()).all()


def test_without_a_complete_fold_the_choice_is_by_the_training_rows():
    recorder = Recorder("folds", 1)
    with pytest.warns(UserWarning, match="before a fold was complete"):
        model = RuleClassifierCV(callback=recorder, **SMALL).fit(FRAME, CLASSES)
    assert len(model.path_.scores) == 0
    assert model.best_index_ == len(model.path_) - 1


def test_callbacks_are_parameters_like_others():
    recorder = Recorder()
    copy = clone(RuleRegressor(callback=recorder))
    assert copy.callback is not None
    with pytest.raises(ValueError, match="callback"):
        RuleRegressor(callback=3).fit(FRAME, NUMBERS)


# ------------------------------------------------------------------------------------- verbose


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (RuleRegressor(lambda_0=0.05, verbose=1), ["rounds", "objective", "gap"]),
        (RuleRegressor(penalty="l0", max_complexity=5, verbose=1), ["complexity", "terms"]),
        (RuleRegressorCV(verbose=1, **SMALL), ["path", "folds", "terms"]),
        (RuleRegressorCV(penalty="l1", verbose=1, **SMALL), ["path", "folds"]),
    ],
)
def test_progress_is_shown_on_standard_error(model, words, capsys):
    model.fit(FRAME, NUMBERS)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert all(word in shown.err for word in words)
    clone(model).set_params(verbose=0).fit(FRAME, NUMBERS)
    assert capsys.readouterr().err == ""


# ----------------------------------------------------------------------------------- warm starts


@pytest.mark.parametrize(
    "model",
    [
        RuleRegressor(lambda_0=0.01),
        RuleRegressor(lambda_0=0.01, linear_terms=True, include=["age > 33.25"]),
        RuleClassifier(lambda_0=0.01, debias=False),
    ],
)
def test_a_warm_start_finds_the_same_optimum_in_fewer_rounds(model):
    y = CLASSES if isinstance(model, RuleClassifier) else NUMBERS
    cold = clone(model).fit(FRAME, y)
    warm = clone(model).set_params(warm_start=True).fit(FRAME, y)
    assert warm.n_iter_ == cold.n_iter_ > 4
    warm.fit(FRAME, y)
    assert warm.n_iter_ <= cold.n_iter_ // 2
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-4)
    assert warm.certified_
    assert_allclose(warm.predict(FRAME), cold.predict(FRAME), atol=0.05 * np.ptp(y))


def test_a_smaller_penalty_starts_from_the_larger_one():
    cold = RuleRegressor(lambda_0=0.008).fit(FRAME, NUMBERS)
    warm = RuleRegressor(lambda_0=0.01, warm_start=True).fit(FRAME, NUMBERS)
    warm.set_params(lambda_0=0.008).fit(FRAME, NUMBERS)
    assert warm.n_iter_ < cold.n_iter_
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-4)


def test_a_pursuit_goes_on_from_where_it_was():
    warm = RuleRegressor(penalty="l0", max_complexity=8, warm_start=True).fit(FRAME, NUMBERS)
    first = set(warm.ensemble_.rules)
    recorder = Recorder()
    warm.set_params(max_complexity=12, callback=recorder).fit(FRAME, NUMBERS)
    assert 8 < warm.complexity_ <= 12
    assert len(first & set(warm.ensemble_.rules)) >= len(first) // 2
    assert recorder.told[0].complexity > 8 / 1.2
    cold = RuleRegressor(penalty="l0", max_complexity=12).fit(FRAME, NUMBERS)
    assert warm.score(FRAME, NUMBERS) > cold.score(FRAME, NUMBERS) - 0.03
    warm.set_params(max_complexity=4).fit(FRAME, NUMBERS)
    assert 0 < warm.complexity_ <= 4


def test_rules_that_new_bins_or_wishes_do_not_allow_are_forgotten():
    warm = RuleRegressor(lambda_0=0.02, warm_start=True).fit(FRAME, NUMBERS)
    ban = warm.ensemble_.rules[0]
    warm.set_params(bins=7, exclude=[ban], max_degree=1).fit(FRAME, NUMBERS)
    cold = RuleRegressor(lambda_0=0.02, bins=7, exclude=[ban], max_degree=1).fit(FRAME, NUMBERS)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-4)
    assert ban not in warm.ensemble_.rules
    assert all(rule.degree == 1 for rule in warm.ensemble_.rules)


def test_other_rows_targets_and_columns_are_no_trouble():
    warm = RuleClassifier(lambda_0=0.02, warm_start=True).fit(FRAME, CLASSES)
    warm.fit(FRAME[:150], np.where(CLASSES[:150] > 0, "yes", "no"))
    other = FRAME.rename(columns={"age": "years"})
    warm.fit(other, CLASSES)
    cold = RuleClassifier(lambda_0=0.02).fit(other, CLASSES)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-4)
    numbers = RuleRegressor(lambda_0=0.02, warm_start=True).fit(FRAME, NUMBERS)
    numbers.set_params(family="poisson").fit(FRAME, np.maximum(NUMBERS, 0))
    assert numbers.certified_
