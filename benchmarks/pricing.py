"""Exact pricing from joint histograms, and HiGHS on the paper's integer program, on one core.

    python -m benchmarks.pricing --data FOLDER [--highs-seconds 300] [--only magic pima ...]
        [--seconds 120] [--skip-histograms] [--skip-programs]

FOLDER holds one gzip'd CSV a data set, the target last and named ``target``. Pricing asks for the
rule with the largest reduced cost; it is timed at two points, the model without rules ("null") and
the optimum over rules of degree <= 2 ("fitted"), at lambda_0 = 0.005 and lambda_1 = 0.001. The
gradient of the rows is not part of the measured time: the master problem has it already.

HiGHS gets the program of the paper, which has no limit of degree, or with one more constraint that
sets it ("<="), and two solves a pricing, one for each sign, each with the limit of
``--highs-seconds``; it starts from the rule of a beam search.
A search that ran out of time has "no" under "proof", and a gap between its best rule and its bound.
"""

import argparse
import os
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

LAMBDA_0, LAMBDA_1 = 0.005, 0.001
N_RULES = 60
SETS = ("magic", "fico", "adult", "musk")
BINS = (10, 32)
PROGRAMS = (
    *(("pima", 100, 3), ("pima", 100, None), ("pima", None, 2), ("pima", None, None)),
    *(("magic", 1000, None), ("magic", 5000, None)),
)
"""Data sets, numbers of rows and largest degrees that HiGHS is tried on; None for all."""
TARGETS = {("magic", 2): 0.003, ("magic", 3): 0.02, ("musk", 2): 0.5, ("musk", 3): 60.0}
"""Seconds of one pricing on deciles, by data set and degree."""
DEEP_TARGET = 5.0
"""Seconds of an unlimited search of pima with proof."""
RATIO_TARGET = 1000
"""Time of HiGHS over ours, wherever both finish."""
ENOUGH = 1.0
"""Seconds of repeats that make a median."""


def limit_threads(n_threads):
    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{name}_NUM_THREADS"] = str(n_threads)


@cache
def read_frame(folder, name, n_rows=None):
    import pandas as pd

    frame = pd.read_csv(folder / f"{name}.csv.gz")
    if n_rows is not None:
        frame = frame.sample(n_rows, random_state=0)
    return frame.drop(columns="target"), frame["target"].to_numpy(float)


@dataclass
class Point:
    """Rows at a model, ready to be priced."""

    engine: object
    table: object
    penalty: object

    def price(self, pricer, limits):
        return pricer.price(self.engine, self.penalty, set(self.engine.rules), limits)


def build_point(frame, y, bins, *, fitted, seconds=None):
    """Return the rows at the null model, or at the optimum over rules of degree <= 2."""
    import numpy as np

    from ruleglm.binning import build_binning
    from ruleglm.engines import LocalEngine
    from ruleglm.families import get_family
    from ruleglm.frames import read_table
    from ruleglm.pricing import ConditionTable, Limits, Penalty, build_pricer
    from ruleglm.solvers import run_column_generation

    rows = read_table(frame)
    binning = build_binning(rows, bins=bins)
    engine = LocalEngine(binning.encode(rows), binning.n_bins, y, get_family("binomial"))
    penalty = Penalty(LAMBDA_0, LAMBDA_1)
    engine.set_coefficients(np.array([engine.null_intercept()]))
    if fitted:
        pricer = build_pricer("auto", ConditionTable(binning.features), 2)
        limits = Limits.after(seconds)
        run_column_generation(engine, pricer, penalty, limits, tol=1e-3, max_rounds=1000)
    engine.score()
    return Point(engine, ConditionTable(binning.features), penalty)


def median_seconds(function):
    """Return the median seconds of a function, repeated for ENOUGH seconds, and its last result."""
    function()  # kernels are compiled, memory is touched
    times = []
    while not times or (sum(times) < ENOUGH and len(times) < 51):
        began = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - began)
    return median(times), result


def once(function):
    began = time.perf_counter()
    result = function()
    return time.perf_counter() - began, result


def count_rules(table, degree):
    """Return about how many conjunctions of conditions of different features there are."""
    sums = [1.0]
    for size in (table.first[1:] - table.first[:-1]).tolist():
        grown = [*sums, 0.0]
        for k in range(len(sums)):
            grown[k + 1] += size * sums[k]
        sums = grown[: degree + 1]
    return sum(sums[1:])


def search(point, degree, seconds):
    """Return the median seconds of an exact search and its result; a long one is run once."""
    from ruleglm.pricing import HistogramPricer, Limits

    def price():
        pricer = HistogramPricer(point.table, degree, staged=False, n_rules=N_RULES)
        return point.price(pricer, Limits.after(seconds))

    first, result = once(price)
    return (first, result) if first > 5 * ENOUGH else median_seconds(price)


def run_histograms(folder, only, seconds):
    """Print the table of exact searches; return the seconds of those that have a target."""
    print("\nAll rules up to a degree from joint histograms; where the core got is far from 1, the")
    print("machine was busy, and the times are no fair figures")
    head = ("data", "rows", "bins", "point", "held", "degree", "rules", "ms", "best", "proof")
    print_row(*head, "core got")
    warm_up()
    reached = {}
    for name in (name for name in SETS if name in only):
        frame, y = read_frame(folder, name)
        for bins in BINS:
            for fitted in (False, True):
                point = build_point(frame, y, bins, fitted=fitted, seconds=seconds)
                for degree in (2, 3):
                    began, used = time.perf_counter(), time.process_time()
                    taken, result = search(point, degree, seconds)
                    core = (time.process_time() - used) / (time.perf_counter() - began)
                    print_row(
                        *(name, f"{len(y):,}", bins, "fitted" if fitted else "null"),
                        *(len(point.engine.rules), degree),
                        f"{count_rules(point.table, degree):.1e}",
                        f"{1e3 * taken:.2f}",
                        *(f"{result.best:.5f}", "yes" if result.complete else "no"),
                        f"{core:.2f}",
                    )
                    if bins == BINS[0] and (name, degree) in TARGETS:
                        reached.setdefault((name, degree), []).append((taken, result.complete))
    return reached


def warm_up():
    """Compile every kernel before anything is measured."""
    import numpy as np

    rng = np.random.default_rng(0)
    frame, y = rng.normal(size=(200, 4)), rng.integers(0, 2, 200).astype(float)
    search(build_point(frame, y, 4, fitted=True), None, 10.0)


def run_programs(folder, only, highs_seconds, seconds):
    """Print the table of single searches, HiGHS beside ours; return what the targets need."""
    from ruleglm.pricing import Limits, MipOptions, MipPricer

    print(f"\nHiGHS and ours, null model, deciles; HiGHS has {highs_seconds:g} s for each sign")
    print_row("data", "rows", "degree", "search", "seconds", "best", "bound", "gap", "proof")
    warm_up()
    figures = []
    for name, n_rows, degree in (case for case in PROGRAMS if case[0] in only):
        frame, y = read_frame(folder, name, n_rows)
        point = build_point(frame, y, 10, fitted=False)
        ours, result = search(point, degree, seconds)
        print_search(name, len(y), degree, "ours", ours, result)
        case = {"name": name, "rows": n_rows, "degree": degree, "ours": ours}
        case["proof"] = result.complete
        figures.append(case)
        if highs_seconds > 0:
            options = MipOptions(seconds=highs_seconds, max_entries=20_000_000)
            pricer = MipPricer(point.table, degree, options)
            taken, answer = once(lambda: point.price(pricer, Limits()))  # noqa: B023 - called at once
            print_search(name, len(y), degree, "HiGHS", taken, answer)
            case |= {"highs": taken, "both": result.complete and answer.complete}
            if case["both"] and abs(answer.best - result.best) > 1e-6:
                print(f"  the best rules differ: ours {result.best:.8f}, HiGHS {answer.best:.8f}")
    return figures


def print_search(name, n_rows, degree, who, seconds, result):
    """Print one search; its bound is on the reduced cost of any rule."""
    price = LAMBDA_0 + LAMBDA_1
    bound = result.best if result.complete else price * (result.ratio_bound - 1)
    gap = "inf" if result.best <= 0 < bound else f"{100 * (bound / result.best - 1):.0f} %"
    if result.complete:
        gap = "0 %"
    proof = "yes" if result.complete else "no"
    best, limit = f"{result.best:.5f}", f"{bound:.5f}"
    reach = "any" if degree is None else f"<= {degree}"
    print_row(name, f"{n_rows:,}", reach, who, f"{seconds:.4f}", best, limit, gap, proof)


def print_row(*cells):
    print("  ".join(f"{cell!s:>8}" for cell in cells), flush=True)


def print_target(what, reached, seen):
    print(f"{what}: {'yes' if reached else 'no'} ({seen})")


def print_targets(histograms, programs):
    print("\nTargets on one core")
    for (name, degree), limit in TARGETS.items():
        if (name, degree) in histograms:
            times = [taken for taken, _ in histograms[name, degree]]
            proved = all(complete for _, complete in histograms[name, degree])
            seen = f"{1e3 * min(times):.2f} to {1e3 * max(times):.2f} ms"
            what = f"{name}, deciles, degree <= {degree}, proved, <= {1e3 * limit:g} ms"
            print_target(what, proved and max(times) <= limit, seen if proved else "not proved")
    for case in programs:
        if (case["name"], case["rows"], case["degree"]) == ("pima", None, None):
            seen = f"{case['ours']:.2f} s" if case["proof"] else "not proved"
            reached = case["proof"] and case["ours"] < DEEP_TARGET
            print_target(f"pima, any degree, proved, < {DEEP_TARGET:g} s", reached, seen)
    ratios = [case["highs"] / case["ours"] for case in programs if case.get("both")]
    unfinished = sum(not case["both"] for case in programs if "both" in case)
    if ratios:
        seen = ", ".join(f"{ratio:,.0f}x" for ratio in ratios)
        seen += f"; {unfinished} not finished by both"
        what = f">= {RATIO_TARGET:,}x HiGHS where both finish"
        print_target(what, min(ratios) >= RATIO_TARGET, seen)
    elif unfinished:
        print(f">= {RATIO_TARGET:,}x HiGHS where both finish: no case finished by both")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="+", default=[*SETS, "pima"], metavar="NAME")
    parser.add_argument(
        "--seconds", type=float, default=120.0, help="limit of each search of ours (120)"
    )
    parser.add_argument(
        "--highs-seconds", type=float, default=300.0, help="limit of each solve, 0 for none (300)"
    )
    parser.add_argument("--skip-histograms", action="store_true", help="only the program")
    parser.add_argument("--skip-programs", action="store_true", help="only the histograms")
    options = parser.parse_args()
    limit_threads(1)
    busy = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    print(f"{os.cpu_count()} cores, one used; medians of repeats{busy}")
    histograms, programs = {}, []
    if not options.skip_histograms:
        histograms = run_histograms(options.data, options.only, options.seconds)
    if not options.skip_programs:
        only = options.only
        programs = run_programs(options.data, only, options.highs_seconds, options.seconds)
    print_targets(histograms, programs)


if __name__ == "__main__":
    main()
