"""More than two classes, and counts: rules beside boosted trees and EBM.

    python -m benchmarks.real_data --data DATASETS

iris, wine recognition and digits come with scikit-learn; gas-partial (six classes) and wine (the
quality as a count) are read from the folder. Scores are of held-out folds: the mean log loss and
the accuracy for classes, half the mean Poisson deviance and R2 for counts. "rules, one a class" is
scikit-learn's one-vs-rest with a pursuit a class and the same complexity in all: rules that share
nothing.
"""

import argparse
import csv
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.column_generation import read_frame
from benchmarks.datasets import Fold
from benchmarks.peers import as_categories, attempt, fit_apart, fit_peer, hgb_complexity

CLASSES, COUNTS = "classes", "counts"
SETS = {
    "iris": CLASSES,
    "wine-recognition": CLASSES,
    "digits": CLASSES,
    "gas-partial": CLASSES,
    "wine": COUNTS,
}
BUNDLED = {"iris": "load_iris", "wine-recognition": "load_wine", "digits": "load_digits"}
BUDGET = 60.0
"""Complexity of the plain pursuits."""

PURSUIT = {"bins": "auto", "linear_terms": True}


@dataclass(frozen=True)
class RealFold(Fold):
    """A fold whose score is a loss; `second` is what people like to read beside it."""

    def score(self, model):
        """Return the log loss, or half the Poisson deviance, of the test rows."""
        from sklearn.metrics import log_loss, mean_poisson_deviance

        if self.task == CLASSES:
            shares = model.predict_proba(self.X_test)
            return float(log_loss(self.y_test, shares, labels=model.classes_))
        mean = np.maximum(model.predict(self.X_test), 1e-3)
        return 0.5 * float(mean_poisson_deviance(self.y_test, mean))

    def second(self, model):
        """Return the accuracy, or R2."""
        from sklearn.metrics import accuracy_score, r2_score

        kind = accuracy_score if self.task == CLASSES else r2_score
        return float(kind(self.y_test, model.predict(self.X_test)))


def read_set(folder, name):
    """Return the columns and the target of a data set."""
    if name in BUNDLED:
        from sklearn import datasets

        X, y = getattr(datasets, BUNDLED[name])(return_X_y=True, as_frame=True)
        return X, y.to_numpy()
    X, y = read_frame(folder, name)
    return X, np.asarray(y, dtype=int)  # EBM would make strings of classes that are floats


def read_folds(folder, name, n_folds):
    """Yield the folds of a data set, shuffled with a fixed seed; classes keep their shares."""
    from sklearn.model_selection import KFold, StratifiedKFold

    X, y = read_set(folder, name)
    kind = StratifiedKFold if SETS[name] == CLASSES else KFold
    for number, (train, test) in enumerate(kind(n_folds, shuffle=True, random_state=0).split(X, y)):
        rows = (X.iloc[train], y[train], X.iloc[test], y[test])
        yield RealFold(name, SETS[name], number, *rows)


# ---------------------------------------------------------------------------------- methods


def fit_rules(fold, n_threads, penalty, cv):
    from ruleglm import RuleClassifier, RuleClassifierCV, RuleRegressor, RuleRegressorCV

    family = {} if fold.task == CLASSES else {"family": "poisson"}
    if cv:
        kind = RuleClassifierCV if fold.task == CLASSES else RuleRegressorCV
        model = kind(penalty=penalty, n_jobs=n_threads, **family)
    else:
        kind = RuleClassifier if fold.task == CLASSES else RuleRegressor
        budget = PURSUIT | {"max_complexity": BUDGET} if penalty == "l0" else {}
        model = kind(penalty=penalty, n_jobs=n_threads, **family, **budget)
    return fit_known(fold, model, lambda fold: (fold.X_train, fold.X_test), ours)


def ours(model):
    return model.complexity_


def fit_one_a_class(fold, n_threads):
    from sklearn.multiclass import OneVsRestClassifier

    from ruleglm import RuleClassifier

    n_classes = len(np.unique(fold.y_train))
    budget = PURSUIT | {"max_complexity": BUDGET / n_classes}
    one = RuleClassifier(penalty="l0", n_jobs=n_threads, **budget)
    sizes = lambda model: sum(one.complexity_ for one in model.estimators_)  # noqa: E731
    return fit_known(
        fold, OneVsRestClassifier(one), lambda fold: (fold.X_train, fold.X_test), sizes
    )


def fit_hgb(fold, n_threads):  # noqa: ARG001 - it takes all the threads of OpenMP
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    model = (
        HistGradientBoostingClassifier(random_state=0)
        if fold.task == CLASSES
        else HistGradientBoostingRegressor(loss="poisson", random_state=0)
    )
    return fit_known(fold, model, as_categories, hgb_complexity)


def fit_ebm(fold, n_threads):
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    model = (
        ExplainableBoostingClassifier(n_jobs=n_threads, random_state=0, interactions=0)
        if fold.task == CLASSES
        else ExplainableBoostingRegressor(
            objective="poisson_deviance", n_jobs=n_threads, random_state=0
        )
    )
    return fit_known(fold, model, as_categories, None)


def fit_known(fold, model, rows, complexity):
    """Fit and score, with the second score as the note."""
    train_test = rows(fold)

    def note(fitted):
        return f"{replace(fold, X_test=train_test[1]).second(fitted):.4f}"

    return fit_peer(fold, model, rows, complexity=complexity, note=note)


METHODS = {
    "rules, CV": partial(fit_rules, penalty="l0", cv=True),
    f"rules, l0 to {BUDGET:g}": partial(fit_rules, penalty="l0", cv=False),
    "rules, l1 at 0.02": partial(fit_rules, penalty="l1", cv=False),
    "rules, one a class": fit_one_a_class,
    "hgb": fit_hgb,
    "ebm": fit_ebm,
}


# ------------------------------------------------------------------------------------ report


def compile_kernels():
    """Fit once, so that no measured fit compiles."""
    from sklearn.datasets import load_iris

    from ruleglm import RuleClassifier, RuleClassifierCV

    X, y = load_iris(return_X_y=True)
    for penalty in ("l1", "l0"):
        RuleClassifier(penalty=penalty).fit(X, y)
        RuleClassifierCV(penalty=penalty, cv=2, max_complexity=5, n_lambdas=3).fit(X, y)


def run(options):
    for name in options.only or SETS:
        folds = list(read_folds(options.data, name, options.folds))[: options.run_folds]
        first = folds[0]
        print(f"\n{name}: {len(first.X_train)} rows x {first.X_train.shape[1]} to train on")
        second = "accuracy" if first.task == CLASSES else "R2"
        print(f"{'':>20} {'loss':>8} {second:>9} {'complexity':>11} {'seconds':>8}  folds")
        for method in options.methods:
            fit = METHODS[method]
            if first.task == COUNTS and fit is fit_one_a_class:
                continue
            call = partial(fit, n_threads=options.threads)
            outcomes = [
                fit_apart(call, fold, options.patience, compile_kernels)
                if options.patience
                else attempt(call, fold)
                for fold in (folds[:1] if method == "ebm" else folds)
            ]
            yield from ([name, method, one] for one in outcomes)
            print(describe(method, outcomes), flush=True)


def describe(method, outcomes):
    good = [one for one in outcomes if one.score is not None]
    if not good:
        one = outcomes[0]
        why = one.note if one.finished else f"stopped after {one.seconds:g} s"
        return f"{method:>20}  {why}"
    loss = np.mean([one.score for one in good])
    second = np.mean([float(one.note) for one in good])
    sizes = [one.complexity for one in good if one.complexity is not None]
    size = f"{np.mean(sizes):11.1f}" if sizes else " " * 11
    seconds = np.median([one.seconds for one in good])
    return f"{method:>20} {loss:8.4f} {second:9.4f} {size} {seconds:8.2f}  {len(good)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=SETS, metavar="NAME")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--run-folds", type=int, help="how many of the folds to run (all)")
    parser.add_argument("--patience", type=float, default=600, help="seconds a fit may take (600)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, help="CSV to write every score to")
    options = parser.parse_args()
    lines = [
        [name, method, one.fold, one.score, one.note, one.complexity, one.seconds]
        for name, method, one in run(options)
    ]
    if options.out:
        with options.out.open("w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(["set", "method", "fold", "loss", "second", "complexity", "seconds"])
            writer.writerows(lines)


if __name__ == "__main__":
    main()
