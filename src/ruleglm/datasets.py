"""Made-up rows of three kinds for examples: loans, insurance policies, patients.

Nothing in them is about real people. The same seed gives the same rows.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ruleglm.dtypes import BoolArray

if TYPE_CHECKING:
    import pandas as pd


def make_loans(n: int = 2000, seed: int = 0) -> "pd.DataFrame":
    """Return loans and whether they went bad.

    Parameters
    ----------
    n : int
        Rows.
    seed : int

    Returns
    -------
    DataFrame
        ``income`` (thousands a year), ``debt_ratio``, ``utilisation`` (of credit lines),
        ``late_payments``, ``age``, ``job``, ``home``, ``years_employed`` (missing for those without
        a job, and some others), and the target ``default``, "yes" or "no".
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    job = rng.choice(["salaried", "self-employed", "retired", "none"], n, p=[0.6, 0.2, 0.12, 0.08])
    age = np.where(job == "retired", rng.integers(60, 80, n), rng.integers(19, 65, n))
    income = np.round(np.exp(rng.normal(3.6, 0.45, n)) * np.where(job == "none", 0.45, 1.0), 1)
    years = np.round(rng.gamma(1.6, 3.5, n), 1)
    years[np.isin(job, ["none", "retired"]) | (rng.random(n) < 0.05)] = np.nan
    frame = pd.DataFrame(
        {
            "income": income,
            "debt_ratio": np.round(rng.beta(2, 4, n), 2),
            "utilisation": np.round(rng.beta(1.2, 1.8, n), 2),
            "late_payments": rng.poisson(0.6, n),
            "age": age,
            "job": pd.Categorical(job),
            "home": pd.Categorical(rng.choice(["own", "mortgage", "rent"], n, p=[0.25, 0.4, 0.35])),
            "years_employed": years,
        }
    )
    stretched = (frame["debt_ratio"] > 0.45) & (frame["income"] < 40)
    score = (
        -2.9
        + 0.9 * (frame["late_payments"] > 0)
        + 0.8 * (frame["late_payments"] > 2)
        + 1.8 * frame["utilisation"]
        + 1.5 * stretched
        + 0.9 * (frame["job"] == "none")
        - 0.6 * (frame["home"] == "own")
        - 0.7 * (frame["years_employed"] > 5)
    )
    frame["default"] = np.where(_happens(rng, score), "yes", "no")
    return frame


def make_policies(n: int = 4000, seed: int = 0) -> "pd.DataFrame":
    """Return car insurance policies with their claims.

    Parameters
    ----------
    n : int
        Rows.
    seed : int

    Returns
    -------
    DataFrame
        ``driver_age``, ``car_age``, ``power``, ``region``, ``use``, and what happened: ``years``
        (time insured), ``claims`` (their number) and ``cost`` (of all claims together, 0 without).
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "driver_age": rng.integers(18, 85, n),
            "car_age": rng.integers(0, 20, n),
            "power": rng.integers(40, 250, n),
            "region": pd.Categorical(rng.choice(["coast", "city", "hills", "plain"], n)),
            "use": pd.Categorical(rng.choice(["private", "business"], n, p=[0.8, 0.2])),
        }
    )
    young = frame["driver_age"] < 26
    frequency = np.exp(
        -1.2
        + 0.9 * young
        + 0.6 * (young & (frame["power"] > 150))
        + 0.4 * (frame["region"] == "city")
        + 0.5 * (frame["use"] == "business")
        - 0.3 * (frame["car_age"] > 12)
    )
    severity = np.exp(
        7.0 + 0.004 * frame["power"] + 0.3 * (frame["region"] == "hills") - 0.03 * frame["car_age"]
    )
    frame["years"] = np.round(rng.uniform(0.1, 1.0, n), 2)
    frame["claims"] = rng.poisson(frequency * frame["years"])
    frame["cost"] = np.round(0.5 * severity * rng.gamma(2.0 * np.maximum(frame["claims"], 1)), 2)
    frame.loc[frame["claims"] == 0, "cost"] = 0.0
    return frame


def make_patients(n: int = 1500, seed: int = 0) -> "pd.DataFrame":
    """Return patients in a hospital and whether they were readmitted within a month.

    Parameters
    ----------
    n : int
        Rows.
    seed : int

    Returns
    -------
    DataFrame
        ``age``, ``sex``, ``bmi``, ``glucose``, ``creatinine``, ``lactate`` (measured in those who
        looked ill only, so that its absence says something), ``stays`` (in the last year),
        ``ward``, and the target ``readmitted``, "yes" or "no".
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    age, illness = rng.integers(20, 95, n), rng.normal(0.0, 1.0, n)
    lactate = np.round(np.exp(0.4 + 0.4 * illness + rng.normal(0.0, 0.3, n)), 1)
    lactate[illness + rng.normal(0.0, 0.7, n) < 0.3] = np.nan
    frame = pd.DataFrame(
        {
            "age": age,
            "sex": pd.Categorical(rng.choice(["F", "M"], n)),
            "bmi": np.round(rng.normal(27, 4.5, n), 1),
            "glucose": np.round(rng.normal(6.2, 1.4, n) + 0.4 * illness, 1),
            "creatinine": np.round(np.exp(rng.normal(4.4, 0.25, n) + 0.1 * illness)),
            "lactate": lactate,
            "stays": rng.poisson(0.8, n),
            "ward": pd.Categorical(rng.choice(["medicine", "surgery", "cardiology"], n)),
        }
    )
    frame.loc[rng.random(n) < 0.1, "glucose"] = np.nan
    score = (
        -2.4
        + 0.9 * (frame["stays"] > 1)
        + 0.8 * (frame["age"] > 70)
        + 1.0 * ((frame["age"] > 70) & (frame["creatinine"] > 95))
        + 1.2 * (frame["lactate"] > 2)
        + 0.5 * (frame["glucose"] > 7.5)
        - 0.4 * (frame["ward"] == "surgery")
    )
    frame["readmitted"] = np.where(_happens(rng, score), "yes", "no")
    return frame


def _happens(rng: np.random.Generator, score: ArrayLike) -> BoolArray:
    """Draw what happens with these log-odds."""
    chances = 1.0 / (1.0 + np.exp(-np.asarray(score)))
    return np.asarray(rng.random(len(chances)) < chances)
