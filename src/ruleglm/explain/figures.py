"""Figures with matplotlib: they draw the data of the other modules and compute nothing new.

Every function takes axes to draw in, or makes a figure, and returns the axes.
"""

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ruleglm.conditions import quote_name
from ruleglm.dtypes import FloatArray
from ruleglm.ensemble import count
from ruleglm.explain.local import write_value

if TYPE_CHECKING:
    import pandas as pd

BLUE, RED, GREY, PALE = "#2b6cb0", "#c05621", "#8a8f98", "#d7dbe0"

LONGEST = 42
"""Characters of a label; longer ones are cut in the middle."""


def import_pyplot() -> Any:
    """Return matplotlib.pyplot, or say how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            'Plots need matplotlib: pip install "ruleglm[plot]"', name="matplotlib"
        ) from error
    return plt


def write_label(text: Any, longest: int = LONGEST) -> str:
    """Return text as matplotlib shows it to the letter, on one line and not too long."""
    words = " ".join(str(text).split())
    if len(words) > longest:
        half = (longest - 3) // 2
        words = f"{words[:half]}...{words[-half:]}"
    return words.replace("$", r"\$")


def write_lines(text: Any, width: int = 46) -> str:
    """Return text as `write_label` does, on up to two lines."""
    lines = textwrap.wrap(" ".join(str(text).split()), width, break_on_hyphens=False)
    if len(lines) > 2:
        lines = textwrap.wrap(write_label(text, 2 * width - 8).replace(r"\$", "$"), width)[:2]
    return "\n".join(lines).replace("$", r"\$")


def make_axes(ax: Any, width: float = 6.4, height: float = 4.8) -> Any:
    """Return the axes given, or those of a new figure."""
    if ax is not None:
        return ax
    return import_pyplot().subplots(figsize=(width, height), layout="constrained")[1]


def tidy(ax: Any, grid: str = "y") -> None:
    """Take away what is no data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, color=PALE, linewidth=0.6)
    ax.set_axisbelow(True)


# -------------------------------------------------------------------------------------- trade-off


def draw_tradeoff(table: "pd.DataFrame", scored: bool, label: str, ax: Any = None) -> Any:
    """Draw score against complexity: all models, the efficient ones joined, the one chosen.

    Parameters
    ----------
    table : pandas.DataFrame
        Of `TradeoffPath.table`.
    scored : bool
        Whether there are cross-validated scores.
    label : str
        What the score is.
    ax : matplotlib Axes, optional
    """
    ax = make_axes(ax)
    table = table.sort_values(["complexity", "train_loss"])
    height = "cv_mean" if scored else "train_loss"
    table = table[np.isfinite(table[height])]
    bars = table["cv_se"] if scored else None
    style = {"fmt": "o", "color": GREY, "ms": 3.5, "elinewidth": 0.8, "label": "models"}
    ax.errorbar(table["complexity"], table[height], bars, **style)
    front = table[table["efficient"]]
    ax.plot(front["complexity"], front[height], "o-", color=BLUE, ms=4.5, label="efficient")
    one = table[table["chosen"]]
    if len(one):
        ax.plot(one["complexity"], one[height], "*", color=RED, ms=15, label="chosen", zorder=5)
        rules, lines = int(one["n_rules"].iloc[0]), int(one["n_linear"].iloc[0])
        sizes = count(rules, "rule") + (f" and {count(lines, 'line')}" if lines else "")
        ax.set_title(f"chosen: {sizes}", fontsize="medium", loc="left")
    ax.set_xlabel("complexity")
    ax.set_ylabel(label)
    tidy(ax)
    ax.legend(frameon=False)
    return ax


# ------------------------------------------------------------------------------ importances, pairs


def draw_importances(table: "pd.DataFrame", most: int = 15, ax: Any = None) -> Any:
    """Draw the importance of features as bars, split into terms alone and with others.

    Parameters
    ----------
    table : pandas.DataFrame
        Of `feature_importances`.
    most : int
        The most bars.
    ax : matplotlib Axes, optional
    """
    table = table[table["importance"] > 0].head(most).iloc[::-1]
    ax = make_axes(ax, height=1.2 + 0.28 * len(table))
    places = np.arange(len(table))
    ax.barh(places, table["alone"], color=BLUE, label="by itself")
    ax.barh(places, table["together"], left=table["alone"], color=RED, label="with others")
    ax.set_yticks(places, [write_label(name) for name in table["feature"]])
    ax.set_xlabel("importance, sd of the linear predictor")
    tidy(ax, "x")
    if len(table):
        ax.legend(frameon=False, loc="lower right")
    return ax


def draw_interactions(table: "pd.DataFrame", most: int = 15, ax: Any = None) -> Any:
    """Draw how strongly pairs of features act together, with H beside the bars if it is known.

    Parameters
    ----------
    table : pandas.DataFrame
        Of `measure_interactions` or `pair_importances`.
    most : int
        The most bars.
    ax : matplotlib Axes, optional
    """
    what = "strength" if "strength" in table else "importance"
    table = table.head(most).iloc[::-1]
    ax = make_axes(ax, height=1.2 + 0.28 * max(len(table), 1))
    places = np.arange(len(table))
    bars = ax.barh(places, table[what], color=RED)
    if "h" in table:
        notes = [f"H = {h:.2f}" for h in table["h"]]
        ax.bar_label(bars, notes, padding=4, color=GREY, fontsize="small")
        ax.margins(x=0.15)
    pairs = zip(table["feature_1"], table["feature_2"], strict=True)
    names = [f"{write_label(one, 24)} & {write_label(other, 24)}" for one, other in pairs]
    ax.set_yticks(places, names)
    words = "beyond each by itself" if what == "strength" else "of the rules with both"
    ax.set_xlabel(f"{what} {words}, sd")
    if len(table) == 0:
        ax.set_xticks([])
        ax.text(0.5, 0.5, "no rule has two features", ha="center", transform=ax.transAxes)
    tidy(ax, "x")
    return ax


# -------------------------------------------------------------------------------------- one row


def draw_waterfall(explanation: Any, by: str = "terms", most: int = 12, ax: Any = None) -> Any:
    """Draw the prediction of one row as a sum, from the intercept at the top to the prediction.

    Parameters
    ----------
    explanation : Explanation
        Of one linear predictor: give ``class_`` for several classes.
    by : {"terms", "features"}
    most : int
        The most bars; what is left is drawn as one.
    ax : matplotlib Axes, optional
    """
    if np.ndim(explanation.eta):
        raise ValueError("A waterfall is of one class; explain the row with `class_`.")
    labels, parts = _waterfall_parts(explanation, by, most)
    ax = make_axes(ax, 8.0, 1.4 + 0.36 * max(len(parts), 2))
    ends = np.cumsum(parts)
    starts = np.concatenate([[0.0], ends[:-1]])
    places = np.arange(len(parts))[::-1]
    colours = [GREY, *(BLUE if part >= 0 else RED for part in parts[1:])]
    ax.barh(places, parts, left=starts, color=colours, height=0.62)
    for place, end in zip(places[:-1], ends[:-1], strict=True):
        ax.plot([end, end], [place - 0.69, place + 0.31], color=GREY, linewidth=0.6)
    _write_parts(ax, places.astype(np.float64), starts, ends, parts)
    ax.axvline(float(explanation.eta), color="black", linewidth=0.8, linestyle=":")
    ax.set_yticks(places, labels, fontsize="small")
    ax.set_ylim(min(-0.7, len(parts) - 2.5), len(parts) - 0.3)
    scale = SCALES.get(explanation.link)
    ax.set_xlabel(f"{scale or 'prediction'}, added up")
    title = f"{write_label(explanation.what)}: {explanation.mean:.4g}"
    title += f" ({scale} {explanation.eta:.4g})" if scale else ""
    tidy(ax, "x")
    ax.set_title(title, fontsize="medium", loc="left")
    _add_mean_axis(ax, explanation.link)
    return ax


def _waterfall_parts(explanation: Any, by: str, most: int) -> tuple[list[str], FloatArray]:
    """Return labels and contributions, the smallest ones in one."""
    if by not in ("terms", "features"):
        raise ValueError(f"`by` is {by!r}; use 'terms' or 'features'.")
    table = getattr(explanation, by)
    labels = []
    for name, features in table.iloc[:, :2].itertuples(index=False):
        told = [f"{feature} = {write_value(explanation.values[feature])}" for feature in features]
        shown = by == "features" or name in [quote_name(feature) for feature in features]
        labels.append(write_lines(", ".join(told) if shown and told else name))
    parts = table["contribution"].to_numpy()
    if len(parts) > most + 1:
        rest = len(parts) - most
        labels = [*labels[:most], f"{rest} smaller ones"]
        parts = np.append(parts[:most], parts[most:].sum())
    return labels, parts


def _write_parts(
    ax: Any, places: FloatArray, starts: FloatArray, ends: FloatArray, parts: FloatArray
) -> None:
    """Write each contribution beside its bar."""
    low, high = min(0.0, float(ends.min())), max(0.0, float(ends.max()))
    room = 0.01 * ((high - low) or 1.0)
    for place, start, end, part in zip(places, starts, ends, parts, strict=True):
        edge = max(start, end) + room
        ax.text(edge, place, f"{part:+.3g}", va="center", fontsize="small")
    ax.set_xlim(low - 4 * room, high + 12 * room)


SCALES = {"logit": "log-odds", "log": "logarithm of the mean", "softmax": "score of the class"}

PROBABILITIES = (0.5, 0.1, 0.9, 0.01, 0.99, 0.25, 0.75, 0.001, 0.999, 0.05, 0.95, 0.4, 0.6)
"""Ticks of an axis of probabilities, those to be kept first."""


def _add_mean_axis(ax: Any, link: str) -> None:
    """Put the mean on an axis at the top, where it is not on the one at the bottom."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    low, high = ax.get_xlim()
    if link == "logit":
        means = np.array(PROBABILITIES)
        places = np.log(means) - np.log1p(-means)
    elif link == "log":
        locator = LogLocator(subs=(1, 2, 5)) if high - low > 3 else MaxNLocator(8)
        means = np.asarray(locator.tick_values(np.exp(low), np.exp(high)))
        means = means[means > 0]
        places = np.log(means)
    else:
        return
    kept: list[int] = []
    for k in np.flatnonzero((places >= low) & (places <= high)).tolist():
        if all(abs(places[k] - places[other]) > 0.07 * (high - low) for other in kept):
            kept.append(k)
    top = ax.secondary_xaxis("top")
    top.set_xticks(places[kept], [f"{mean:.4g}" for mean in means[kept]], fontsize="small")
    top.tick_params(colors=GREY, length=2)
    top.spines["top"].set_color(PALE)


# ------------------------------------------------------------------------------------ calibration


def draw_calibration(bins: "pd.DataFrame", ax: Any = None) -> Any:
    """Draw observed against predicted means, with two standard errors.

    Parameters
    ----------
    bins : pandas.DataFrame
        Of `Calibration.bins`.
    ax : matplotlib Axes, optional
    """
    ax = make_axes(ax, 5.0, 4.8)
    groups = bins.groupby("class", sort=False) if "class" in bins else [(None, bins)]
    errors = 2 * bins["standard_error"].to_numpy()
    seen = np.concatenate([bins["predicted"], bins["observed"] - errors, bins["observed"] + errors])
    low, high = float(seen.min()), float(seen.max())
    if "class" in bins or (low >= -0.05 and high <= 1.05 and high - low > 0.5):
        low, high = max(low, 0.0), min(high, 1.0)
    margin = 0.04 * ((high - low) or 1.0)
    ends = [low - margin, high + margin]
    ax.plot(ends, ends, color=GREY, linewidth=0.8, linestyle="--", label="ideal")
    for name, table in groups:
        label = "observed" if name is None else write_label(name)
        style = {"fmt": "o-", "ms": 4.5, "linewidth": 1.2, "elinewidth": 0.8}
        colour = {"color": BLUE} if name is None else {}
        ax.errorbar(
            table["predicted"],
            table["observed"],
            2 * table["standard_error"],
            label=label,
            **style,
            **colour,
        )
    ax.set_xlim(*ends)
    ax.set_ylim(*ends)
    ax.set_aspect("equal")
    ax.set_xlabel("predicted")
    ax.set_ylabel("observed (two standard errors)")
    tidy(ax, "both")
    ax.legend(frameon=False)
    return ax
