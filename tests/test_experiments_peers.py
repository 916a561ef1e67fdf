"""The peers of the study: candidates that belong together, sound predictions, RuleFit's parts."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from experiments import peers
from experiments.peers import PEERS, as_deciles
from experiments.protocol import BINARY, METRICS, REGRESSION, Candidate, Rows, score
from experiments.rulefit import L1Path, RuleColumns, covers, distinct_rules, grow_trees
from sklearn.linear_model import Lasso, LogisticRegression

LIBRARIES = {"LightGBM": "lightgbm", "XGBoost": "xgboost", "EBM": "interpret"}


def make_rows(task, n=160, seed=0):
    """Return rows of a number with gaps, a whole number and words; the last is new in the test."""
    rng = np.random.default_rng(seed)
    age, visits = rng.uniform(20, 80, n), rng.integers(0, 4, n)
    town = rng.choice(["Rome", "Oslo", "Bern"], n).astype(object)
    signal = 0.1 * (age - 50) + 2.0 * (town == "Rome") + visits
    y = signal + rng.normal(0, 0.5, n)
    if task == BINARY:
        y = (y > np.median(y)).astype(int)
    age[::9], town[5::11], town[-1] = np.nan, None, "Kyiv"
    frame = pd.DataFrame({"age [years]": age, "visits": visits, "town": town})
    train = n * 2 // 3
    return Rows(task, frame[:train], y[:train], frame[train:], y[train:], seed)


@pytest.fixture
def small_grids(monkeypatch):
    """Let methods try less, so that their tests are quick."""
    monkeypatch.setattr(peers, "RULEFIT_TREE_SIZES", (2, 4))
    monkeypatch.setattr("experiments.rulefit.MAX_LEAVES", 200)
    monkeypatch.setattr(peers, "GBT_DEPTHS", (2, 3))
    monkeypatch.setattr(peers, "SVM_COSTS", (1.0,))
    monkeypatch.setattr(peers, "BOOSTING_TREES", (10, 40))
    monkeypatch.setattr(peers, "EBM_MANY_CELLS", 0)
    monkeypatch.setattr(peers, "EBM_FEW_BAGS", 1)


@pytest.mark.parametrize("task", [BINARY, REGRESSION])
@pytest.mark.parametrize("name", PEERS)
def test_candidates_of_folds_belong_together_and_beat_the_mean(name, task, small_grids):
    library = LIBRARIES.get(name)
    if library and find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    rows = make_rows(task)
    candidates, others = PEERS[name](rows), PEERS[name](make_rows(task, n=120, seed=1))
    settings = {"tree_size", "max_depth", "learning_rate", "num_leaves"}
    settings |= {"trees"} if name != "GBT" else set()
    grid, other_grid = (
        [(one.point, *(one.parameters.get(key) for key in settings)) for one in fold]
        for fold in (candidates, others)
    )
    assert grid == other_grid
    for candidate in candidates:
        assert candidate.predictions.shape == rows.y_test.shape
        assert np.isfinite(candidate.predictions).all()
        if task == BINARY:
            assert candidate.predictions.min() >= 0
            assert candidate.predictions.max() <= 1
    constant = Candidate({}, np.full(len(rows.y_test), rows.y_train.mean()))
    metric = METRICS[task][0]
    sign = -1 if metric == "brier" else 1
    best = max(sign * score(metric, rows.y_test, candidate) for candidate in candidates)
    floor = sign * score(metric, rows.y_test, constant)
    ceiling = 0.0 if metric == "brier" else 1.0
    assert best > floor + 0.3 * (ceiling - floor)


@pytest.mark.parametrize("name", ["LightGBM", "XGBoost"])
def test_stages_count_leaves_and_their_depths(name, small_grids):
    if find_spec(LIBRARIES[name]) is None:
        pytest.skip(f"{LIBRARIES[name]} is not installed")
    for candidate in PEERS[name](make_rows(BINARY, n=400)):
        parameters = candidate.parameters
        most = parameters.get("num_leaves") or 2 ** parameters["max_depth"]
        assert 2 * parameters["trees"] <= candidate.rules <= most * parameters["trees"]
        assert 1.2 * candidate.rules <= candidate.complexity <= 3 * candidate.rules
        if name == "XGBoost" and candidate.rules == 4 * parameters["trees"]:  # full trees
            assert candidate.complexity == pytest.approx(1.4 * candidate.rules)


def test_deciles_are_those_of_the_training_rows():
    frame = pd.DataFrame({"x": [*range(1, 101), np.nan], "word": ["a"] * 100 + [None]})
    test = pd.DataFrame(
        {"x": [-5.0, 10.9, 11.0, 500.0, np.nan], "word": ["a", "b", None, "a", "a"]}
    )
    rows = Rows(REGRESSION, frame, np.zeros(101), test, np.zeros(5))
    train_bins, test_bins = as_deciles(rows)
    assert np.unique(train_bins[:100, 0], return_counts=True)[1].tolist() == [10] * 10
    np.testing.assert_array_equal(test_bins[:, 0], [0, 0, 1, 9, np.nan])
    np.testing.assert_array_equal(test_bins[:, 1], [1, 0, 0, 1, 1])
    np.testing.assert_array_equal(train_bins[-1], [np.nan, 0])


def test_rules_are_the_nodes_of_the_trees():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, (300, 3)).astype(np.float32)
    y = X[:, 0] * (X[:, 1] > 4) + rng.normal(size=300)
    trees = grow_trees(X, y, REGRESSION, 6, 0)[:20]
    rules = distinct_rules(trees, X)
    found = {covers(rule, X).tobytes() for rule in rules}
    assert len(found) == len(rules)
    nodes = {
        column.astype(bool).tobytes()
        for tree in trees
        for column in tree.decision_path(X).toarray().T[1:]
        if 0 < column.sum() < len(X)
    }
    opposites = {(~np.frombuffer(rows, bool)).tobytes() for rows in found}
    assert found <= nodes <= found | opposites
    assert not found & opposites


def test_linear_terms_are_winsorised_and_scaled():
    X = np.arange(1000, dtype=np.float32)[:, None]
    columns = RuleColumns([{(0, True): 9.5}, {(0, True): 20.0, (0, False): 9.5}], [0]).fit(X)
    matrix = columns.transform(X)
    assert columns.weights.tolist() == [1.2, 1.4, 1.0]
    assert matrix[:, 0].sum() == 10
    assert matrix[:, 1].sum() == 11
    assert matrix[:, 2].std() == pytest.approx(0.4, rel=1e-4)
    assert matrix[0, 2] == matrix[24, 2] < matrix[26, 2]


@pytest.mark.parametrize("task", [BINARY, REGRESSION])
def test_path_has_the_optima_of_scikit_learn(task):
    rng = np.random.default_rng(0)
    X = (rng.random((200, 30)) < rng.uniform(0.1, 0.9, 30)).astype(float)
    scores = X[:, :4] @ [2.0, -1.0, 1.0, 1.0] - 1
    y = scores + rng.normal(size=200)
    if task == BINARY:
        y = (y > 0).astype(float)
    path = L1Path(task, n_penalties=6, ratio=0.01, tolerance=1e-5).fit(X, y)
    assert not path.coefficients[0, 1:].any()
    assert path.coefficients[1, 1:].any()
    for penalty, row in zip(path.penalties[1:], path.coefficients[1:], strict=True):
        if task == BINARY:
            reference = LogisticRegression(
                C=1 / (penalty * 200), l1_ratio=1.0, solver="saga", tol=1e-8, max_iter=100_000
            ).fit(X, y)
        else:
            reference = Lasso(alpha=penalty, tol=1e-10).fit(X, y)
        np.testing.assert_allclose(row[0], reference.intercept_, atol=1e-3)
        np.testing.assert_allclose(row[1:], reference.coef_.ravel(), atol=1e-3)


def test_path_ends_where_all_is_explained():
    X = np.eye(4).repeat(10, axis=0)
    y = np.arange(4.0).repeat(10)
    path = L1Path(REGRESSION, n_penalties=30, ratio=1e-6, enough=0.99).fit(X, y)
    np.testing.assert_array_equal(path.coefficients[-1], path.coefficients[-2])
    assert np.mean((path.predict(X)[-1] - y) ** 2) < 0.01 * y.var()


def test_path_ends_with_too_many_terms():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 40)), rng.normal(size=100)
    path = L1Path(REGRESSION, max_terms=5).fit(X, y)
    n_terms = np.count_nonzero(path.coefficients[:, 1:], axis=1)
    assert 5 < n_terms[-1] < 30
    assert sum(n > 5 for n in np.unique(n_terms)) == 1


def test_svm_is_tuned_for_each_metric(monkeypatch):
    rows = make_rows(BINARY)
    monkeypatch.setattr(peers, "SVM_COSTS", (1.0, 10.0))
    monkeypatch.setattr(peers, "SVM_WIDTHS", (1.0,))

    def held_out(small, cost, gamma):
        y = small.y_train
        timid = np.where(y == 1, 0.51, 0.49)  # right, but hardly so
        bold = np.where(np.arange(len(y)) < 3, 1.0 - y, y)  # certain, and thrice wrong
        return Candidate({}, timid if cost == 1.0 else bold)

    monkeypatch.setattr(peers, "svm_held_out", held_out)
    (candidate,) = peers.svm(rows)
    assert candidate.parameters["C_accuracy"] == 1.0
    assert candidate.parameters["C_brier"] == 10.0
    assert candidate.labels.mean() == pytest.approx(0.5, abs=0.2)
