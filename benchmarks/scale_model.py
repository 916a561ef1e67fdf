"""What fits on other numbers of rows and workers would cost, from what was measured.

    python -m benchmarks.scale_model

reads ``benchmarks/scale_measured.jsonl``, lines that ``python -m benchmarks.scale --json FILE``
writes, fits the cost model of ``docs/scale.md`` and prints its errors and its predictions. Seconds
are those of processors, as if one worker of one thread did all.
"""

import argparse
import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

MEASURED = Path(__file__).with_name("scale_measured.jsonl")
FAN_OUT = 4
"""Groups of rows below each group of the tree that adds up answers; see `ruleglm.dask`."""

LATENCY = 1e-3
"""Seconds that a message takes from worker to worker, however short it is: assumed."""

BANDWIDTH = 1.25e9
"""Bytes a second into or out of a worker: assumed, 10 Gbit/s."""

N_COLUMNS = 30
ROW_BYTES = N_COLUMNS + 6 * 8 + 100 / 8
"""Memory a row: codes, six doubles (target, linear predictor, direction, both derivatives and those
kept for the Gram matrix), and about 100 columns of bits."""

ROWS, WORKERS = (10**8, 10**9, 10**10), (16, 128, 1024)


@dataclass(frozen=True)
class CostModel:
    """Seconds of a pursuit to complexity 60 on thirty columns.

    Attributes
    ----------
    question : float, seconds that a question takes beside the work on rows
    row : float, seconds a row, shared by all workers
    questions : float, that the rows are asked in a fit
    megabytes : float, moved over each edge of the tree, in a fit
    """

    question: float
    row: float
    questions: float = 1.0
    megabytes: float = 0.0

    def compute(self, n_rows: float, n_workers: int) -> float:
        """Return the seconds of the work on rows."""
        return self.row * n_rows / n_workers

    def talk(self, n_workers: int) -> float:
        """Return the seconds of messages: latency both ways on every level, and bytes.

        A group takes in what the groups below it send one after the other.
        """
        depth = levels(n_workers)
        wait = self.questions * (self.question + 2 * depth * LATENCY)
        return wait + depth * FAN_OUT * 1e6 * self.megabytes / BANDWIDTH


def levels(n_workers: int) -> int:
    """Return the levels of the tree of so many groups, the way to the first included."""
    return max(1, math.ceil(math.log((FAN_OUT - 1) * n_workers + 1, FAN_OUT)))


def fit_model(found):
    """Fit ``question * questions + row * n`` with the least relative errors, both not negative."""
    from scipy.optimize import nnls

    asked = [sum(use["questions"] for use in one.get("questions", [])) or 1 for one in found]
    rows, seconds = ([one[key] for one in found] for key in ("rows", "cpu"))
    design = np.column_stack([asked, rows]) / np.array(seconds)[:, None]
    scale = np.linalg.norm(design, axis=0)
    question, row = nnls(design / scale, np.ones(len(found)))[0] / scale
    moved = [
        one.get("megabytes", 0.0) * 2 * n / one.get("messages", 1)
        for one, n in zip(found, asked, strict=True)
    ]
    model = CostModel(question, row, float(np.mean(asked)), float(np.mean(moved)))
    predicted = [question * n + row * one["rows"] for one, n in zip(found, asked, strict=True)]
    return model, predicted


def read(path, method):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [one for one in lines if one["method"] == method and "seconds" in one]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measured", type=Path, default=MEASURED)
    path = parser.parse_args().measured
    print("| method | rows | seconds of processors | model | error |\n|---|---|---|---|---|")
    for method in ("local", "dask"):
        found = read(path, method)
        model, predicted = fit_model(found)
        for one, seconds in zip(found, predicted, strict=True):
            cells = f"{method} | {one['rows']:,} | {one['cpu']:.1f} | {seconds:.1f}"
            print(f"| {cells} | {seconds / one['cpu'] - 1:+.0%} |")
        print(
            f"\n{method}: {1e6 * model.row:.1f} s a million rows, {model.questions:.0f} questions "
            f"of {1e3 * model.question:.0f} ms, {model.megabytes:.0f} MB over each edge\n"
        )
    predict(model)


def predict(model):
    """Print what the model says of more rows and workers."""
    print("| rows | workers | seconds | of them messages | GB a worker |\n|---|---|---|---|---|")
    for n_rows in ROWS:
        for n_workers in WORKERS:
            talk = model.talk(n_workers)
            total = model.compute(n_rows, n_workers) + talk
            memory = ROW_BYTES * n_rows / n_workers
            cells = f"10^{round(math.log10(n_rows))} | {n_workers:,} | {total:,.0f} | {talk:.0f}"
            print(f"| {cells} | {memory / 1e9:.1f} |")


if __name__ == "__main__":
    main()
