"""Records on disk: one JSON file for each data set, method and fold, and the tables made of them.

A record is written to a temporary file and renamed, so that one that is there is whole.
"""

import csv
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import ruleglm
from experiments.protocol import METRICS

N_FOLDS = 10
PACKAGES = (
    *("numpy", "numba", "scipy", "pandas", "scikit-learn", "highspy"),
    *("imodels", "lightgbm", "xgboost", "interpret-core"),
)
SCORE_COLUMNS = (
    *("dataset", "task", "method", "metric", "fold", "score", "complexity", "rules", "parameters"),
    *("seconds", "cpu_seconds", "train_rows", "inner_folds", "seed", "note"),
)
CURVE_NUMBERS = "complexity", "brier", "accuracy", "r2"
CURVE_COLUMNS = (
    *("dataset", "task", "method", "position", "parameters", "folds"),
    *(column for name in CURVE_NUMBERS for column in (name, f"{name}_se")),
)


@dataclass(frozen=True, order=True)
class Unit:
    """A piece of work: one outer fold of a data set for one method."""

    dataset: str
    method: str
    fold: int

    def path(self, folder: Path) -> Path:
        """Return where its record is."""
        return folder / self.dataset / self.method / f"{self.fold}.json"


@dataclass(frozen=True)
class Record:
    """What is kept of a unit; ``error`` says why there is nothing else."""

    dataset: str
    task: str
    method: str
    fold: int
    train_rows: int = 0
    seed: int = 0
    chosen: list[dict[str, Any]] = field(default_factory=list)
    curve: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    inner_folds: int = 0
    note: str = ""
    error: str = ""

    @property
    def unit(self) -> Unit:
        """The work that it is the record of."""
        return Unit(self.dataset, self.method, self.fold)

    def write(self, folder: Path) -> None:
        """Write the record, all of it or nothing."""
        path = self.unit.path(folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}.part")
        draft.write_text(json.dumps(asdict(self)), encoding="utf-8")
        draft.replace(path)


def read_records(folder: Path) -> list[Record]:
    """Return all records of a folder, in the order of their units."""
    paths = sorted(folder.glob("*/*/*.json"))
    return [Record(**json.loads(path.read_text(encoding="utf-8"))) for path in paths]


def write_results(records: Iterable[Record], folder: Path) -> None:
    """Write scores.csv, curves.csv and versions.csv."""
    done = sorted((record for record in records if not record.error), key=lambda one: one.unit)
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(folder / "scores.csv", SCORE_COLUMNS, score_lines(done))
    write_csv(folder / "curves.csv", CURVE_COLUMNS, curve_lines(done))
    write_csv(folder / "versions.csv", ("package", "version"), version_lines())


def write_csv(path: Path, columns: tuple[str, ...], lines: Iterable[dict[str, Any]]) -> None:
    """Write a table to a temporary file and rename it."""
    draft = path.with_suffix(".part")
    with draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    draft.replace(path)


def score_lines(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """Yield a line for each model that was chosen."""
    for record in records:
        for chosen in record.chosen:
            yield {
                "dataset": record.dataset,
                "task": record.task,
                "method": record.method,
                "metric": chosen["metric"],
                "fold": record.fold,
                "score": shorten(chosen[chosen["metric"]]),
                "complexity": shorten(chosen["complexity"]),
                "rules": shorten(chosen["rules"]),
                "parameters": say(chosen["parameters"]),
                "seconds": shorten(record.seconds, 4),
                "cpu_seconds": shorten(record.cpu_seconds, 4),
                "train_rows": record.train_rows,
                "inner_folds": record.inner_folds,
                "seed": record.seed,
                "note": record.note,
            }


def curve_lines(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """Yield the mean over folds of each point of each curve that is more than a point."""
    groups: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
    for record in records:
        if len(record.curve) > 1:
            groups[record.dataset, record.task, record.method].append(record)
    for (dataset, task, method), members in groups.items():
        for position, points in enumerate(zip(*(one.curve for one in members), strict=False)):
            line: dict[str, Any] = {"dataset": dataset, "task": task, "method": method}
            line |= {"position": position, "parameters": say(points[0]["parameters"])}
            line["folds"] = len(points)
            for name in ("complexity", *METRICS[task]):
                values = [point[name] for point in points]
                if all(value is not None for value in values):
                    line[name] = shorten(fmean(values))
                    line[f"{name}_se"] = shorten(standard_error(values))
            yield line


def standard_error(values: list[float]) -> float | None:
    """Return the standard error of a mean, None for a single value."""
    return stdev(values) / len(values) ** 0.5 if len(values) > 1 else None


def say(parameters: dict[str, Any]) -> str:
    """Return parameters as JSON, numbers with the digits that matter."""
    return json.dumps({key: shorten(value, 4) for key, value in parameters.items()})


def shorten(value: Any, digits: int = 6) -> Any:
    """Return a number with that many digits; anything else as it is."""
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def version_lines() -> Iterator[dict[str, str]]:
    """Yield the versions of the packages that are installed."""
    yield {"package": "ruleglm", "version": ruleglm.__version__}
    for package in PACKAGES:
        try:
            yield {"package": package, "version": version(package)}
        except PackageNotFoundError:
            continue
