"""Small files and runs of the command line."""

import json

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from ruleglm.cli import app

SMALL = ("--max-complexity", "4", "--cv", "0")


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


def run(*words, stdin=None, code=0):
    """Run the command line and return what it did; the exit code has to be as said."""
    result = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def run_json(*words, **more):
    """Run with --json; standard output has to be one document."""
    return json.loads(run(*words, "--json", **more).stdout)
