"""Memory of fits on rows in files, against the same fits on rows in memory.

    python -m benchmarks.out_of_core [--rows 1000000] [--columns 30] [--models l0 lines l1 cv]

Writes simulated rows to Parquet files in a temporary folder (half of the columns are numbers, the
others counts, texts and flags, with missing values) and fits each model twice, in a process each.
Memory is the peak of what is the process's own (RssAnon) above what it had with the library
loaded; pages of mapped files are the system's to give up. Linux only.
"""

import argparse
import ctypes
import gc
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

BATCH = 250_000
"""Rows of a file."""

WARM_UP = 300
"""Rows of a fit that loads what fits need, before memory is measured."""


def write_rows(folder, n_rows, n_columns, seed=0):
    """Write simulated rows; the target depends on the first columns."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(seed)
    for number, start in enumerate(range(0, n_rows, BATCH)):
        n = min(BATCH, n_rows - start)
        columns = {}
        for k in range(n_columns):
            if k % 2 == 0:
                values = rng.normal(size=n)
                values[rng.random(n) < 0.05] = np.nan
            elif k % 6 == 1:
                values = rng.poisson(3.0, n)
            elif k % 6 == 3:
                values = rng.choice(["north", "south", "east", "west"], n)
            else:
                values = rng.random(n) < 0.3
            columns[f"x{k}"] = values
        x0, x1, x2 = columns["x0"], columns["x1"], columns["x2"]
        score = np.where(x0 > 0.5, 1.0, 0.0) + 0.4 * np.where((x1 > 4) & (x2 < 0), 1, -1)
        columns["y"] = (score + rng.logistic(size=n) > 0.5).astype(np.int8)
        path = Path(folder) / f"rows-{number:04d}.parquet"
        parquet.write_table(pa.table(columns), path, row_group_size=65_536)


def make_model(name):
    """Return the estimator of a name."""
    from ruleglm import RuleClassifier, RuleClassifierCV

    if name == "l1":
        return RuleClassifier(lambda_0=0.01)
    if name == "cv":
        return RuleClassifierCV(max_complexity=10, cv=3)
    return RuleClassifier(
        penalty="l0", max_complexity=20, bins="auto", linear_terms=name == "lines"
    )


def own_memory():
    """Return the bytes that are the process's own."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    raise OSError("no RssAnon in /proc/self/status")


def give_back():
    """Give memory that is free inside the process back to the system."""
    import pyarrow as pa

    gc.collect()
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)


class Peak:
    """Watches the memory of a process while something runs."""

    def __enter__(self):
        self.before = self.most = own_memory()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self):
        while not self._over.wait(0.005):
            self.most = max(self.most, own_memory())

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    @property
    def bytes(self):
        return self.most - self.before


def run_once(folder, model, where):
    """Fit a model, and print what it took and what it is."""
    import pandas as pd
    from pyarrow import parquet

    estimator = make_model(model)
    file = parquet.ParquetFile(min(Path(folder).glob("*.parquet")))
    first = next(file.iter_batches(WARM_UP)).to_pandas()
    make_model(model).fit(first.drop(columns="y"), first["y"])
    give_back()
    began = time.perf_counter()
    with Peak() as peak:
        if where == "files":
            estimator.fit(folder, "y")
        else:
            frame = pd.read_parquet(folder)
            estimator.fit(frame.drop(columns="y"), frame["y"])
    seconds = time.perf_counter() - began
    text = str(estimator.ensemble_)
    print(json.dumps({"bytes": peak.bytes, "seconds": seconds, "model": text}))


def measure(folder, model, where):
    """Fit in a process of its own; return what it printed."""
    command = [sys.executable, "-m", "benchmarks.out_of_core", "--child", str(folder), model, where]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--models", nargs="+", default=["l0", "lines", "l1"])
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        run_once(*given.child)
        return
    with tempfile.TemporaryDirectory() as folder:
        write_rows(folder, given.rows, given.columns)
        print("model  where   seconds  bytes a row  same model")
        for model in given.models:
            told = {where: measure(folder, model, where) for where in ("memory", "files")}
            same = told["memory"]["model"] == told["files"]["model"]
            for where, one in told.items():
                each = one["bytes"] / given.rows
                print(f"{model:6} {where:7} {one['seconds']:7.1f} {each:12.1f}  {same}")


if __name__ == "__main__":
    main()
