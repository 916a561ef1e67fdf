"""Small files and runs of the command line."""

import json

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from ruleglm.cli import app

SMALL = ("--max-complexity", "4", "--cv", "0")

OTHERS = ("--drop", "amount", "--drop", "claims", "--drop", "weight", "--drop", "years")
"""Columns that have no place in a model of the income."""


def people(n=160, seed=0):
    """Rows with numbers, texts, gaps, odd names, and targets of several kinds."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "job [title]": rng.choice(["clerk", "it's me", "a, b; c"], n),
            "code": rng.choice(["1", "2", "x"], n),
            "hours per week": np.round(rng.normal(40, 9, n), 1),
            "weight": rng.integers(1, 4, n),
            "years": np.round(rng.uniform(0.5, 2.0, n), 2),
        }
    )
    eta = 0.06 * (frame["age"] - 45) + 1.5 * (frame["code"] == "1") - 0.5
    frame["income"] = np.where(eta + rng.logistic(size=n) > 0, ">50K", "<=50K")
    frame["amount"] = np.round(20 + 5 * eta + rng.normal(size=n), 3)
    frame["claims"] = rng.poisson(np.exp(0.3 * eta) * frame["years"])
    frame.loc[rng.random(n) < 0.1, "hours per week"] = np.nan
    return frame


def run(*words, stdin=None, code=0, columns=80):
    """Run the command line and return what it did; the exit code has to be as said."""
    result = CliRunner().invoke(
        app, [str(word) for word in words], input=stdin, env={"COLUMNS": str(columns)}
    )
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def run_json(*words, **more):
    """Run with --json; standard output has to be one document."""
    return json.loads(run(*words, "--json", **more).stdout)


def fill_folder(folder):
    """Write rows, a classifier, a regression and a model of counts with exposure to a folder."""
    people().to_csv(folder / "people.csv", index=False)
    people(80, seed=1).to_csv(folder / "new.csv", index=False)
    data = folder / "people.csv"
    run("fit", data, "-t", "income", *OTHERS, *SMALL, "-o", folder / "income.json")
    drops = ("--drop", "income", "--drop", "claims", "--drop", "years")
    words = ("--weights", "weight", "--max-complexity", "4", "--cv", "2")
    run("fit", data, "-t", "amount", *drops, *words, "-o", folder / "amount.json")
    drops = ("--drop", "income", "--drop", "amount", "--drop", "weight")
    words = ("--exposure", "years", *SMALL, "-o", folder / "claims.json")
    run("fit", data, "-t", "claims", *drops, *words)
    return folder


def read(name, folder):
    """Return the rows of a file."""
    return pd.read_csv(folder / name)


def features(frame):
    """Return the columns that the models are fitted to."""
    return frame[["age", "job [title]", "code", "hours per week"]]


def widest(text):
    """Return the length of the longest line."""
    return max(map(len, text.splitlines()))
