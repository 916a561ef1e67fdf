"""Speed of the kernels: ``python -m benchmarks.kernels`` from the root of the repository.

Histograms are timed in nanoseconds per row and cell update: one row entering the histogram of one
tuple of features. The plain pass, a NumPy sum of the same codes, is what merely reading them costs.
"""

import os
import platform
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from statistics import median

import numpy as np
from threadpoolctl import threadpool_limits

from ruleglm import kernels
from ruleglm.dtypes import CODE_DTYPE, INDEX_DTYPE
from ruleglm.engines import LocalEngine
from ruleglm.engines.base import histogram_starts
from ruleglm.engines.packed import evaluate
from ruleglm.families import get_family

N_FEATURES = 10
SMALL_ROWS, MANY_ROWS = 20_000, 1_000_000
N_COLUMNS = 64
ORDER_2_TARGET = 1.5
"""Nanoseconds per row and cell update of a second-order histogram, one core."""
THREADS_TARGET = 1.6
"""Speed of two threads against one, second-order histograms of a million rows."""


def time_together(
    *functions: Callable[[], object], seconds: float = 0.6, least: int = 3
) -> list[float]:
    """Return the median seconds of each function; they take turns, after one call unmeasured."""
    times: list[list[float]] = [[] for _ in functions]
    for function in functions:
        function()
    began = time.perf_counter()
    while len(times[0]) < least or time.perf_counter() - began < seconds:
        for function, measured in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            measured.append(time.perf_counter() - start)
    return [median(measured) for measured in times]


def draw_codes(n_rows: int, n_bins: int, *, skewed: bool) -> np.ndarray:
    """Draw codes, uniform or with about nine rows in ten in the first bin of each feature."""
    rng = np.random.default_rng(0)
    places = rng.random((N_FEATURES, n_rows))
    if skewed:
        places = np.where(rng.random(places.shape) < 0.9, 0.0, places)
    return (places * n_bins).astype(CODE_DTYPE)


def all_tuples(order: int) -> np.ndarray:
    return np.array(list(combinations(range(N_FEATURES), order)), INDEX_DTYPE)


def build_engine(codes: np.ndarray, n_bins: int, n_threads: int) -> LocalEngine:
    y = np.random.default_rng(1).normal(size=codes.shape[1])
    widths = np.full(N_FEATURES, n_bins, INDEX_DTYPE)
    engine = LocalEngine(codes, widths, y, get_family("gaussian"), n_threads=n_threads)
    engine.set_coefficients(np.zeros(1))
    engine.score()  # the gradient of the rows is not part of the measured time
    return engine


def time_histograms(codes: np.ndarray, n_bins: int, order: int) -> tuple[float, float]:
    """Return nanoseconds per row and cell update, and per code of the plain pass, on one core."""
    tuples, widths = all_tuples(order), np.full(N_FEATURES, n_bins, INDEX_DTYPE)
    starts = histogram_starts(tuples, widths)
    values = np.random.default_rng(1).normal(size=(1, codes.shape[1]))
    out = np.zeros((1, starts[-1]))
    filled, plain = time_together(
        lambda: kernels.fill_histograms(codes, tuples, widths, values, starts, out),
        lambda: codes.sum(dtype=np.int64),
    )
    n_rows = codes.shape[1]
    return 1e9 * filled / (n_rows * len(tuples)), 1e9 * plain / codes.size


def measure_histograms() -> list[tuple[float, ...]]:
    """Print the table of histograms; return its figures for order 2."""
    second = []
    print_row("order", "bins", "codes", "rows", "ns/update", "ns/code", "ratio")
    for order in (1, 2, 3):
        for n_bins in (10, 32):
            for skewed in (False, True):
                for n_rows in (SMALL_ROWS, MANY_ROWS):
                    codes = draw_codes(n_rows, n_bins, skewed=skewed)
                    update, code = time_histograms(codes, n_bins, order)
                    kind = "skewed" if skewed else "uniform"
                    print_row(order, n_bins, kind, f"{n_rows:,}", update, code, update / code)
                    if order == 2:
                        second.append((update, code))
    return second


def measure_threads() -> list[float]:
    """Print the table of threads; return the speed of two threads against one.

    Where two threads got little more than one core, the machine was busy: no fair figure.
    """
    ratios = []
    tuples = all_tuples(2)
    print_row("order", "bins", "codes", "rows", "1 thr ms", "2 thr ms", "speed", "cores got")
    for n_bins in (10, 32):
        for skewed in (False, True):
            codes = draw_codes(MANY_ROWS, n_bins, skewed=skewed)
            engines = [build_engine(codes, n_bins, n_threads) for n_threads in (1, 2)]
            one, two = time_together(
                lambda: engines[0].joint_histograms(tuples),  # noqa: B023 - called at once
                lambda: engines[1].joint_histograms(tuples),  # noqa: B023
                seconds=3.0,
            )
            kind = "skewed" if skewed else "uniform"
            got = count_cores(lambda: engines[1].joint_histograms(tuples))  # noqa: B023
            print_row(2, n_bins, kind, f"{MANY_ROWS:,}", 1e3 * one, 1e3 * two, one / two, got)
            ratios.append(one / two)
    return ratios


def count_cores(function: Callable[[], object], repeats: int = 10) -> float:
    """Return processor time over wall time: near 1 for two threads if the machine is busy."""
    start, used = time.perf_counter(), time.process_time()
    for _ in range(repeats):
        function()
    return (time.process_time() - used) / (time.perf_counter() - start)


def measure_grams() -> None:
    """Print the table of Gram matrices; the weighted one is half of a symmetric matrix."""
    print_row("gram", "columns", "", "rows", "ns/pair", "", "")
    for n_rows in (SMALL_ROWS, MANY_ROWS):
        codes = draw_codes(n_rows, 10, skewed=False)
        rules = [((k % N_FEATURES, 0b1111111 >> k // N_FEATURES),) for k in range(N_COLUMNS)]
        columns = evaluate(codes, rules)
        weights = np.random.default_rng(2).random(n_rows, np.float32)
        out = np.empty((N_COLUMNS, N_COLUMNS))
        counted, weighted = time_together(
            lambda: kernels.count_gram(columns, columns, out),  # noqa: B023
            lambda: kernels.weighted_gram(columns, weights, 0, 0, n_rows, out),  # noqa: B023
        )
        pairs = {"popcount": (counted, N_COLUMNS**2)}
        pairs["weighted"] = (weighted, N_COLUMNS * (N_COLUMNS + 1) // 2)
        for kind, (seconds, n_pairs) in pairs.items():
            per_pair = f"{1e9 * seconds / (n_rows * n_pairs):.4f}"
            print_row(kind, N_COLUMNS, "", f"{n_rows:,}", per_pair, "", "")


def measure_columns() -> None:
    """Print the milliseconds of sorting and coding a column of numbers, beside NumPy's."""
    print_row("column", "", "", "rows", "ms", "NumPy ms", "speed")
    for n_rows in (SMALL_ROWS, MANY_ROWS):
        values = np.random.default_rng(0).standard_normal(n_rows)
        thresholds = np.quantile(values, np.linspace(0, 1, 65)[1:-1])
        (keys, spare), out = np.empty((2, n_rows), np.uint64), np.empty(n_rows)
        codes = np.empty(n_rows, CODE_DTYPE)
        pairs = {
            "sorted": (
                lambda given=(values, keys, spare, out): kernels.sort_numbers(*given),
                lambda values=values: np.sort(values),
            ),
            "coded": (
                lambda given=(values, thresholds, 64, codes): kernels.encode_numbers(*given),
                lambda given=(thresholds, values): np.searchsorted(*given).astype(CODE_DTYPE),
            ),
        }
        for kind, both in pairs.items():
            ours, theirs = time_together(*both)
            print_row(kind, "", "", f"{n_rows:,}", 1e3 * ours, 1e3 * theirs, theirs / ours)


def print_row(*cells: object) -> None:
    texts = [f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in cells]
    print("  ".join(f"{text:>9}" for text in texts))


def print_target(what: str, reached: bool, figures: Sequence[float]) -> None:
    seen = f"{min(figures):.2f} to {max(figures):.2f}"
    print(f"{what}: {'yes' if reached else 'no'} ({seen})")


def main() -> None:
    busy = f"load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    print(f"{platform.machine()}, {os.cpu_count()} cores, medians of repeats, {busy}")
    print(f"\nHistograms of {N_FEATURES} features, one core; plain pass: the sum of all codes")
    second = [update for update, _ in measure_histograms()]
    print("\nHistograms through the engine, one thread and two")
    ratios = measure_threads()
    print("\nGram matrix, one core, nanoseconds per row and pair of columns")
    measure_grams()
    print("\nColumns of numbers, one core")
    measure_columns()
    print("\nTargets, over all cases")
    print_target(
        f"order 2 <= {ORDER_2_TARGET} ns on one core", max(second) <= ORDER_2_TARGET, second
    )
    print_target(f"two threads >= {THREADS_TARGET}x", min(ratios) >= THREADS_TARGET, ratios)


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        main()
