"""Small random data frames of the kind that users have."""

import numpy as np
import pandas as pd


def mixed_frame(n=300, seed=0):
    """Numbers, counts with a heavy zero, categories, booleans, all with missing values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "income": np.round(rng.lognormal(10, 1, n), 2),
            "claims": np.where(rng.random(n) < 0.7, 0, rng.integers(1, 9, n)),
            "sex": rng.choice(["F", "M"], n),
            "region": pd.Categorical(rng.choice(["north", "south", "o'east", "we`st"], n)),
            "size": pd.Categorical(
                rng.choice(["S", "M", "L", "XL"], n), ["S", "M", "L", "XL"], ordered=True
            ),
            "smoker": rng.random(n) < 0.3,
            "odd name\n;": rng.standard_normal(n),
        }
    )
    frame.loc[rng.random(n) < 0.15, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "region"] = None
    return frame


def mixed_signal(frame, seed=1):
    """A linear predictor with steps, an interaction and noise."""
    rng = np.random.default_rng(seed)
    eta = 1.0 * (frame["age"] > 50) - 0.7 * (frame["region"] == "south") + 0.5 * frame["smoker"]
    eta = (
        eta
        + 0.4 * frame["odd name\n;"]
        + 0.9 * ((frame["claims"] > 2) & (frame["sex"] == "F"))
        + 0.4 * frame["age"].isna()
    )
    return eta.to_numpy(float) + 0.5 * rng.standard_normal(len(frame))


def target_of(family, frame, seed=1):
    """A target of the family that depends on the frame."""
    rng = np.random.default_rng(seed + 100)
    eta = mixed_signal(frame, seed)
    if family == "gaussian":
        return 30 + 7 * eta
    if family == "binomial":
        return (eta > 0.4).astype(float)
    mean = np.exp(0.5 * eta)
    if family == "poisson":
        return rng.poisson(mean).astype(float)
    if family == "negative_binomial":
        return rng.poisson(mean * rng.gamma(1.0, 1.0, len(frame))).astype(float)
    amounts = mean * rng.gamma(3.0, 1 / 3, len(frame))
    return amounts if family == "gamma" else np.where(rng.random(len(frame)) < 0.3, 0.0, amounts)
