"""The evidence behind the defaults: one setting of pursuit changed at a time, on held-out folds.

    python -m benchmarks.defaults --data FOLDER [--only pima ...] [--folds 5] [--run-folds 2]

FOLDER holds one gzip'd CSV a data set, the target last and named ``target``. The figure is the
skill of models of complexity 30, 60 and 120 at most: one minus the Brier score or squared error on
held-out rows, over that of the mean. The first line is the default, the others are differences
from it, both as means over the data sets.
"""

import argparse
from contextlib import contextmanager
from pathlib import Path

from benchmarks.column_generation import limit_threads
from benchmarks.datasets import BINARY, SETS, read_folds

COMPLEXITIES = (30, 60, 120)
DEFAULT = {"penalty": "l0", "bins": "auto", "linear_terms": True}
SETTINGS = {
    "default": {},
    "bins=16": {"bins": 16},
    "bins=32": {"bins": 32},
    "bins=128": {"bins": 128},
    "max_degree=1": {"max_degree": 1},
    "max_degree=2": {"max_degree": 2},
    "max_degree=3": {"max_degree": 3},
    "max_degree=4": {"max_degree": 4},
    "linear_terms=False": {"linear_terms": False},
    "pricing=histogram": {"pricing": "histogram", "max_degree": 3, "bins": 16},
    "ridge=1": {"ridge": 1.0},
    "ridge=100": {"ridge": 100.0},
}
CONSTANTS = {
    "search ridge 3": ("ruleglm.fitting", "SEARCH_RIDGE", 3.0),
    "search ridge 300": ("ruleglm.fitting", "SEARCH_RIDGE", 300.0),
    "walk ridge 40": ("ruleglm.fitting", "WALK_RIDGE", 40.0),
    "walk ridge 1280": ("ruleglm.fitting", "WALK_RIDGE", 1280.0),
    "walk ridge at once": ("ruleglm.solvers.standing", "RIDGE_GROWTH", (60.0, 60.0)),
    "luck 0": ("ruleglm.pricing.worth", "LUCK", 0.0),
    "luck 1": ("ruleglm.pricing.worth", "LUCK", 1.0),
    "growth 0.15": ("ruleglm.solvers.walk", "GROWTH", 0.15),
    "few a round": ("ruleglm.solvers.walk", "GOOD", (0.9, 0.9)),
    "many a round": ("ruleglm.solvers.walk", "GOOD", (0.25, 0.25)),
    "coarse pairs 32": ("ruleglm.pricing.coarse", "N_COARSE", 32),
    "no polish": ("ruleglm.solvers.walk", "POLISH", 1e9),
    "polish always": ("ruleglm.solvers.walk", "POLISH", 0.0),
}


@contextmanager
def changed(module, name, value):
    """Change a constant of the library for a while."""
    from importlib import import_module

    module = import_module(module)
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def skills(fold, settings):
    """Return the skill at each complexity."""
    import ruleglm

    kind = ruleglm.RuleClassifier if fold.task == BINARY else ruleglm.RuleRegressor
    values = []
    for complexity in COMPLEXITIES:
        model = kind(**{**DEFAULT, **settings}, max_complexity=complexity)
        model.fit(fold.X_train, fold.y_train)
        values.append(fold.skill(fold.score(model)))
    return values


def run(name, options):
    """Yield each setting's skills on a data set, means over folds."""
    import numpy as np

    folds = list(read_folds(options.data, name, options.folds))[: options.run_folds]
    for label, settings in SETTINGS.items():
        yield label, np.mean([skills(fold, settings) for fold in folds], axis=0)
    for label, constant in CONSTANTS.items():
        with changed(*constant):
            yield label, np.mean([skills(fold, {}) for fold in folds], axis=0)


def main():
    """Print one table, the default first and the others as differences from it."""
    import numpy as np

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="+", default=list(SETS), choices=SETS, metavar="NAME")
    parser.add_argument("--folds", type=int, default=5, help="parts of the rows (5)")
    parser.add_argument("--run-folds", type=int, default=2, help="how many of them to run (2)")
    options = parser.parse_args()
    limit_threads(1)
    table = {}
    for name in options.only:
        for label, values in run(name, options):
            table.setdefault(label, {})[name] = values
        print(f"{name}: default {table['default'][name].round(4).tolist()}", flush=True)
    print(
        "\nskill at complexity 30, 60, 120, means over the sets; others: difference from the first"
    )
    for label, found in table.items():
        base = table["default"] if label != "default" else dict.fromkeys(found, 0.0)
        rows = np.array([values - base[name] for name, values in found.items()])
        worse = int((rows[:, 1] < 0).sum())
        note = "" if label == "default" else f"   worse at 60 on {worse} of {len(rows)}"
        print(f"{label:>20}  " + "  ".join(f"{v:+.4f}" for v in rows.mean(axis=0)) + note)


if __name__ == "__main__":
    main()
