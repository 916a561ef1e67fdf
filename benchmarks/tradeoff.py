"""Accuracy against complexity and time: pursuit and l1 beside other learners, by cross-validation.

    python -m benchmarks.tradeoff --data FOLDER [--paper TABLES.csv] [--only pima ...] [--folds 5]
        [--ours pursuit l1] [--peers lightgbm hgb ebm rulefit paper] [--without ebm ...]
        [--run-folds 5] [--slow-folds 1] [--patience 300] [--max-degree 2] [--threads 2]
        [--out results.csv]

FOLDER holds one gzip'd CSV a data set, the target last and named ``target``. Every method is
fitted to the same training rows with its default settings and scored on the rows left out: the
Brier score (low is good) of two classes, R2 of a regression. Ours is the estimator that chooses
its complexity by 5-fold CV on the training rows. The model that it chose is under "chosen";
``at(max_complexity=c)`` gives its model for a budget c. "path s" is one fit without CV, to
complexity 100. LR1 and LRR ("paper" among the peers) are the paper's methods in our code: l1
penalty, deciles, rules of degree 1 or up to 3. [Names in brackets] are figures that the paper
printed, from folds of its own.

EBM, RuleFit and LRR can take minutes. Each of their fits has a process of its own, stopped after
``--patience`` seconds, and where one takes longer than 15 s only the first ``--slow-folds`` folds
are run. Scores and complexities are means over folds, seconds are medians; the path, LightGBM and
HGB are fitted three times a fold, LightGBM also with one thread, and the fastest counts. Compare
seconds on an idle machine only: on busy cores the threads of OpenMP wait for each other.
"""

import argparse
import csv
import os
import sys
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, median

from benchmarks.column_generation import limit_threads, print_row
from benchmarks.datasets import BINARY, REGRESSION, SETS, Published, read_folds
from benchmarks.peers import (
    REPEATS,
    Outcome,
    attempt,
    fit_apart,
    fit_ebm,
    fit_hgb,
    fit_lightgbm,
    fit_rulefit,
    timed,
)
from benchmarks.tradeoff_targets import GOALS, print_targets

SHOWN = (15, 30, 60, 120)
GRID = (*range(1, 40), *range(40, 120, 2), *range(120, 251, 5))
"""Budgets of complexity along the curve."""
PATH_COMPLEXITY = 100
CV = 5
QUICK = 15.0
"""Seconds up to which a slow method is run on all folds after all."""

OURS = {
    "pursuit": {"penalty": "l0", "bins": "auto", "linear_terms": True},
    "l1": {"penalty": "l1", "bins": 32, "linear_terms": True},
}
PAPER = {
    "LR1": {"penalty": "l1", "max_degree": 1, "bins": 10, "linear_terms": False},
    "LRR": {"penalty": "l1", "max_degree": 3, "bins": 10, "linear_terms": False},
}
PEERS = {"lightgbm": fit_lightgbm, "hgb": fit_hgb, "ebm": fit_ebm, "rulefit": fit_rulefit}
SLOW = ("LRR", "ebm", "rulefit")
PAPER_LINES = ("LRR", "LRRN", "RuleFitN", "GBT")


@dataclass(frozen=True)
class Method:
    """A way to fit a fold, in a process of its own if it is slow."""

    name: str
    fit: object
    prepare: object = None

    def run(self, fold, patience):
        if self.name in SLOW:
            return fit_apart(self.fit, fold, patience, self.prepare)
        return attempt(self.fit, fold)


def build_methods(options):
    """Return the methods asked for, ours first."""
    degree = {} if options.max_degree is None else {"max_degree": options.max_degree}
    settings = {name: {**OURS[name], **degree} for name in options.ours}
    if "paper" in options.peers:
        settings |= PAPER
    methods = [
        Method(
            name,
            partial(fit_ours, settings={**chosen, "n_jobs": options.threads}),
            partial(warm_up, chosen),
        )
        for name, chosen in settings.items()
    ]
    methods += [
        Method(name, partial(PEERS[name], n_threads=options.threads))
        for name in options.peers
        if name != "paper"
    ]
    return [method for method in methods if method.name not in options.without]


def make_ours(task, suffix="", **settings):
    import ruleglm

    kind = "RuleClassifier" if task == BINARY else "RuleRegressor"
    return getattr(ruleglm, kind + suffix)(**settings)


def fit_ours(fold, settings):
    """Fit the CV estimator and score its models along the curve; time a pursuit without CV too."""
    budgets = budgets_of(fold.name)
    path_seconds = None
    if settings["penalty"] == "l0":
        path = make_ours(fold.task, max_complexity=PATH_COMPLEXITY, **settings)
        path_seconds, _ = timed(path.fit, fold.X_train, fold.y_train, repeats=REPEATS)
    model = make_ours(fold.task, "CV", max_complexity=budgets[-1], cv=CV, **settings)
    seconds, model = timed(model.fit, fold.X_train, fold.y_train)
    return Outcome(
        *(fold.number, seconds, fold.score(model), model.complexity_),
        curve=score_curve(fold, model, budgets),
        path_seconds=path_seconds,
    )


def budgets_of(name):
    """Return the budgets of a data set, up to the largest that a table or a goal asks for."""
    wanted = {*SHOWN, *(goal.complexity for goal in GOALS if goal.name == name)}
    return sorted({*wanted, *(budget for budget in GRID if budget <= max(wanted))})


def score_curve(fold, model, budgets):
    """Return (complexity, score) of the model for each budget; one that recurs is scored once."""
    curve, last, score = {}, None, None
    for budget in budgets:
        part = model.at(max_complexity=budget)
        if part.complexity_ != last:
            last, score = part.complexity_, fold.score(part)
        curve[budget] = (float(last), score)
    return curve


def warm_up(settings):
    """Compile every kernel of a method before anything is measured."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = ((X[:, 0] > 0) & (X[:, 1] > 0)).astype(int)
    for task, target in ((BINARY, y), (REGRESSION, y + 0.1 * X[:, 2])):
        make_ours(task, "CV", max_complexity=10, cv=2, **settings).fit(X, target)


class Records:
    """One line of a CSV for each model scored, written as it comes."""

    HEAD = ("data", "fold", "method", "budget", "complexity", "score", "seconds", "path_seconds")

    def __init__(self, path):
        self.file = None if path is None else path.open("w", newline="")
        self.write(*self.HEAD, "finished", "note")

    def write(self, *cells):
        if self.file is not None:
            csv.writer(self.file).writerow(cells)
            self.file.flush()

    def add(self, name, method, outcome):
        """Write the model chosen (no budget) and those of the curve."""
        times = (outcome.seconds, outcome.path_seconds, outcome.finished, outcome.note)
        self.write(name, outcome.fold, method, "", outcome.complexity, outcome.score, *times)
        for budget, point in outcome.curve.items():
            self.write(name, outcome.fold, method, budget, *point, "", "", "", "")


def run_set(name, methods, options, records):
    """Run all methods fold by fold, so that each meets the same noise; return their outcomes."""
    outcomes = defaultdict(list)
    for fold in read_folds(options.data, name, options.folds):
        if fold.number >= options.run_folds:
            break
        for method in methods:
            seen = outcomes[method.name]
            slow = any(not one.finished or (one.seconds or 0) > QUICK for one in seen)
            if method.name in SLOW and slow and fold.number >= options.slow_folds:
                continue
            outcome = method.run(fold, options.patience)
            seen.append(outcome)
            records.add(name, method.name, outcome)
            said = outcome.note if outcome.seconds is None else f"{outcome.seconds:.2f} s"
            print(f"{name}, fold {fold.number}, {method.name}: {said}", file=sys.stderr, flush=True)
    return dict(outcomes)


def print_table(name, outcomes, published):
    """Print one line a method; a method that failed says why."""
    unit = "Brier score, low is good" if SETS[name] == BINARY else "R2, high is good"
    print(f"\n{name}: {unit}", flush=True)
    budgets = (f"at {budget}" for budget in SHOWN)
    print_row("method", *budgets, "chosen", "complexity", "path s", "fit s", "folds", "note")
    for method, seen in outcomes.items():
        done = [one for one in seen if one.score is not None]
        curves = [one.curve for one in done if one.curve]
        cells = [show(fmean(curve[c][1] for curve in curves) if curves else None) for c in SHOWN]
        cells += [show(mean_of(done, "score")), show(mean_of(done, "complexity"), ".1f")]
        cells += [show(median_of(seen, "path_seconds"), ".2f"), show_seconds(seen)]
        cells.append(len(done) if len(done) == len(seen) else f"{len(done)} of {len(seen)}")
        notes = sorted({one.note for one in seen if one.note})
        print_row(method, *cells, " ".join(notes))
    for method in PAPER_LINES if published else ():
        score, complexity = published.get(name, method)
        if score is not None:
            blank = [""] * len(SHOWN)
            print_row(f"[{method}]", *blank, show(score), show(complexity, ".1f"))


def mean_of(outcomes, field):
    values = [getattr(one, field) for one in outcomes]
    return None if not values or None in values else fmean(values)


def median_of(outcomes, field):
    values = [value for one in outcomes if (value := getattr(one, field)) is not None]
    return median(values) if values else None


def show(value, form=".4f"):
    return "" if value is None else format(value, form)


def show_seconds(outcomes):
    at_least = "" if all(one.finished for one in outcomes) else "> "
    return at_least + show(median_of(outcomes, "seconds"), ".2f")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--data", type=Path, required=True)
    add("--paper", type=Path, help="CSV of the paper's tables: table, dataset, method, mean")
    add("--only", nargs="+", default=list(SETS), choices=SETS, metavar="NAME")
    add("--folds", type=int, default=5, help="parts that the rows are split into (5)")
    add("--run-folds", type=int, help="how many of the folds to run (all)")
    add("--ours", nargs="*", default=list(OURS), choices=OURS)
    add("--max-degree", type=int, help="of the rules of pursuit and l1 (the library's default)")
    peers = (*PEERS, "paper")
    add("--peers", nargs="*", default=peers, choices=peers, help="others to run (all)")
    everyone = (*OURS, *PAPER, *PEERS)
    add("--without", nargs="+", default=(), choices=everyone, help="methods to leave out")
    add("--slow-folds", type=int, default=1, help="folds of methods that need minutes (1)")
    add("--patience", type=float, default=300.0, help="seconds a slow fit may take (300)")
    add("--threads", type=int, default=2, help="threads of every method (2)")
    add("--out", type=Path, help="CSV to write every score to")
    options = parser.parse_args()
    options.run_folds = options.run_folds or options.folds
    return options


def main():
    options = parse_options()
    limit_threads(options.threads)
    published = None if options.paper is None else Published.read(options.paper)
    methods = build_methods(options)
    busy = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    print(f"{os.cpu_count()} cores, {options.threads} threads a method{busy}")
    print(f"{options.run_folds} of {options.folds} folds; seconds are medians over folds")
    for method in methods:
        if method.prepare is not None:
            method.prepare()
    records, outcomes = Records(options.out), {}
    for name in options.only:
        outcomes[name] = run_set(name, methods, options, records)
        print_table(name, outcomes[name], published)
    print_targets(outcomes, published)


if __name__ == "__main__":
    main()
