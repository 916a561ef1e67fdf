"""Rows of any number for measurements of scale: made up, but as uneven as real ones.

    python -m benchmarks.scale_data --rows 1e7 --folder ROWS

writes a folder of Parquet files. Rows are made in blocks of 100,000, block ``k`` from the seed
``(SEED, k)``, so that any part of the rows can be made by itself and in bounded memory, and a
larger table begins with the rows of a smaller one. Rows to test on come from blocks of their own.

Thirty columns: twenty of numbers (whole and real, skewed, with heavy values and long tails, some
correlated, ten without an effect) and ten of levels (2 to 200 of them, with frequencies like those
of words, three without an effect). Five have missing values, in one of them more often where the
target is 1. The target is 1 in about a fifth of the rows; its log-odds are the sum of steps,
curves, effects of levels and six interactions of two to four columns, and of noise that no column
explains.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

SEED = 20_240
BLOCK = 100_000
TEST_BLOCK = 1_000_000
"""Number of the first block of rows to test on."""

LEVELS = {
    "channel": 3,
    "plan": 5,
    "region": 8,
    "device": 12,
    "trade": 20,
    "branch": 50,
    "maker": 100,
    "postcode": 200,
    "weekday": 7,
    "returning": 2,
}
"""Columns of levels and their numbers of levels."""

SPREADS = {"channel": 0.4, "plan": 0.5, "region": 0.3, "trade": 0.4, "branch": 0.3, "postcode": 0.3}
"""Standard deviations of the effects of levels on the log-odds."""

INTERCEPT = -2.1


def make_block(number: int, n_rows: int = BLOCK) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the first rows of a block, and their target."""
    rng = np.random.default_rng([SEED, number])
    numbers = _draw_numbers(rng)
    levels = {name: _draw_levels(rng, size) for name, size in LEVELS.items()}
    log_odds = _log_odds(numbers, levels) + rng.normal(0.0, 0.5, BLOCK)
    y = (rng.random(BLOCK) < 1.0 / (1.0 + np.exp(-log_odds))).astype(np.int8)
    _lose_values(rng, numbers, levels, y)
    columns = {name: values[:n_rows] for name, values in numbers.items()}
    for name, codes in levels.items():
        names = [f"{name[0]}{k:03d}" for k in range(LEVELS[name])]
        columns[name] = pd.Categorical.from_codes(codes[:n_rows], names)
    return pd.DataFrame(columns), y[:n_rows]


def _draw_numbers(rng: np.random.Generator) -> dict[str, np.ndarray]:
    n = BLOCK
    wealth = rng.normal(size=n)
    age = np.clip(18 + 60 * rng.beta(1.6, 2.4, n), 18, 90)
    limit = np.round(np.exp(8.0 + 0.6 * wealth + 0.4 * rng.normal(size=n)), -2)
    numbers = {
        "age": np.floor(age),
        "income": np.round(np.exp(10.3 + 0.5 * wealth + 0.3 * rng.normal(size=n)), 0),
        "balance": np.round(rng.exponential(1.0, n) * limit * (rng.random(n) < 0.6), 2),
        "limit": limit,
        "tenure": np.floor(rng.exponential(40.0, n)),
        "visits": rng.negative_binomial(1.5, 0.2, n).astype(np.float64),
        "late": rng.poisson(0.15, n).astype(np.float64),
        "hour": rng.integers(0, 24, n).astype(np.float64),
        "rating": np.round(np.clip(rng.normal(6.5 + 0.5 * wealth, 1.5), 0, 10), 1),
        "distance": np.round(rng.pareto(1.5, n) * 5, 2),
    }
    for k in range(5):  # without an effect, two of them close to columns that have one
        numbers[f"z{k}"] = rng.normal(size=n) + (wealth if k < 2 else 0.0)
    numbers["z5"] = np.exp(rng.normal(size=n))
    numbers["z6"] = np.round(rng.random(n), 2)
    numbers["z7"] = rng.standard_t(3, n)
    numbers["z8"] = rng.integers(0, 1000, n).astype(np.float64)
    numbers["z9"] = np.where(rng.random(n) < 0.9, 0.0, rng.exponential(1.0, n))
    return numbers


def _draw_levels(rng: np.random.Generator, size: int) -> np.ndarray:
    """Draw levels of which the k-th is as frequent as 1 / (k + 2)."""
    shares = 1.0 / np.arange(2, size + 2)
    return rng.choice(size, BLOCK, p=shares / shares.sum()).astype(np.int16)


def _log_odds(numbers: dict[str, np.ndarray], levels: dict[str, np.ndarray]) -> np.ndarray:
    age, income, balance = numbers["age"], numbers["income"], numbers["balance"]
    late, rating, tenure = numbers["late"], numbers["rating"], numbers["tenure"]
    use = balance / numbers["limit"]
    out = np.full(BLOCK, INTERCEPT)
    out += 0.7 * (late > 0) + 0.9 * (late > 1)
    out -= 0.5 * np.log(income / 30_000)
    out += 0.8 * (age < 25) + 0.3 * np.abs(age - 45) / 20
    out += 0.6 * np.tanh(2 * (use - 0.8))
    out -= 0.12 * (rating - 6.5)
    out += 0.5 * (tenure < 12)
    out += 0.25 * np.sin(numbers["hour"] * np.pi / 12)
    out += 0.4 * (numbers["distance"] > 20)
    for place, (name, spread) in enumerate(SPREADS.items()):
        effects = np.random.default_rng([SEED, 7, place]).normal(0.0, spread, LEVELS[name])
        out += effects[levels[name]]
    night = (numbers["hour"] < 6) | (numbers["hour"] >= 22)
    out += 1.2 * (night & (levels["channel"] == 1))
    out += 1.0 * ((use > 0.9) & (late > 0))
    out -= 1.1 * ((tenure > 60) & (rating > 7) & (levels["returning"] == 1))
    out += 0.9 * ((numbers["visits"] > 10) & (levels["plan"] == 2))
    out += 1.0 * ((age > 60) & (income < 25_000) & (numbers["distance"] > 10))
    out -= 1.3 * ((age > 30) & (age <= 50) & (numbers["limit"] > 4_000) & (levels["region"] <= 1))
    return out


def _lose_values(
    rng: np.random.Generator,
    numbers: dict[str, np.ndarray],
    levels: dict[str, np.ndarray],
    y: np.ndarray,
) -> None:
    """Take values away: at random, and of the rating more often where the target is 1."""
    for name, share in (("income", 0.05), ("distance", 0.2), ("z3", 0.3)):
        numbers[name][rng.random(BLOCK) < share] = np.nan
    numbers["rating"][rng.random(BLOCK) < 0.08 + 0.08 * y] = np.nan
    levels["device"][rng.random(BLOCK) < 0.1] = -1


def make_rows(n_rows: int, first_block: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows in one frame, filled block after block: little more than itself in memory."""
    sample, _ = make_block(first_block, 1)
    columns = {
        name: np.empty(n_rows, np.int16 if name in LEVELS else np.float64) for name in sample
    }
    y = np.empty(n_rows, np.int8)
    for start in range(0, n_rows, BLOCK):
        size = min(BLOCK, n_rows - start)
        block, y[start : start + size] = make_block(first_block + start // BLOCK, size)
        for name, out in columns.items():
            codes = block[name].cat.codes if name in LEVELS else block[name]
            out[start : start + size] = codes.to_numpy()
    for name in LEVELS:
        columns[name] = pd.Categorical.from_codes(columns[name], dtype=sample[name].dtype)
    return pd.DataFrame(columns, copy=False), y


def write_rows(folder: Path, n_rows: int) -> None:
    """Write rows as a folder of Parquet files, with the target as the column ``y``.

    Files have half a million rows, or a quarter of a block where there are few.
    """
    folder.mkdir(parents=True, exist_ok=True)
    step, n_files = (BLOCK, 4) if n_rows <= 5 * BLOCK else (5 * BLOCK, 1)
    for start in range(0, n_rows, step):
        X, y = make_rows(min(step, n_rows - start), start // BLOCK)
        X["y"] = y
        for part in range(n_files):
            name = f"part-{start // step:04d}-{part}.parquet"
            size = -(-len(X) // n_files)
            rows = X.iloc[part * size : (part + 1) * size]
            rows.to_parquet(folder / name, index=False)


def make_test_rows(n_rows: int = BLOCK) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows that no training set of this module holds."""
    return make_rows(n_rows, TEST_BLOCK)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--folder", type=Path, required=True)
    given = parser.parse_args()
    write_rows(given.folder, int(given.rows))
