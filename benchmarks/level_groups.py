"""Whether groups of levels, ``job in {...}``, would pay as conditions of unordered categories.

    python -m benchmarks.level_groups --data FOLDER [--only adult ...] [--folds 3]

FOLDER holds one gzip'd CSV a data set, the target last and named ``target``. The levels of each
category with three or more are put in the order of their smoothed target means on the training
rows (Fisher 1958), and the order is given to a pursuit as a second column, so that ``<=`` and ``>``
are groups of levels beside ``=`` and ``!=``. Scores are those on held-out rows: the Brier score, or
R2 for regressions.

today     ``=`` and ``!=``, as in the library
groups    with groups, each of degree 1: what they could give if long lists cost nothing
counted   the same paths, but a group counts as many conditions as the shorter of its two
          lists (``in``, ``not in``) has levels, so that a budget takes an earlier model
priced    a group has that degree in the search too
numbers   for categories that are numbers in truth (bike's hours and months): given as such
"""

import argparse
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.column_generation import limit_threads, read_frame
from benchmarks.datasets import BINARY, REGRESSION, SETS, Fold

BUDGETS = (15, 30, 60)
COPY = "groups of "
SMOOTHING = 10.0
"""Rows at the mean that are added to each level, so that rare ones keep to the middle."""

LONGEST = 24
"""Largest degree of a rule where levels are counted in the search: lists may be long."""

AS_CATEGORIES = {"bike": ("season", "mnth", "hr", "weekday", "weathersit")}
TASKS = {
    **{name: SETS[name] for name in ("adult", "bank-mkt", "bike")},
    "mushroom": BINARY,
    "grouped": BINARY,
    "scattered": BINARY,
}


def make_sites(spread, n_rows=20000, n_sites=100):
    """Return rows with a category of 100 levels whose frequencies fall as Zipf's law has it.

    The sites are of four hidden kinds, one of which changes the slope of a number; around the
    effect of its kind each site has one of its own, of standard deviation ``spread``.
    """
    import numpy as np
    import pandas as pd

    random = np.random.default_rng(0)
    shares = 1.0 / np.arange(3, n_sites + 3)
    site = random.choice(n_sites, n_rows, p=shares / shares.sum())
    kind = random.choice(4, n_sites, p=[0.45, 0.3, 0.15, 0.1])
    own = random.normal(0.0, spread, n_sites)
    age, income = random.uniform(18, 80, n_rows), random.lognormal(10, 0.6, n_rows)
    channel = random.choice(["web", "shop", "phone", "agent", "mail"], n_rows)
    effect = np.array([-0.8, 0.0, 0.9, 1.6])[kind] + own
    eta = effect[site] - 1.0 + 0.6 * (age > 45) + 0.4 * np.log(income / 22000)
    eta += 0.5 * np.isin(channel, ["web", "agent"]) + 0.02 * (age - 49) * (kind[site] == 2)
    y = (random.uniform(size=n_rows) < 1.0 / (1.0 + np.exp(-eta))).astype(float)
    names = np.array([f"site {k:02d}" for k in random.permutation(n_sites)])
    frame = {"site": names[site], "channel": channel, "age": age.round(), "income": income.round()}
    noise = {f"noise {k}": random.normal(size=n_rows).round(2) for k in range(4)}
    return pd.DataFrame({**frame, **noise}), y


def read_set(folder, name):
    """Return frame and target; some number codes become categories."""
    if name in ("grouped", "scattered"):
        return make_sites(0.1 if name == "grouped" else 0.7)
    frame, y = read_frame(folder, name)
    categories = dict.fromkeys(AS_CATEGORIES.get(name, ()), "category")
    return frame.astype(categories), y


def read_folds(options, name):
    """Yield the folds of a set, shuffled with a fixed seed."""
    from sklearn.model_selection import KFold, StratifiedKFold

    frame, y = read_set(options.data, name)
    kind = KFold if TASKS[name] == REGRESSION else StratifiedKFold
    splits = kind(options.folds, shuffle=True, random_state=0).split(frame, y)
    for number, (train, test) in enumerate(splits):
        rows = frame.iloc[train], y[train], frame.iloc[test], y[test]
        yield Fold(name, TASKS[name], number, *rows)


def add_orders(fold):
    """Return the fold with an ordered copy of each category of three levels or more."""
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    train, test = fold.X_train.copy(), fold.X_test.copy()
    mean = fold.y_train.mean()
    for name in fold.X_train.columns:
        column = fold.X_train[name]
        if is_numeric_dtype(column) or column.nunique() < 3:
            continue
        sums = pd.Series(fold.y_train, column.index).groupby(column, observed=True)
        means = (sums.sum() + SMOOTHING * mean) / (sums.count() + SMOOTHING)
        order = means.sort_values(kind="stable").index.tolist()
        for frame in (train, test):
            known = frame[name].where(frame[name].isin(order))
            frame[COPY + name] = pd.Categorical(known, categories=order, ordered=True)
    return replace(fold, X_train=train, X_test=test)


@contextmanager
def group_degrees(bins):
    """Let the search count the levels of groups for a while; ``bins`` is the class of orders."""

    def degree(self, mask):
        return count_levels(self, mask)

    bins.degree = degree
    try:
        yield
    finally:
        del bins.degree


def count_levels(bins, mask):
    """Return how many levels the shorter list of a condition has; on other columns its degree."""
    condition = bins.condition(mask)
    if not bins.name.startswith(COPY) or mask in (bins.present_mask, 1 << bins.missing_bin):
        return condition.degree
    inside = (mask & ~(1 << len(bins.order))).bit_count()
    return max(1, min(inside, len(bins.order) - inside))


class Paths:
    """The models of a pursuit on a fold, one for each budget."""

    def __init__(self, fold, **settings):
        import ruleglm
        from ruleglm.fitting import Refitter, pursue
        from ruleglm.pricing import Limits

        kind = ruleglm.RuleClassifier if fold.task == BINARY else ruleglm.RuleRegressor
        self.fold = fold
        given = {"penalty": "l0", "bins": "auto", "linear_terms": True, **settings}
        self.model = kind(max_complexity=1.1 * max(BUDGETS), **given)
        self.model._validate_params()
        limits = Limits.after(None)
        self.rows = self.model._prepare(limits, fold.X_train, fold.y_train, None, None, None)
        self.found = pursue(self.rows, self.model._settings(), limits)
        self.refitter = Refitter(self.rows, 1)

    def complexity(self, model):
        """Return a model's complexity with the levels of groups counted."""
        features = self.rows.units.binning.features
        counts = [count_levels(features[f], mask) for rule in model.rules for f, mask in rule]
        return len(model.rules) + len(model.linear) + 0.2 * sum(counts)

    def scores(self, *, counted):
        """Return the score of the largest model inside each budget."""
        from ruleglm.fitting import DEFAULT_RIDGE, shrink

        values = []
        for budget in BUDGETS:
            size = self.complexity if counted else lambda model: model.complexity
            largest = [model for model in self.found if size(model) <= budget + 1e-9][-1]
            path_model = shrink(self.rows, self.refitter, largest, (DEFAULT_RIDGE,))
            self.model._hold(path_model, 0, self.rows.units)
            values.append(self.fold.score(self.model))
        return values


def run_fold(fold):
    """Return the scores of each way to count at each budget."""
    from ruleglm.bins import OrderedBins

    found = {"today": Paths(fold).scores(counted=False)}
    both = add_orders(fold)
    paths = Paths(both)
    found["groups"] = paths.scores(counted=False)
    found["counted"] = paths.scores(counted=True)
    with group_degrees(OrderedBins):
        found["priced"] = Paths(both, max_degree=LONGEST).scores(counted=True)
    codes = dict.fromkeys(AS_CATEGORIES.get(fold.name, ()), int)
    if codes:
        frames = fold.X_train.astype(codes), fold.X_test.astype(codes)
        numbers = replace(fold, X_train=frames[0], X_test=frames[1])
        found["numbers"] = Paths(numbers).scores(counted=False)
    return found


def main():
    """Print the mean scores of each set, and in how many folds each is better than today's."""
    import numpy as np

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="+", default=list(TASKS), choices=TASKS, metavar="NAME")
    parser.add_argument("--folds", type=int, default=3, help="parts of the rows (3)")
    options = parser.parse_args()
    limit_threads(1)
    for name in options.only:
        table = [run_fold(fold) for fold in read_folds(options, name)]
        kind = "Brier" if TASKS[name] == BINARY else "R2"
        print(f"{name}, {kind} at complexity {BUDGETS}; folds better than today", flush=True)
        today = np.array([found["today"] for found in table])
        for label in table[0]:
            scores = np.array([found[label] for found in table])
            gains = today - scores if TASKS[name] == BINARY else scores - today
            means = "  ".join(f"{value:.4f}" for value in scores.mean(axis=0))
            print(f"{label:>9}  {means}   {(gains > 0).sum(axis=0).tolist()}", flush=True)


if __name__ == "__main__":
    main()
