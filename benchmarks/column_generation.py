"""Column generation against AIX360, the public code of the paper's authors, on one core.

    python -m benchmarks.column_generation --data FOLDER [--aix360] [--patience 120]
        [--only pima ...] [--lambdas 0.01 ...] [--peer-env FOLDER] [--peer-python PYTHON]

FOLDER holds one gzip'd CSV a data set, the target last and named ``target``. Both solve the same
problem: mean loss plus ``sum (lambda_0 + lambda_1 degree) |beta|`` with lambda_1 = 0.2 lambda_0, on
the same deciles, the target of a regression centred and divided by its standard deviation. Ours is
``fit`` from the data frame, binning included, over rules of degree <= 3 to a gap of 0.1 %, without
de-biasing; AIX360 is timed from the binarised frame, with its default settings but no
de-biasing, and may use rules of degree <= 10. Both objectives are computed by our code, AIX360's
from its rules with the scale of its coefficients undone. AIX360 stops where its own search ends,
often far from the optimum; "same s" is what ours needed to get as far as that, with no proof.

With ``--aix360`` it is installed into an environment of its own, with the old versions that it
needs (Python 3.8 to 3.11); otherwise, or if that fails, seconds recorded earlier stand in.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

SETS = {
    "pima": "binomial",
    "magic": "binomial",
    "adult": "binomial",
    "bank-mkt": "binomial",
    "california": "gaussian",
    "bike": "gaussian",
}
LAMBDAS = (0.01, 0.005, 0.002, 0.001)
LAMBDA_RATIO = 0.2
BINS, MAX_DEGREE, TOL, REPEATS = 10, 3, 1e-3, 3
RATIO_TARGET = 100
RECORDED = {
    ("pima", 0.01): 4.4,
    ("pima", 0.005): 9.0,
    ("pima", 0.002): 24.0,
    ("pima", 0.001): 17.0,
    ("magic", 0.01): 18.0,
    ("adult", 0.01): 24.0,
    ("california", 0.01): 28.0,
}
"""Seconds of AIX360 on an earlier day, where it cannot be installed."""

PINS = (
    *("numpy==1.24.*", "pandas==1.5.*", "scikit-learn==1.1.*", "scipy==1.10.*"),
    *("matplotlib<3.9", "cvxpy<1.6"),
)
PEER = "aix360==0.3.0"

PEER_RUN = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
import pandas as pd
from aix360.algorithms.rbm import LinearRuleRegression, LogisticRuleRegression

task = json.load(open(sys.argv[1]))
arrays = np.load(task["arrays"])
labels = [tuple(label) for label in task["labels"]]
names = ["feature", "operation", "value"]
X = pd.DataFrame(
    arrays["X"].astype(int), columns=pd.MultiIndex.from_tuples(labels, names=names)
)
kind = LinearRuleRegression if task["family"] == "gaussian" else LogisticRuleRegression
model = kind(lambda0=task["lambda_0"], lambda1=task["lambda_1"], debias=False)
print("ready", flush=True)
began = time.perf_counter()
model.fit(X, pd.Series(arrays["y"]))
seconds = time.perf_counter() - began
coef = np.ravel(model.lr.coef_).tolist()
rules = [np.flatnonzero(model.z.values[:, k]).tolist() for k in range(len(coef))]
intercept = float(np.ravel(model.lr.intercept_)[0])
json.dump(
    {"seconds": seconds, "coef": coef, "rules": rules, "intercept": intercept},
    open(sys.argv[2], "w"),
)
"""


def limit_threads(n_threads):
    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{name}_NUM_THREADS"] = str(n_threads)


def read_frame(folder, name):
    import pandas as pd

    frame = pd.read_csv(folder / f"{name}.csv.gz")
    return frame.drop(columns="target"), frame["target"].to_numpy(float)


@dataclass
class Problem:
    """A data set as both solve it: codes for ours, a matrix of all conditions for the peer."""

    family: str
    codes: object
    table: object
    y: object
    matrix: object
    labels: list


def build_problem(frame, y, family):
    import numpy as np

    from ruleglm.binning import build_binning
    from ruleglm.frames import read_table
    from ruleglm.pricing import ConditionTable

    rows = read_table(frame)
    binning = build_binning(rows, bins=BINS)
    table, codes = ConditionTable(binning.features), binning.encode(rows)
    conditions = list(zip(table.feature.tolist(), table.masks, strict=True))
    matrix = np.column_stack([covers(codes, [condition]) for condition in conditions])
    labels = [label(binning.features[f].condition(mask)) for f, mask in conditions]
    if family == "gaussian":
        y = (y - y.mean()) / y.std()
    return Problem(family, codes, table, y, matrix, labels)


def label(condition):
    """Return (feature, operation, value) as AIX360 names a condition."""
    from ruleglm.conditions import Missing, Range

    if isinstance(condition, Missing):
        return condition.feature, "==" if condition.missing else "!=", "NaN"
    if isinstance(condition, Range):
        upto = condition.high < float("inf")
        return condition.feature, "<=" if upto else ">", condition.high if upto else condition.low
    (level,) = condition.levels
    return condition.feature, "!=" if condition.negated else "==", str(level)


def covers(codes, rule):
    """Return the rows that a rule, a sequence of (feature, mask), covers."""
    import numpy as np

    rows = np.ones(codes.shape[1], bool)
    for feature, mask in rule:
        rows &= np.array([mask >> b & 1 for b in range(256)], bool)[codes[feature]]
    return rows


def evaluate(problem, penalty, rules, coef, intercept):
    """Return the objective of a model and the largest degree of its rules.

    A rule is a list of positions in the table of conditions; its degree is that of the shortest
    way to write it.
    """
    import numpy as np

    from ruleglm.engines import LocalEngine
    from ruleglm.families import get_family

    table = problem.table
    eta, price, largest = np.full(problem.codes.shape[1], float(intercept)), 0.0, 0
    for positions, beta in zip(rules, coef, strict=True):
        made = table.make_rule([(int(table.feature[k]), table.masks[k]) for k in positions])
        if made is None:  # a rule of all rows or none
            eta += beta * problem.matrix[:, positions].all(axis=1)
            continue
        rule, degree = made
        eta += beta * covers(problem.codes, rule)
        price += penalty.of(degree) * abs(beta)
        largest = max(largest, degree)
    family = get_family(problem.family)
    engine = LocalEngine(problem.codes, table.n_bins, problem.y, family, offset=eta)
    return engine.set_coefficients(np.zeros(1)) + price, largest


def fit_ours(frame, y, family, lambda_0):
    """Return the median seconds of ``fit``, those of the last one, and its model."""
    from ruleglm import RuleClassifier, RuleRegressor

    kind = RuleRegressor if family == "gaussian" else RuleClassifier
    times = []
    for _ in range(REPEATS):
        model = kind(
            max_degree=MAX_DEGREE,
            lambda_0=lambda_0,
            lambda_1=LAMBDA_RATIO * lambda_0,
            bins=BINS,
            tol=TOL,
            debias=False,
            n_jobs=1,
        )
        began = time.perf_counter()
        model.fit(frame, y)
        times.append(time.perf_counter() - began)
    return median(times), times[-1], model


def warm_up():
    """Compile every kernel before anything is measured."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = ((X[:, 0] > 0) & (X[:, 1] > 0)).astype(float)
    fit_ours(X, y, "binomial", 0.01)
    fit_ours(X, y + 0.1 * X[:, 2], "gaussian", 0.01)


class Peer:
    """AIX360 in an environment of its own, one process a fit."""

    def __init__(self, folder, python, patience):
        self.python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
        self.patience = patience
        if not self.works():
            pip = [self.python, "-m", "pip", "install", "--quiet"]
            for command in (
                [python, "-m", "venv", folder],
                [*pip, "--only-binary", ":all:", *PINS],
                [*pip, "--no-deps", PEER],
            ):
                subprocess.run(command, check=True, capture_output=True)
        if not self.works():
            raise OSError("AIX360 was installed but cannot be imported")

    def works(self):
        command = [self.python, "-c", "import aix360.algorithms.rbm"]
        return self.python.exists() and subprocess.run(command, capture_output=True).returncode == 0

    def fit(self, problem, penalty):
        """Return the seconds and (rules, coefficients, intercept), None for one not finished."""
        import numpy as np

        # its Lasso has alpha = lambda0 * MADM / 2, with the mean absolute deviation of the target
        spread = np.abs(problem.y - problem.y.mean()).mean()
        unit = 2 / spread if problem.family == "gaussian" else 1.0
        lambda_0, lambda_1 = unit * penalty.lambda_0, unit * penalty.lambda_1
        with tempfile.TemporaryDirectory() as folder:
            arrays, task, out = (Path(folder) / name for name in ("a.npz", "task.json", "out.json"))
            np.savez(arrays, X=problem.matrix, y=problem.y)
            settings = {"family": problem.family, "lambda_0": lambda_0, "lambda_1": lambda_1}
            settings |= {"arrays": str(arrays), "labels": problem.labels}
            task.write_text(json.dumps(settings))
            if not self.run(task, out):
                return None, None
            answer = json.loads(out.read_text())
        shrunk = [
            beta * lambda_0 / (lambda_0 + lambda_1 * len(rule))
            for beta, rule in zip(answer["coef"], answer["rules"], strict=True)
        ]
        return answer["seconds"], (answer["rules"], shrunk, answer["intercept"])

    def run(self, task, out):
        """Run one fit; return whether it finished in time, which counts from the loaded data."""
        command = [self.python, "-c", PEER_RUN, task, out]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            process.stdout.readline()
            code = process.wait(timeout=self.patience)
        except subprocess.TimeoutExpired:
            return False
        finally:
            process.kill()
            process.wait()
        if code:
            raise RuntimeError(f"AIX360 failed with exit code {code}")
        return True


@dataclass
class Line:
    """One problem solved by both; None where the peer gave nothing."""

    ours: float
    objective: float
    gap: float
    peer: float | None = None
    finished: bool = True
    peer_objective: float | None = None
    same: float | None = None
    """Our seconds to the peer's objective."""


def seconds_to(model, seconds, objective):
    """Return the part of a fit of ``seconds`` in which the objective fell to a value, or None."""
    rounds = model.trace_
    reached = (rounds["objective"] <= objective).to_numpy()
    if not reached.any():
        return None
    spent = (rounds["master_seconds"] + rounds["pricing_seconds"]).to_numpy()
    last = int(reached.argmax())
    in_loop = spent[:last].sum() + rounds["master_seconds"].iloc[last]
    return seconds - min(seconds, spent.sum()) + float(in_loop)


def run_set(name, folder, lambdas, peer, patience):
    """Print the lines of a data set and return them."""
    from ruleglm.pricing import Penalty

    frame, y = read_frame(folder, name)
    problem = build_problem(frame, y, SETS[name])
    lines = []
    for lambda_0 in lambdas:
        penalty = Penalty(lambda_0, LAMBDA_RATIO * lambda_0)
        ours, last, model = fit_ours(frame, y, SETS[name], lambda_0)
        line = Line(ours, model.objective_, model.gap_, RECORDED.get((name, lambda_0)))
        cells = [name, lambda_0, f"{ours:.3f}", f"{model.objective_:.6f}"]
        cells += [f"{100 * model.gap_:.3f} %", len(model.rules_)]
        if peer is None:
            recorded = ["", ""] if line.peer is None else [f"{line.peer:.1f}", "recorded"]
            cells += [*recorded, "", "", "", ""]
        else:
            seconds, solution = peer.fit(problem, penalty)
            line.finished = seconds is not None
            line.peer = seconds if line.finished else patience
            cells += [f"{seconds:.2f}" if line.finished else f"> {patience:g}"]
            if line.finished:
                value, degree = evaluate(problem, penalty, *solution)
                line.peer_objective = value
                line.same = seconds_to(model, last, value)
                above = f"{100 * (value / model.objective_ - 1):+.3f} %"
                same = "never" if line.same is None else f"{line.same:.3f}"
                cells += [f"{value:.6f}", above, len(solution[1]), degree, same]
            else:
                cells += [""] * 5
        if line.peer is not None:
            cells.append(f"{'' if line.finished else '> '}{line.peer / ours:,.0f}x")
        print_row(*cells)
        lines.append(line)
    return lines


def print_row(*cells):
    print("  ".join(f"{cell!s:>10}" for cell in cells).rstrip(), flush=True)


def print_target(what, reached, seen):
    print(f"{what}: {'yes' if reached else 'no'} ({seen})")


def print_targets(lines, patience):
    print("\nTargets")
    worst = max(line.gap for line in lines)
    what = f"certified gap <= {100 * TOL:g} %, degree <= {MAX_DEGREE}"
    print_target(what, worst <= TOL, f"largest {100 * worst:.3f} %")
    ratios = [line.peer / line.ours for line in lines if line.peer is not None]
    if ratios:
        unfinished = sum(not line.finished for line in lines)
        seen = f"median {median(ratios):,.0f}x, {min(ratios):,.0f}x to {max(ratios):,.0f}x of"
        seen += f" {len(ratios)} problems"
        if unfinished:
            seen += f", {unfinished} of them counted with {patience:g} s though not finished"
        print_target(f">= {RATIO_TARGET}x on the median", median(ratios) >= RATIO_TARGET, seen)
    both = [line for line in lines if line.peer_objective is not None]
    if both:
        lower = [line.objective <= line.peer_objective for line in both]
        if all(line.same is not None for line in both):
            same = median(line.peer / line.same for line in both)
            print(f"  to the same objective, without the proof: median {same:,.0f}x")
        print_target(
            "objective not above AIX360's", all(lower), f"{sum(lower)} of {len(both)} problems"
        )


def find_peer(options):
    """Return the peer, None to use what was recorded."""
    if not options.aix360:
        return None
    try:
        return Peer(options.peer_env, options.peer_python, options.patience)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"AIX360 cannot be had ({error}); seconds recorded earlier stand in")
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="+", default=list(SETS), choices=SETS, metavar="NAME")
    parser.add_argument("--lambdas", nargs="+", type=float, default=LAMBDAS, metavar="LAMBDA")
    parser.add_argument("--aix360", action="store_true", help="install AIX360 and run it")
    parser.add_argument(
        "--patience", type=float, default=120.0, help="seconds a fit of AIX360 may take (120)"
    )
    parser.add_argument(
        "--peer-env", type=Path, default=Path(tempfile.gettempdir()) / "ruleglm-aix360"
    )
    parser.add_argument("--peer-python", default=sys.executable)
    options = parser.parse_args()
    limit_threads(1)
    peer = find_peer(options)
    busy = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    print(f"{os.cpu_count()} cores, one used; ours: medians of {REPEATS} fits{busy}\n")
    ours = ("data", "lambda_0", "ours s", "objective", "gap", "rules")
    print_row(*ours, "AIX360 s", "objective", "above ours", "rules", "degree", "same s", "ratio")
    warm_up()
    lines = []
    for name in options.only:
        lines += run_set(name, options.data, options.lambdas, peer, options.patience)
    print_targets(lines, options.patience)


if __name__ == "__main__":
    main()
