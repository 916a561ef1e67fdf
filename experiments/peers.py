"""The paper's peers (RuleFit, gradient boosted trees, SVM) and today's (LightGBM, XGBoost, EBM).

Each is a :data:`~experiments.protocol.Method` with one thread. RuleFit and GBT see deciles, as in
the paper; RuleFitN and SVM see numbers, the last three the columns as they are. Complexity is that
of leaves or rules written down one by one, ``1 + 0.2 * conditions`` each.
"""

import warnings
from functools import wraps
from itertools import accumulate, product

import numpy as np
from benchmarks.peers import DEGREE_WEIGHT, as_categories, as_numbers, hgb_complexity
from threadpoolctl import threadpool_limits

from experiments.protocol import BINARY, METRICS, Candidate, Method, Rows, score
from experiments.rulefit import L1Path, RuleColumns, distinct_rules, grow_trees

RULEFIT_ROWS = 10_000
RULEFIT_TREE_SIZES = (2, 4, 8)
GBT_DEPTHS = (2, 3, 4, 6)
GBT_TREES = 500
SVM_TUNING_ROWS, SVM_ROWS = 2_500, 5_000
SVM_COSTS = (0.1, 1.0, 10.0, 100.0)
SVM_WIDTHS = (0.1, 0.3, 1.0, 3.0)
"""Gamma times the number of columns."""
SVM_FOLDS = 3
BOOSTING_RATES = (0.03, 0.1)
BOOSTING_TREES = (25, 50, 100, 200, 400, 800)
LIGHTGBM_LEAVES = (4, 10, 31)
XGBOOST_DEPTHS = (2, 4, 6)
EBM_MANY_CELLS, EBM_FEW_BAGS = 20_000, 4
EBM_ROUNDS = 5_000
"""A tenth of its own limit; where classes are separable it still gains there."""


def quietly_on_one_thread(method: Method) -> Method:
    """Keep a method to one thread and its libraries' warnings to themselves."""

    @wraps(method)
    def run(rows: Rows) -> list[Candidate]:
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            return method(rows)

    return run


def as_deciles(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows with numbers as the index of their decile, levels one-hot.

    Missing numbers stay missing. Deciles are those of the training rows: ``x <= decile``.
    """
    import pandas as pd

    train, test = as_categories(rows)
    parts = []
    for name in train.columns:
        if isinstance(train[name].dtype, pd.CategoricalDtype):
            levels = np.asarray(train[name].dropna().unique(), object)
            parts.append([one_hot(part[name], levels) for part in (train, test)])
        else:
            numbers = [part[name].to_numpy(float) for part in (train, test)]
            known = numbers[0][~np.isnan(numbers[0])]
            deciles = np.unique(np.quantile(known, np.arange(1, 10) / 10)) if len(known) else []
            parts.append([bin_index(part, deciles)[:, None] for part in numbers])
    left, right = zip(*parts, strict=True)
    return np.hstack(left), np.hstack(right)


def one_hot(values, levels: np.ndarray) -> np.ndarray:
    """Return a column for each level; missing and new values have none."""
    return (np.asarray(values, object)[:, None] == levels).astype(float)


def bin_index(numbers: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return how many thresholds are below each number; missing numbers stay missing."""
    return np.where(np.isnan(numbers), np.nan, np.searchsorted(thresholds, numbers))


def fill_missing(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows with medians for missing values and a column that tells them, where needed."""
    from sklearn.impute import SimpleImputer

    imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return imputer.fit_transform(train), imputer.transform(test)


def sample(rows: Rows, n_rows: int) -> np.ndarray:
    """Return the positions of at most so many training rows, drawn without replacement."""
    n = len(rows.y_train)
    order = np.random.default_rng(rows.seed).permutation(n)
    return np.sort(order[: min(n, n_rows)])


@quietly_on_one_thread
def rulefit(rows: Rows) -> list[Candidate]:
    """RuleFit on deciles, rules only."""
    return rulefit_path(rows, *fill_missing(*as_deciles(rows)), linear=[])


@quietly_on_one_thread
def rulefit_numbers(rows: Rows) -> list[Candidate]:
    """RuleFit on numbers, with linear terms of those that are numbers in the data."""
    train, test = as_numbers(rows)
    n_numbers = as_categories(rows)[0].select_dtypes("number").shape[1]
    return rulefit_path(rows, train, test, linear=list(range(n_numbers)))


def rulefit_path(rows: Rows, train: np.ndarray, test: np.ndarray, linear: list) -> list[Candidate]:
    """Return a model for each mean tree size and penalty."""
    chosen = sample(rows, RULEFIT_ROWS)
    X, y = np.ascontiguousarray(train[chosen], np.float32), rows.y_train[chosen]
    test = test.astype(np.float32)
    candidates = []
    for tree_size in RULEFIT_TREE_SIZES:
        trees = grow_trees(X, y, rows.task, tree_size, rows.seed)
        columns = RuleColumns(distinct_rules(trees, X), linear).fit(X)
        path = L1Path(rows.task).fit(columns.transform(X), y)
        predictions = path.predict(columns.transform(test))
        active = path.coefficients[:, 1:] != 0
        candidates += [
            Candidate(
                {"tree_size": tree_size, "penalty": float(penalty), "rows": len(chosen)},
                prediction,
                complexity=float(columns.weights[terms].sum()),
                rules=int(terms.sum()),
                point=float(place),
            )
            for place, (penalty, prediction, terms) in enumerate(
                zip(path.penalties, predictions, active, strict=True)
            )
        ]
    return candidates


@quietly_on_one_thread
def gbt(rows: Rows) -> list[Candidate]:
    """Gradient boosted trees on deciles, until a fifth of the training rows gains no more.

    They are scikit-learn's histogram trees: with ten bins a column these have the same thresholds
    to choose from as exact trees, which take many times as long.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if rows.task == BINARY else HistGradientBoostingRegressor
    train, test = as_deciles(rows)
    candidates = []
    for depth in GBT_DEPTHS:
        model = kind(
            max_iter=GBT_TREES,
            max_depth=depth,
            max_leaf_nodes=None,
            early_stopping=True,
            validation_fraction=0.2,
            random_state=rows.seed,
        ).fit(train, rows.y_train)
        parameters = {"max_depth": depth, "trees": int(model.n_iter_)}
        candidates.append(
            Candidate(
                *(parameters, predict(model, test, rows.task)),
                complexity=hgb_complexity(model),
                rules=sum(tree.get_n_leaf_nodes() for (tree,) in model._predictors),
            )
        )
    return candidates


def predict(model, test, task: str) -> np.ndarray:
    """Return probabilities of class 1, or means."""
    return model.predict_proba(test)[:, 1] if task == BINARY else model.predict(test)


@quietly_on_one_thread
def svm(rows: Rows) -> list[Candidate]:
    """Support vectors with an RBF kernel, tuned by itself on a sample of the training rows.

    Scores of held-out rows become probabilities by Platt scaling, while tuning and at last. Classes
    are those of the settings with the best accuracy, whose probabilities may not be the best.
    """
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler()
    train, test = as_numbers(rows)
    train, test = scaler.fit_transform(train), scaler.transform(test)
    chosen = sample(rows, SVM_TUNING_ROWS)
    small = Rows(rows.task, train[chosen], rows.y_train[chosen], None, None, rows.seed)
    grid = [(cost, width / train.shape[1]) for cost, width in product(SVM_COSTS, SVM_WIDTHS)]
    tried = [svm_held_out(small, *cell) for cell in grid]
    chosen = sample(rows, SVM_ROWS)
    parameters, predictions = {"rows": len(chosen)}, {}
    for metric in METRICS[rows.task]:
        scores = [score(metric, small.y_train, candidate) for candidate in tried]
        cost, gamma = grid[int(np.argmin(scores) if metric == "brier" else np.argmax(scores))]
        parameters |= {f"C_{metric}": cost, f"gamma_{metric}": gamma}
        model = svm_model(rows.task, cost, gamma, rows.seed)
        model.fit(train[chosen], rows.y_train[chosen])
        predictions[metric] = predict(model, test, rows.task)
    labels = predictions["accuracy"] > 0.5 if rows.task == BINARY else None
    return [Candidate(parameters, predictions[METRICS[rows.task][0]], labels=labels)]


def svm_model(task: str, cost: float, gamma: float, seed: int):
    """Return an SVM whose scores are calibrated by cross-validation, or of a scaled target."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    if task == BINARY:
        folds = svm_folds(task, seed)
        return CalibratedClassifierCV(SVC(C=cost, gamma=gamma), cv=folds, ensemble=False)
    return TransformedTargetRegressor(SVR(C=cost, gamma=gamma), transformer=StandardScaler())


def svm_folds(task: str, seed: int):
    """Return the folds that give held-out scores."""
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = StratifiedKFold if task == BINARY else KFold
    return kind(SVM_FOLDS, shuffle=True, random_state=seed)


def svm_held_out(rows: Rows, cost: float, gamma: float) -> Candidate:
    """Return predictions of the training rows from folds that do not hold them."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.svm import SVC

    X, y, folds = rows.X_train, rows.y_train, svm_folds(rows.task, rows.seed)
    if rows.task != BINARY:
        model = svm_model(rows.task, cost, gamma, rows.seed)
        return Candidate({}, cross_val_predict(model, X, y, cv=folds))
    margins = cross_val_predict(
        SVC(C=cost, gamma=gamma), X, y, cv=folds, method="decision_function"
    )[:, None]
    return Candidate({}, predict(LogisticRegression(C=1e6).fit(margins, y), margins, BINARY))


@quietly_on_one_thread
def lightgbm(rows: Rows) -> list[Candidate]:
    """LightGBM by learning rate, leaves and number of trees."""
    import lightgbm as library

    kind = library.LGBMClassifier if rows.task == BINARY else library.LGBMRegressor
    train, test = as_categories(rows)
    candidates = []
    for rate, leaves in product(BOOSTING_RATES, LIGHTGBM_LEAVES):
        model = kind(
            n_estimators=BOOSTING_TREES[-1],
            learning_rate=rate,
            num_leaves=leaves,
            deterministic=True,
            force_row_wise=True,
            n_jobs=1,
            verbose=-1,
            random_state=rows.seed,
        ).fit(train, rows.y_train)
        trees = model.booster_.dump_model()["tree_info"]
        leaf_depths = [depths_below(tree["tree_structure"]) for tree in trees]
        candidates += staged(
            *({"learning_rate": rate, "num_leaves": leaves}, leaf_depths),
            lambda n, model=model: model.booster_.predict(test, num_iteration=n),
        )
    return candidates


def depths_below(node: dict, depth: int = 0) -> list[int]:
    """Return the depths of the leaves of one of LightGBM's trees."""
    if "left_child" not in node:
        return [depth]
    return [
        *depths_below(node["left_child"], depth + 1),
        *depths_below(node["right_child"], depth + 1),
    ]


def staged(parameters: dict, leaf_depths: list, predict_first) -> list[Candidate]:
    """Return a candidate for each number of trees out of the first of one model.

    A library that stops before, as no split gains, repeats its last model.
    """
    leaves = [0, *accumulate(map(len, leaf_depths))]
    weights = [0.0, *accumulate(sum(1 + DEGREE_WEIGHT * d for d in tree) for tree in leaf_depths)]
    return [
        Candidate(
            *({**parameters, "trees": n}, np.asarray(predict_first(n), float)),
            complexity=weights[min(n, len(leaf_depths))],
            rules=leaves[min(n, len(leaf_depths))],
        )
        for n in BOOSTING_TREES
    ]


@quietly_on_one_thread
def xgboost(rows: Rows) -> list[Candidate]:
    """XGBoost by learning rate, depth and number of trees."""
    import xgboost as library

    kind = library.XGBClassifier if rows.task == BINARY else library.XGBRegressor
    train, test = as_categories(rows)
    candidates = []
    for rate, depth in product(BOOSTING_RATES, XGBOOST_DEPTHS):
        model = kind(
            n_estimators=BOOSTING_TREES[-1],
            learning_rate=rate,
            max_depth=depth,
            tree_method="hist",
            enable_categorical=True,
            n_jobs=1,
            random_state=rows.seed,
        ).fit(train, rows.y_train)
        booster, matrix = model.get_booster(), library.DMatrix(test, enable_categorical=True)
        leaf_depths = [
            [line.count("\t") for line in tree.splitlines() if "leaf=" in line]
            for tree in booster.get_dump()
        ]
        candidates += staged(
            *({"learning_rate": rate, "max_depth": depth}, leaf_depths),
            lambda n, booster=booster, matrix=matrix: booster.predict(
                matrix, iteration_range=(0, n)
            ),
        )
    return candidates


@quietly_on_one_thread
def ebm(rows: Rows) -> list[Candidate]:
    """InterpretML's explainable boosting machine; fewer rounds, fewer bags of many cells."""
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    kind = ExplainableBoostingClassifier if rows.task == BINARY else ExplainableBoostingRegressor
    many = rows.X_train.size > EBM_MANY_CELLS
    limits = {"max_rounds": EBM_ROUNDS, **({"outer_bags": EBM_FEW_BAGS} if many else {})}
    train, test = as_categories(rows)
    model = kind(n_jobs=1, random_state=rows.seed, **limits).fit(train, rows.y_train)
    parameters = {"outer_bags": model.outer_bags, "max_rounds": EBM_ROUNDS}
    return [Candidate(parameters, predict(model, test, rows.task), rules=len(model.term_names_))]


PEERS: dict[str, Method] = {
    "RuleFit": rulefit,
    "RuleFitN": rulefit_numbers,
    "GBT": gbt,
    "SVM": svm,
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "EBM": ebm,
}
