"""Bins that refine themselves (``bins="auto"``; the paper's first future work).

For pursuit, bins are fine from the start, and it is the search that goes from coarse to fine. For
the convex problem, a first fit on coarse bins shows where thresholds matter; there the bins become
fine, and the fit that counts, with its certificate, is over these.
"""

from dataclasses import replace

from ruleglm.binning import Binning, BinRule
from ruleglm.bins import NumberBins
from ruleglm.family import Family
from ruleglm.multiclass import walk_penalties
from ruleglm.pricing import Limits
from ruleglm.thresholds import MOST_THRESHOLDS
from ruleglm.training import FitRows, FitSettings, RowSource

COARSE_BINS, FINE_BINS = 16, 128
COARSE_TOL = 1e-2
COARSE_LAMBDAS = 6
"""Penalties of the coarse path whose thresholds are refined."""


def prepare_auto(raw: RowSource, family: Family, settings: FitSettings, limits: Limits) -> FitRows:
    """Code the rows, with bins that suit the fit to come if none are asked for.

    Parameters
    ----------
    raw : RowSource
    family : Family
    settings : FitSettings, ``bins`` None where none are asked for
    limits : Limits, of which the coarse fit may use a third
    """
    raw = raw.weigh(settings.class_weights)
    if settings.bins is not None or settings.kind == "l0":
        return raw.prepare(family, settings)
    coarse = replace(settings, bins=COARSE_BINS, tol=COARSE_TOL)
    rows = raw.prepare(family, coarse)
    share = Limits.after(limits.seconds_left() / 3)
    penalties = COARSE_LAMBDAS if settings.path else (settings.penalty,)
    found = walk_penalties(rows, coarse, penalties, (1.0,), share)
    used = used_thresholds(rows.units.binning, {rule for model in found for rule in model.rules})
    fine = raw.choose_bins(FINE_BINS)
    refined = refine(rows.units.binning, fine, used)
    thresholds = {**refined, **(settings.thresholds or {})}
    return raw.prepare(family, replace(coarse, thresholds=thresholds))


def used_thresholds(binning: Binning, rules: set[BinRule]) -> dict[int, set[int]]:
    """Return the thresholds at which the rules cut each number, by feature and position."""
    used: dict[int, set[int]] = {}
    for rule in rules:
        for feature, mask in rule:
            bins = binning.features[feature]
            if isinstance(bins, NumberBins):
                low, high = (mask & -mask).bit_length() - 1, mask.bit_length() - 1
                inside = {at for at in (low - 1, high) if 0 <= at < len(bins.thresholds)}
                used.setdefault(feature, set()).update(inside)
    return used


def refine(
    coarse: Binning, fine: Binning, used: dict[int, set[int]]
) -> dict[str, tuple[float, ...]]:
    """Return coarse thresholds, with the fine ones between the neighbours of those in use."""
    refined = {}
    for feature, places in used.items():
        bins, finer = coarse.features[feature], fine.features[feature]
        if not (isinstance(bins, NumberBins) and isinstance(finer, NumberBins)):
            continue
        bounds = (-float("inf"), *bins.thresholds, float("inf"))
        near = [(bounds[at], bounds[at + 2]) for at in places]
        added = {t for t in finer.thresholds for low, high in near if low < t < high}
        refined[bins.name] = tuple(sorted({*bins.thresholds, *added}))[:MOST_THRESHOLDS]
    return refined
