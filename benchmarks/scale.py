"""Time, memory and traffic of fits by the number of rows, beside LightGBM and EBM.

    python -m benchmarks.scale --rows 1e5 1e6 1e7

Rows are those of :mod:`benchmarks.scale_data`: thirty columns of numbers and levels, a target of
two classes. Every fit has a process of its own; the rows are made, or opened, and kernels compiled
before the clock starts. "local" is a pursuit to complexity 60 in memory, "l1" the convex problem at
a price of 0.01, "files" the pursuit on a folder of Parquet files, a column at a time in memory,
"dask" on the same files, by as many workers as there are threads. LightGBM and EBM have their
defaults; threads of OpenMP sleep while they wait, which is faster on a machine that has other work.
The table has the seconds on the clock and of the processors (all processes together), the largest
memory of all processes (resident, and of it what is not a mapped file), the bytes and messages
between processes, and scores of 100,000 other rows.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

from benchmarks.scale_data import make_rows, make_test_rows, write_rows

BUDGET = 60.0
"""Complexity of the pursuits."""

LAMBDA = 0.01
"""Price of a rule in the convex problem."""

SAMPLE_EVERY = 0.2
"""Seconds between two looks at the memory."""

PURSUIT = {"penalty": "l0", "bins": "auto", "max_complexity": BUDGET}
TIME_LIMIT = 3600.0
COLUMNS = (
    ("method", "method", "{}"),
    ("rows", "rows", "{:,}"),
    ("seconds", "seconds", "{:.1f}"),
    ("cpu", "of processors", "{:.1f}"),
    ("peak", "peak MB", "{:,.0f}"),
    ("anonymous", "not files", "{:,.0f}"),
    ("before", "before fit", "{:,.0f}"),
    ("megabytes", "MB moved", "{:,.1f}"),
    ("messages", "messages", "{:,}"),
    ("complexity", "complexity", "{:.1f}"),
    ("brier", "Brier", "{:.5f}"),
    ("auc", "AUC", "{:.4f}"),
    ("log_loss", "log loss", "{:.5f}"),
)


# ------------------------------------------------------------------- fits, in their own process


def fit_local(clock, given):
    return _fit_rules(clock, given, **PURSUIT)


def fit_l1(clock, given):
    return _fit_rules(clock, given, penalty="l1", lambda_0=LAMBDA, bins="auto")


def _fit_rules(clock, given, **parameters):
    from ruleglm import RuleClassifier

    X, y = make_rows(given.n)
    RuleClassifier(n_jobs=given.threads, **parameters).fit(X[:3000], y[:3000])
    clock.start()
    model = RuleClassifier(n_jobs=given.threads, **parameters).fit(X, y)
    clock.stop()
    return model, {"complexity": model.complexity_}


def fit_lightgbm(clock, given):
    from lightgbm import LGBMClassifier

    X, y = make_rows(given.n)
    clock.start()
    model = LGBMClassifier(n_jobs=given.threads, verbose=-1).fit(X, y)
    clock.stop()
    return model, {}


def fit_ebm(clock, given):
    from interpret.glassbox import ExplainableBoostingClassifier

    X, y = make_rows(given.n)
    clock.start()
    model = ExplainableBoostingClassifier(n_jobs=given.threads).fit(X, y)
    clock.stop()
    return model, {}


def fit_files(clock, given):
    """Fit on the files, of which a column at a time is in memory."""
    from ruleglm import RuleClassifier

    X, y = make_rows(3000)
    RuleClassifier(n_jobs=given.threads, **PURSUIT).fit(X, y)
    clock.start()
    model = RuleClassifier(n_jobs=given.threads, **PURSUIT).fit(str(given.folder), "y")
    clock.stop()
    return model, {"complexity": model.complexity_}


def fit_dask(clock, given):
    """Fit on the files by workers of one thread each, with partitions of half a million rows."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from ruleglm.dask import DaskRuleClassifier

    small, y = make_rows(3000)
    small["y"] = y
    options = {"n_workers": given.threads, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        start = dd.from_pandas(small, npartitions=given.threads)
        DaskRuleClassifier(client=client, **PURSUIT).fit(start, "y")
        clock.start()
        model = DaskRuleClassifier(client=client, **PURSUIT).fit(str(given.folder), "y")
        clock.stop()
    moved = model.traffic_
    return model, {
        "complexity": model.complexity_,
        "megabytes": float(moved[["bytes_sent", "bytes_received"]].to_numpy().sum()) / 1e6,
        "messages": int(moved["messages"].sum()),
        "questions": moved.reset_index().to_dict("records"),
    }


FITS = {
    "local": fit_local,
    "l1": fit_l1,
    "files": fit_files,
    "dask": fit_dask,
    "lightgbm": fit_lightgbm,
    "ebm": fit_ebm,
}


class Clock:
    """Measures wall time and the processor time of this process and of those it started."""

    def start(self):
        self.before = psutil.Process().memory_info().rss / 1e6
        self._cpu, self._wall = self._spent(), time.perf_counter()

    def stop(self):
        self.seconds = time.perf_counter() - self._wall
        self.cpu = self._spent() - self._cpu

    def _spent(self):
        me = psutil.Process()
        times = [one.cpu_times() for one in (me, *me.children(recursive=True))]
        return sum(one.user + one.system for one in times)


def run_one(given):
    """Fit, score and print what was measured as JSON."""
    clock = Clock()
    model, more = FITS[given.one](clock, given)
    X, y = make_test_rows()
    found = {
        "method": given.one,
        "rows": given.n,
        "seconds": clock.seconds,
        "cpu": clock.cpu,
        "before": clock.before,
        **more,
        **score(y, model.predict_proba(X)[:, 1]),
    }
    print(json.dumps(found))


def score(y, probability):
    from sklearn.metrics import log_loss, roc_auc_score

    return {
        "brier": float(np.mean((y - probability) ** 2)),
        "auc": float(roc_auc_score(y, probability)),
        "log_loss": float(log_loss(y, probability)),
    }


# -------------------------------------------------------------------------- from the outside


def measure(method, n_rows, threads, folder, limit):
    """Run a fit in a process of its own; return what it measured, and its largest memory."""
    command = [sys.executable, "-m", "benchmarks.scale", "--one", method, "--n", str(n_rows)]
    command += ["--threads", str(threads), "--folder", str(folder)]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        quiet = os.environ | {"OMP_WAIT_POLICY": "passive"}
        child = subprocess.Popen(command, stdout=out, stderr=err, env=quiet)
        peak, anonymous = watch(psutil.Process(child.pid), child, limit)
        out.seek(0)
        err.seek(0)
        lines = [line for line in out.read().splitlines() if line.startswith("{")]
        if child.returncode == 0 and lines:
            return json.loads(lines[-1]) | {"peak": peak, "anonymous": anonymous}
        last = (err.read().strip().splitlines() or ["no message"])[-1]
        why = f"more than {limit:g} s" if child.returncode == -9 else last
        return {"method": method, "rows": n_rows, "failed": why, "peak": peak}


def watch(process, child, limit):
    """Return the largest memory (MB) of a process and its descendants, resident and anonymous."""
    peak = anonymous = 0.0
    began = time.perf_counter()
    while child.poll() is None:
        if time.perf_counter() - began > limit:
            for one in (*process.children(recursive=True), process):
                one.kill()
        try:
            all_of_them = (process, *process.children(recursive=True))
            sizes = [one.memory_info() for one in all_of_them]
        except psutil.NoSuchProcess:
            sizes = []
        peak = max(peak, sum(one.rss for one in sizes) / 1e6)
        anonymous = max(anonymous, sum(one.rss - one.shared for one in sizes) / 1e6)
        time.sleep(SAMPLE_EVERY)
    return peak, anonymous


def targets(found):
    """Yield what was to be reached, and whether it was."""
    at = {(one["method"], one["rows"]): one for one in found if "seconds" in one}
    for (method, rows), one in sorted(at.items()):
        peer = at.get(("lightgbm", rows))
        if method == "local" and peer and rows == 10**6:
            yield ratio("local / LightGBM, 10^6 rows", one, peer, 3.0)
        larger = at.get((method, 10 * rows))
        if method == "local" and larger:
            yield ratio(f"local, {10 * rows:,} rows / {rows:,}", larger, one, 10.0)
            growth = larger["peak"] / one["peak"]
            yield "its memory", f"{growth:.2f}, at most 10", growth <= 10.0
        if method == "local" and rows == 10**7:
            yield "peak at 10^7 rows", f"{one['peak']:,.0f} MB, under 6,000", one["peak"] < 6000
        beside = at.get(("local", rows))
        if method == "dask" and beside:
            yield ratio(f"dask on 2 workers / local, {rows:,} rows", one, beside, 1.3)


def ratio(what, one, other, most):
    wall, cpu = one["seconds"] / other["seconds"], one["cpu"] / other["cpu"]
    return what, f"{wall:.2f} (processors {cpu:.2f}), at most {most:g}", wall <= most


def show(found):
    """Print the table and the targets."""
    used = [col for col in COLUMNS if any(col[0] in one for one in found)]
    print("| " + " | ".join(title for _, title, _ in used) + " |")
    print("|" + "---|" * len(used))
    for one in found:
        cells = [form.format(one[key]) if key in one else "" for key, _, form in used]
        print("| " + " | ".join(cells) + (f" | {one['failed']} |" if "failed" in one else " |"))
    print()
    for what, value, reached in targets(found):
        print(f"- {what}: {value}: {'reached' if reached else 'missed'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, nargs="+", default=[1e5, 1e6])
    parser.add_argument("--methods", nargs="+", choices=tuple(FITS), default=tuple(FITS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=float, default=TIME_LIMIT, help="seconds for a fit")
    parser.add_argument("--folder", type=Path, help="of the Parquet files; made if not there")
    parser.add_argument("--json", type=Path, help="file to add the measurements to")
    parser.add_argument("--one", choices=tuple(FITS), help=argparse.SUPPRESS)
    parser.add_argument("--n", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        run_one(given)
        return
    with tempfile.TemporaryDirectory() as scratch:
        root = given.folder or Path(scratch)
        found = []
        for n_rows in map(int, given.rows):
            folder = root / str(n_rows)
            if {"files", "dask"} & set(given.methods) and not folder.exists():
                write_rows(folder, n_rows)
            for method in given.methods:
                found.append(measure(method, n_rows, given.threads, folder, given.limit))
                print(json.dumps(found[-1]), file=sys.stderr, flush=True)
                if given.json:
                    with given.json.open("a") as out:
                        out.write(json.dumps(found[-1]) + "\n")
    show(found)


if __name__ == "__main__":
    main()
