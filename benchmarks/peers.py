"""Other learners with their default settings, and fits in a process of their own.

A fit takes a fold and returns an :class:`Outcome`. The complexity of trees is that of their leaves
as rules, ``1 + 0.2 * depth`` each: what it would take to write the model down in our language.
"""

import multiprocessing
import os
import re
import signal
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass, field, replace

from benchmarks.datasets import BINARY

DEGREE_WEIGHT = 0.2
REPEATS = 3
"""Of fits that are short; the fastest counts."""


@dataclass
class Outcome:
    """What a method did on a fold."""

    fold: int
    seconds: float | None = None
    score: float | None = None
    complexity: float | None = None
    curve: dict = field(default_factory=dict)
    """(complexity, score) of the model for each budget of complexity."""
    path_seconds: float | None = None
    finished: bool = True
    """False for a fit that was stopped after ``seconds``."""
    note: str = ""


def timed(function, *arguments, repeats=1):
    """Return the seconds of a call, the fastest of its repeats, and its last result.

    Other work on the machine only ever adds time, and to OpenMP's waiting threads far more than
    its share: a fit of LightGBM with two threads on two cores took 0.04 s, and 14 s beside two busy
    processes; with one thread 0.04 s and 0.2 s.
    """
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        result = function(*arguments)
        times.append(time.perf_counter() - began)
    return min(times), result


def as_categories(fold):
    """Return training and test rows with text as categories, under names every peer accepts."""
    import pandas as pd

    rows = pd.concat([fold.X_train, fold.X_test])
    rows.columns = [f"x{j}" for j in range(rows.shape[1])]
    words = rows.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in rows.dtypes]]
    rows[words] = rows[words].astype("category")
    return rows.iloc[: len(fold.X_train)], rows.iloc[len(fold.X_train) :]


def as_numbers(fold):
    """Return training and test rows as numbers: levels one-hot, medians for missing values."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    train, test = as_categories(fold)
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    transform = make_column_transformer(
        (SimpleImputer(strategy="median"), make_column_selector(dtype_include="number")),
        (levels, make_column_selector(dtype_include="category")),
    )
    return transform.fit_transform(train), transform.transform(test)


def fit_peer(fold, model, rows, *, complexity=None, note=None, repeats=1):
    """Fit a model to the rows that ``rows`` makes of a fold, and score it."""
    train, test = rows(fold)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, model = timed(model.fit, train, fold.y_train, repeats=repeats)
        score = replace(fold, X_test=test).score(model)
    return Outcome(
        *(fold.number, seconds, score),
        complexity=complexity(model) if complexity else None,
        note=note(model) if note else "",
    )


def fit_lightgbm(fold, n_threads):
    """Fit with all threads and with one; the faster counts, which is one on busy cores."""
    import lightgbm

    kind = lightgbm.LGBMClassifier if fold.task == BINARY else lightgbm.LGBMRegressor
    outcomes = [
        fit_peer(
            *(fold, kind(n_jobs=n_jobs, verbose=-1, random_state=0), as_categories),
            complexity=lightgbm_complexity,
            note=lambda model: f"{model.n_jobs} threads" if model.n_jobs > 1 else "1 thread",
            repeats=REPEATS,
        )
        for n_jobs in sorted({1, n_threads})
    ]
    return min(outcomes, key=lambda outcome: outcome.seconds)


def lightgbm_complexity(model):
    nodes = model.booster_.trees_to_dataframe()
    leaves = nodes[nodes["split_feature"].isna()]
    return float((1 + DEGREE_WEIGHT * (leaves["node_depth"] - 1)).sum())


def fit_hgb(fold, n_threads):  # noqa: ARG001 - it takes all the threads of OpenMP
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if fold.task == BINARY else HistGradientBoostingRegressor
    model = kind(categorical_features="from_dtype", random_state=0)
    return fit_peer(fold, model, as_categories, complexity=hgb_complexity, repeats=REPEATS)


def hgb_complexity(model):
    trees = [tree.nodes for stage in model._predictors for tree in stage]
    depths = (nodes["depth"][nodes["is_leaf"] == 1] for nodes in trees)
    return float(sum((1 + DEGREE_WEIGHT * depth).sum() for depth in depths))


def fit_ebm(fold, n_threads):
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    kind = ExplainableBoostingClassifier if fold.task == BINARY else ExplainableBoostingRegressor
    model = kind(n_jobs=n_threads, random_state=0)
    return fit_peer(fold, model, as_categories, note=lambda ebm: f"{len(ebm.term_names_)} terms")


def fit_rulefit(fold, n_threads):  # noqa: ARG001 - it has one thread
    from imodels import RuleFitClassifier, RuleFitRegressor

    kind = RuleFitClassifier if fold.task == BINARY else RuleFitRegressor
    return fit_peer(fold, kind(random_state=0), as_numbers, complexity=rulefit_complexity)


def rulefit_complexity(model):
    """Return 1 for each linear term and ``1 + 0.2 * conditions`` for each rule."""
    terms = model._get_rules(exclude_zero_coef=True)
    conditions = (
        len(re.findall(r"<=|>=|<|>", rule)) for rule in terms.loc[terms["type"] == "rule", "rule"]
    )
    return (terms["type"] == "linear").sum() + sum(1 + DEGREE_WEIGHT * n for n in conditions)


def attempt(fit, fold):
    """Return the outcome of a fit; one that fails says so in place of a score."""
    try:
        return fit(fold)
    except Exception as error:  # one failure must not end hours of work
        return Outcome(fold.number, note=f"{type(error).__name__}: {error}".splitlines()[0])


def fit_apart(fit, fold, patience, prepare=None):
    """Fit in another process, which is stopped, with all that it started, after some seconds."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, fit, fold, prepare))
    process.start()
    theirs.close()
    try:
        ours.recv()  # imports and compilation are over
        if ours.poll(patience):
            return ours.recv()
        return Outcome(fold.number, patience, finished=False)
    except EOFError:
        process.join()
        return Outcome(fold.number, note=f"the process ended with code {process.exitcode}")
    finally:
        _stop(process)


def _serve(connection, fit, fold, prepare):
    if hasattr(os, "setsid"):
        os.setsid()  # what the fit starts shares the fate of this process
    if prepare is not None:
        prepare()
    connection.send("ready")
    connection.send(attempt(fit, fold))


def _stop(process):
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()
