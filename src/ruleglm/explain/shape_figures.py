"""Figures of the functions of single features: steps and lines, levels, missing values."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ruleglm.dtypes import FloatArray
from ruleglm.explain.figures import (
    BLUE,
    GREY,
    PALE,
    SCALES,
    import_pyplot,
    make_axes,
    tidy,
    write_label,
)
from ruleglm.explain.options import ColumnFacts, Facts
from ruleglm.explain.shapes import FeatureShape, LevelShape, NumberShape, Shapes

MOST_LEVELS = 14
"""Levels in one panel, those with the largest values."""


def draw_shapes(
    shapes: Shapes,
    facts: Facts | None = None,
    features: Sequence[str] | None = None,
    most: int = 12,
    columns: int = 3,
) -> Any:
    """Draw the functions of single features in a grid, all on one scale.

    Parameters
    ----------
    shapes : Shapes
        Centred ones show effects around the mean.
    facts : dict from name to ColumnFacts, optional
        Where most numbers of the columns are; otherwise numbers are drawn around the thresholds.
    features : sequence of str, optional
        What to draw, in this order; by default those with the widest range first.
    most : int
        The most panels.
    columns : int
        Panels side by side.

    Returns
    -------
    ndarray of Axes, flat, one for each panel
    """
    plt = import_pyplot()
    chosen = [shapes[name] for name in features] if features is not None else _by_range(shapes)
    chosen = chosen[:most]
    if not chosen:
        raise ValueError("The model has no rule or line of a single feature: nothing to draw.")
    columns = min(columns, len(chosen))
    rows = math.ceil(len(chosen) / columns)
    size = 3.4 * columns, 2.7 * rows
    _, grid = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    panels = grid.ravel()
    for place, (panel, shape) in enumerate(zip(panels, chosen, strict=False)):
        draw_shape(shape, shapes, facts, panel)
        if place % columns:
            panel.set_ylabel("")
    for panel in panels[len(chosen) :]:
        panel.set_visible(False)
    used = panels[: len(chosen)]
    ends = np.array([panel.get_ylim() for panel in used])
    for panel in used:
        panel.set_ylim(ends[:, 0].min(), ends[:, 1].max())
    if shapes.coefficients.ndim > 1:
        used[0].legend(frameon=False, fontsize="small")
    return used


def draw_shape(
    shape: FeatureShape, shapes: Shapes, facts: Facts | None = None, ax: Any = None
) -> Any:
    """Draw the function of one feature.

    Parameters
    ----------
    shape : NumberShape or LevelShape
    shapes : Shapes, which it is from
    facts : dict from name to ColumnFacts, optional
    ax : matplotlib Axes, optional
    """
    ax = make_axes(ax, 4.0, 3.2)
    several = shapes.coefficients.ndim > 1
    classes = shapes.ensemble.classes if several else (None,)
    ax.axhline(0.0, color=GREY, linewidth=0.6)
    for place, label in enumerate(classes):
        part = shape.of_class(place) if several else shape
        colour = f"C{place}" if several else BLUE
        if isinstance(part, NumberShape):
            _draw_number(part, (facts or {}).get(part.feature), ax, colour, label)
        else:
            _draw_levels(part, ax, colour, label, place, len(classes))
    ax.set_title(write_label(shape.feature), fontsize="medium")
    ax.set_ylabel(SCALES.get(shapes.ensemble.family.link, "prediction"))
    tidy(ax)
    return ax


def _by_range(shapes: Shapes) -> list[FeatureShape]:
    """Return the shapes, the one with the widest range of values first; missing aside."""
    return sorted(shapes, key=lambda shape: -float(np.max(np.ptp(_known(shape), axis=0))))


def _known(shape: FeatureShape) -> FloatArray:
    if isinstance(shape, NumberShape):
        return np.concatenate([shape.starts, shape.ends])
    return np.concatenate([shape.level_values, [shape.other]])


def _draw_number(
    shape: NumberShape, facts: ColumnFacts | None, ax: Any, colour: str, label: Any
) -> None:
    """Draw pieces, thin jumps between them, and missing as a diamond beside them."""
    left, right = _find_span(shape, facts)
    anchors = shape.anchors
    bounds = [left, *shape.breaks.tolist(), right]
    pieces = [np.array(ends) for ends in pairwise(bounds)]
    values = [shape.starts[k] + shape.slopes[k] * (x - anchors[k]) for k, x in enumerate(pieces)]
    for x, y in zip(pieces, values, strict=True):
        ax.plot(x, y, color=colour, linewidth=2)
    for x, before, after in zip(pieces, values, values[1:], strict=False):
        ax.plot([x[1], x[1]], [before[1], after[0]], color=colour, linewidth=0.7)
    ax.lines[-1].set_label(_name(label))
    gap = right + 0.09 * (right - left)
    style = {"color": "white", "markeredgecolor": colour, "zorder": 4}
    ax.plot([gap], [shape.missing], "D", ms=5, **style)
    ax.axvline(right, color=PALE, linewidth=0.8)
    ax.set_xlim(left, gap + 0.07 * (right - left))
    _label_missing(ax, right, gap)


def _find_span(shape: NumberShape, facts: ColumnFacts | None) -> tuple[float, float]:
    """Return where to draw: around the thresholds, and where most numbers are."""
    ends = shape.breaks.tolist()
    if facts is not None and math.isfinite(facts.high - facts.low):
        ends += [facts.low, facts.high]
    low, high = min(ends, default=0.0), max(ends, default=0.0)
    margin = 0.06 * (high - low) or max(1.0, 0.25 * abs(low))
    return low - margin, high + margin


def _label_missing(ax: Any, right: float, gap: float) -> None:
    """Put ticks under the numbers, and one that says missing."""
    from matplotlib.ticker import MaxNLocator

    left = ax.get_xlim()[0]
    found = MaxNLocator(4).tick_values(left, right)
    ticks = [float(tick) for tick in found if left <= tick <= right - 0.08 * (right - left)]
    ax.set_xticks([*ticks, gap], [*(f"{tick:.6g}" for tick in ticks), "missing"])
    ax.get_xticklabels()[-1].set_color(GREY)


def _draw_levels(
    shape: LevelShape, ax: Any, colour: str, label: Any, place: int, n_classes: int
) -> None:
    """Draw a bar for each level; other levels and missing values are hollow."""
    kept = list(range(len(shape.levels)))
    if len(kept) > MOST_LEVELS:
        sizes = np.abs(shape.level_values)
        kept = sorted(np.argsort(-sizes, kind="stable")[:MOST_LEVELS].tolist())
    values = [*(float(shape.level_values[k]) for k in kept), shape.other, shape.missing]
    names = [*(write_label(shape.levels[k], 14) for k in kept), "(other)", "(missing)"]
    width = 0.8 / n_classes
    x = np.arange(len(values)) + width * (place - (n_classes - 1) / 2)
    known = len(kept)
    ax.bar(x[:known], values[:known], width, color=colour, label=_name(label))
    ax.bar(x[known:], values[known:], width, color="white", edgecolor=colour, hatch="////")
    ax.set_xticks(np.arange(len(values)), names, rotation=35, ha="right", rotation_mode="anchor")


def _name(label: Any) -> str:
    return "" if label is None else write_label(label)
