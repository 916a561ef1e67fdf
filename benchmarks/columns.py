"""Time of fits by the number of columns, beside LightGBM.

    python -m benchmarks.columns [--rows 500] [--columns 100 300 1000 3000] [--threads 2]

Columns are normal numbers, of which seven matter: a target of two classes or (from 5,000 rows on) a
number is the sum of a line, three interactions of two columns, one of them without an effect of
either alone, and noise. "path s" is one pursuit to complexity 60, "choice s" one with five folds,
both by default settings. The figure is the share of the variance of the mean on 10,000 other rows
that a model explains, of the choice and of LightGBM's default.
"""

import argparse

import numpy as np

from benchmarks.column_generation import limit_threads, print_row
from benchmarks.peers import timed

MANY = 5_000
"""Rows from which on the target is a number."""


def make_rows(n_rows, n_columns, seed):
    """Return rows and the mean of a target, on the scale of log-odds."""
    X = np.random.default_rng(seed).normal(size=(n_rows, n_columns))
    above = X[:, :7] > 0.0
    eta = X[:, 2] + 2.0 * (above[:, 0] & above[:, 1]) + 3.0 * (above[:, 3] & ~above[:, 4])
    return X, eta + 1.5 * (above[:, 5] ^ above[:, 6]) - 2.0


def draw_target(eta, number, seed):
    rng = np.random.default_rng(seed)
    if number:
        return eta + rng.normal(size=len(eta))
    return (rng.random(len(eta)) < 1.0 / (1.0 + np.exp(-eta))).astype(int)


def measure(n_rows, n_columns, threads):
    import lightgbm

    import ruleglm

    number = n_rows >= MANY
    kind = "Regressor" if number else "Classifier"
    X, eta = make_rows(n_rows, n_columns, 0)
    X_test, truth = make_rows(10_000, n_columns, 1)
    y, mean = draw_target(eta, number, 2), truth if number else 1.0 / (1.0 + np.exp(-truth))

    def explained(model):
        found = model.predict(X_test) if number else model.predict_proba(X_test)[:, 1]
        return 1.0 - float(((found - mean) ** 2).mean() / mean.var())

    path = getattr(ruleglm, f"Rule{kind}")(penalty="l0", max_complexity=60, n_jobs=threads)
    choice = getattr(ruleglm, f"Rule{kind}CV")(max_complexity=60, n_jobs=threads)
    peer = getattr(lightgbm, f"LGBM{kind}")(n_jobs=threads, verbose=-1, random_state=0)
    path_seconds, _ = timed(path.fit, X, y)
    seconds, _ = timed(choice.fit, X, y)
    peer_seconds, _ = timed(peer.fit, X, y)
    times = [f"{each:.2f}" for each in (path_seconds, seconds, peer_seconds)]
    return [n_columns, *times, *(f"{explained(model):.3f}" for model in (choice, peer))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--columns", type=int, nargs="+", default=[100, 300, 1000, 3000])
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    limit_threads(options.threads)
    measure(200, 7, options.threads)  # compiles
    print(f"{options.rows} rows, {options.threads} threads")
    print_row("columns", "path s", "choice s", "LightGBM s", "explained", "LightGBM")
    for n_columns in options.columns:
        print_row(*measure(options.rows, n_columns, options.threads))


if __name__ == "__main__":
    main()
