"""The paper's trade-off figures from the committed results, as small SVG files.

The same results give the same bytes with the same matplotlib: nothing in a file depends on the
time or on chance. Text stays text, and coordinates have two decimals.
"""

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.curves import curve_of, front
from experiments.records import FOLDS, METRICS, Metric, Study

NOTICE = "<!-- Written by `python -m experiments.paper figures`; changes by hand are lost. -->\n"
SIZE = (5.6, 3.5)
MARGINS = {"left": 0.13, "right": 0.78, "bottom": 0.13, "top": 0.92}
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "ruleglm",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


@dataclass(frozen=True)
class Look:
    """How a method is drawn; those without numeric features are dashed."""

    colour: str
    marker: str
    dashed: bool = False
    width: float = 1.2


CURVES = {
    "LR1": Look("#56b4e9", "o", dashed=True),
    "LR1N": Look("#0072b2", "o"),
    "LRR": Look("#e69f00", "s", dashed=True),
    "LRRN": Look("#d55e00", "s"),
    "LRRI": Look("#8c564b", "D", dashed=True),
    "LRRN+": Look("#cc79a7", "^", width=1.6),
    "Pursuit": Look("#009e73", "v", width=1.8),
    "RuleFit": Look("#aaaaaa", "x", dashed=True),
    "RuleFitN": Look("#777777", "x"),
}
KINK = 5.0
"""Complexities well below are spaced evenly, those well above by their logarithms."""
TICKS = (0, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
FEW_RULES = 3.0
"""Scores of simpler models may be out of the figure, or they would flatten all of it."""
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
IN_MAIN_PART = {"brier": ("pima", "fico", "magic", "musk"), "r2": ("crime", "wine", "bike")}
LINES = {"LightGBM": (0, (6, 2)), "EBM": (0, (1, 1.5))}
"""Methods that are no rules: a horizontal line at the score of the model chosen."""


def write_figures(results: Path, out: Path) -> None:
    """Write a figure for each measure and data set into a folder.

    Lists of them go to the results, as ``figures.md`` and, for those that the paper has in its main
    part, ``figures-main.md``.
    """
    study = Study.read(results)
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("*.svg"):
        old.unlink()
    everything, chosen = [NOTICE], [NOTICE]
    for metric in METRICS:
        images = {}
        for name in study.datasets(metric.name):
            if (text := draw(study, metric, name)) is not None:
                file = f"{metric.name}-{name}.svg"
                (out / file).write_text(text, encoding="utf-8", newline="\n")
                images[name] = link_image(f"{out.name}/{file}", f"{metric.words} of {name}")
        if images:
            everything += [f"## {metric.words}\n", "\n".join(images.values()) + "\n"]
        main = [images[name] for name in IN_MAIN_PART.get(metric.name, ()) if name in images]
        chosen += ["\n".join(main) + "\n"] if main else []
    for file, parts in (("figures.md", everything), ("figures-main.md", chosen)):
        (results / file).write_text("\n".join(parts), encoding="utf-8", newline="\n")


def link_image(path: str, words: str) -> str:
    """Return a figure that takes half of a line and opens by itself."""
    image = f"![{words} against the weighted number of rules]({path})"
    return f"[{image}{{ width=49% loading=lazy }}]({path})"


def draw(study: Study, metric: Metric, name: str) -> str | None:
    """Return a figure as SVG, None if no method has a curve."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("Figures need matplotlib: pip install 'ruleglm[plot]'") from error

    curves = {method: curve_of(study, metric, name, method) for method in CURVES}
    curves = {method: points for method, points in curves.items() if len(points)}
    if not curves:
        return None
    with mpl.rc_context({**mpl.rcParamsDefault, **STYLE}):
        figure = Figure(figsize=SIZE)
        axes = figure.subplots(gridspec_kw=MARGINS)
        heights = {
            **draw_curves(axes, metric, curves),
            **draw_lines(axes, metric, study, name),
        }
        axes.set_title(name, loc="left", fontweight="bold", fontsize=10)
        add_legend(axes, heights)
        buffer = io.StringIO()
        undated = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(buffer, format="svg", metadata=undated)
    return compact(buffer.getvalue())


def factor_of(metric: Metric) -> float:
    """Return the factor of scores: accuracy and R2 are in percent."""
    return 100.0 if metric.larger_is_better else 1.0


def label_of(method: str, folds: int) -> str:
    """Return a method's name, with the number of its folds where these are not all."""
    return method if folds == FOLDS else method + str(folds).translate(RAISED)


def draw_curves(axes: Any, metric: Metric, curves: dict[str, pd.DataFrame]) -> dict[str, float]:
    """Draw all curves and set the scales; return the best score of each label."""
    heights, fronts = {}, []
    for method, points in curves.items():
        scaled = points.copy()
        scaled[["score", "score_se"]] *= factor_of(metric)
        best = front(scaled, metric)
        label = label_of(method, int(points.folds.min()))
        draw_points(axes, CURVES[method], scaled.drop(best.index))
        draw_front(axes, CURVES[method], best, label)
        heights[label] = float(best.score.iloc[-1])
        fronts.append(best)
    drawn = pd.concat(fronts)
    set_scales(axes, drawn.complexity.max())
    axes.set_ylim(*choose_range(metric, drawn, list(heights.values())))
    better = "high is good" if metric.larger_is_better else "low is good"
    axes.set_ylabel(f"{metric.words}{', %' if metric.larger_is_better else ''} ({better})")
    return heights


def draw_lines(axes: Any, metric: Metric, study: Study, name: str) -> dict[str, float]:
    """Draw horizontal lines at the scores of other methods; return the score of each label."""
    heights = {}
    summary = study.summary(metric.name)
    for method, style in LINES.items():
        if (line := summary.get((name, method))) is not None:
            label, score = label_of(method, line.folds), factor_of(metric) * line.mean
            axes.axhline(score, color="black", linewidth=0.9, linestyle=style, label=label)
            heights[label] = score
    if heights:
        bottom, top = axes.get_ylim()
        margin = 0.03 * (top - bottom)
        axes.set_ylim(
            min(bottom, min(heights.values()) - margin), max(top, max(heights.values()) + margin)
        )
    return heights


def add_legend(axes: Any, heights: dict[str, float]) -> None:
    """List what is drawn, from the top of the figure to its bottom."""
    handles, labels = axes.get_legend_handles_labels()
    pairs = sorted(zip(handles, labels, strict=True), key=lambda pair: -heights[pair[1]])
    axes.legend(
        *zip(*pairs, strict=True),
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
        handlelength=2.6,
    )


def draw_points(axes: Any, look: Look, points: pd.DataFrame) -> None:
    """Draw the points that are not efficient, as small dots."""
    axes.plot(
        points.complexity,
        points.score,
        color=look.colour,
        alpha=0.5,
        linestyle="none",
        marker=".",
        markersize=4,
        markeredgewidth=0,
    )


def draw_front(axes: Any, look: Look, points: pd.DataFrame, label: str) -> None:
    """Draw the efficient points, joined, with standard errors both ways."""
    x, y = points.complexity.to_numpy(float), points.score.to_numpy(float)
    wide, high = (points[name].fillna(0.0).to_numpy() for name in ("complexity_se", "score_se"))
    gap = np.full_like(x, np.nan)  # breaks one path into bars, which keeps files small
    bars = [
        (np.column_stack([np.maximum(x - wide, 0.0), x + wide, gap]), np.column_stack([y, y, gap])),
        (np.column_stack([x, x, gap]), np.column_stack([y - high, y + high, gap])),
    ]
    for across, up in bars:
        axes.plot(across.ravel(), up.ravel(), color=look.colour, linewidth=0.7, alpha=0.4)
    axes.plot(
        x,
        y,
        color=look.colour,
        linewidth=look.width,
        linestyle=(0, (4, 1.5)) if look.dashed else "-",
        marker=look.marker,
        markersize=3.2,
        markeredgewidth=0.8,
        label=label,
    )


def set_scales(axes: Any, far: float) -> None:
    """Space complexities up to the farthest by their logarithms, but for the smallest."""
    right = 1.08 * far + 1
    ticks = [tick for tick in TICKS if tick <= right]
    axes.set_xscale(
        "function", functions=(lambda x: np.log1p(x / KINK), lambda z: KINK * np.expm1(z))
    )
    axes.set_xlim(0, right)
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.set_xlabel("weighted number of rules")
    axes.grid(axis="y", color="#dddddd", linewidth=0.5)
    axes.set_axisbelow(True)


def choose_range(metric: Metric, points: pd.DataFrame, best: list[float]) -> tuple[float, float]:
    """Return the range of scores shown: those from a few rules on, and the best of each method.

    It reaches over a third of the way from the best of all efficient points to the worst.
    """
    gains = metric.sign * points.score
    seen = [*gains[points.complexity >= FEW_RULES], *(metric.sign * score for score in best)]
    top = max(seen)
    low = min(*seen, top - (top - gains.min()) / 3)
    margin = 0.06 * (top - low) or 1e-3
    return tuple(sorted((metric.sign * (low - margin), metric.sign * (top + margin))))


COORDINATES = re.compile(r' (?:d|x|y|transform)="[^"]*"')
MARKERS = re.compile(r"<g( clip-path=[^>]*)?>((?:\s*<use [^>]*/>)+)\s*</g>")
STYLES = re.compile(r' style="([^"]*)"')


def compact(svg: str) -> str:
    """Return an SVG with coordinates of one decimal, and one style for all markers of a line."""
    svg = COORDINATES.sub(lambda found: re.sub(r"-?\d+\.\d+", round_number, found[0]), svg)
    svg = MARKERS.sub(hoist_style, svg)
    return re.sub(r"^ +| +$", "", svg, flags=re.MULTILINE)


def round_number(found: re.Match[str]) -> str:
    """Return a number with at most one decimal."""
    return f"{float(found[0]):.1f}".removesuffix(".0")


def hoist_style(found: re.Match[str]) -> str:
    """Return a group of markers, its style written once if all have the same."""
    styles = set(STYLES.findall(found[2]))
    if len(styles) != 1:
        return found[0]
    return f'<g{found[1] or ""} style="{styles.pop()}">{STYLES.sub("", found[2])}</g>'
