"""Rows on a cluster, before and after they are coded: what a fit sees of them."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self
from weakref import finalize, ref

import numpy as np

from ruleglm.binning import Binning, BinRule, choose_binning
from ruleglm.class_weights import ClassWeights
from ruleglm.columns import LevelColumn, NumberColumn
from ruleglm.constraints import Constraints
from ruleglm.dask.blocks import (
    Fold,
    Summary,
    View,
    encode,
    merge_summaries,
    sum_losses,
    summarise,
)
from ruleglm.dask.groups import Shared
from ruleglm.dask.session import ActorTransport, Groups, Session
from ruleglm.dtypes import FloatArray
from ruleglm.engines import PartsEngine
from ruleglm.engines.classes import ClassEngines
from ruleglm.expert import NOTHING, Expert, Wishes, bind_rules
from ruleglm.family import Family
from ruleglm.fitting import PathModel
from ruleglm.frames import TableScan
from ruleglm.linear import MOST_SPREAD, build_term
from ruleglm.sketches import NumberSketch, Sketch
from ruleglm.training import (
    FINE_BINS,
    LIMITS_OF_SIZE,
    FitRows,
    FitSettings,
    Units,
    read_constraints,
)

MERGED = 8
"""Summaries that are merged in one step."""

NO_ROWS = "`cv` gives a fold without rows on one side; use fewer folds, or more `groups`"


@dataclass(eq=False)
class DaskRaw:
    """Partitions as they came, checked and not yet coded.

    Attributes
    ----------
    session : Session
    blocks : futures of Block
    view : View, how they are seen
    weighted : bool, whether rows have weights of their own
    expert : Expert, what a person asks of the rules
    coded : list of weak references to DaskRows, all that was made of these rows so far
    """

    session: Session
    blocks: Sequence[Any]
    view: View
    weighted: bool
    expert: Expert = NOTHING
    coded: "list[ref[DaskRows]]" = field(default_factory=list)
    _summary: Summary | None = field(default=None, repr=False)

    def take(self, rows: Fold) -> Self:
        """Return the rows on one side of a fold."""
        return replace(self, view=replace(self.view, fold=rows), _summary=None)

    def weigh(self, class_weights: ClassWeights | None, training: Self | None = None) -> Self:
        """Return the rows with weights that count classes as asked, by those of ``training``."""
        if class_weights is None:
            return self
        factors = np.array(class_weights.given)
        if class_weights.balanced:
            masses = (self if training is None else training).summary().masses
            factors = class_weights.factors(np.arange(len(masses), dtype=np.float64), masses)
        return replace(self, view=replace(self.view, factors=factors), _summary=None)

    def summary(self) -> Summary:
        """Return what bins and scales are made from, merged on the workers."""
        if self._summary is None:
            session = self.session
            parts = [session.submit(summarise, block, self.view) for block in self.blocks]
            while len(parts) > 1:
                parts = [
                    session.submit(merge_summaries, parts[k : k + MERGED])
                    for k in range(0, len(parts), MERGED)
                ]
            self._summary = session.collect(parts)[0]
        return self._summary

    def scan(self) -> TableScan:
        """Return columns of the distinct values only, for checks of what is asked for."""
        sketches = self.summary().sketches
        readers = tuple((lambda sketch=sketch: _distinct_column(sketch)) for sketch in sketches)
        return TableScan(tuple(sketch.name for sketch in sketches), 0, readers)

    def choose_bins(self, bins: int) -> Binning:
        """Choose the bins of every column and code no rows."""
        sketches = self.summary().sketches
        return choose_binning(sketches, [sketch.name for sketch in sketches], bins=bins)

    def prepare(self, family: Family, settings: FitSettings) -> "DaskRows":
        """Code the rows where they are."""
        summary = self.summary()
        if not summary.sketches:
            raise ValueError(NO_ROWS)
        names = [sketch.name for sketch in summary.sketches]
        constraints = read_constraints(settings, names, family)
        if settings.kind == "l0" or settings.path:
            self.expert.check_budget(settings.max_complexity, settings.max_rules)
        binning = choose_binning(
            summary.sketches,
            names,
            bins=FINE_BINS if settings.bins is None else settings.bins,
            thresholds=settings.thresholds,
            min_level_share=settings.min_level_share,
            wanted=self.expert.wanted,
        )
        constraints.check_kinds(binning)
        constraints.check_rules(self.expert.include, names)
        lines = self.expert.line_names(names, settings.linear_terms)
        numbers = [s for s in summary.sketches if isinstance(s, NumberSketch) and s.name in lines]
        asked = self.expert.lines
        built = [build_term(sketch, through_two=sketch.name in asked) for sketch in numbers]
        terms = tuple(term for term in built if term is not None)
        shift, unit = _target_scale(summary) if family.constant_hessian else (0.0, 1.0)
        labels = () if self.view.classes is None else tuple(self.view.classes.tolist())
        units = Units(binning, terms, family, shift, unit, labels)
        return self._code(units, constraints, summary)

    def _code(self, units: Units, constraints: Constraints, summary: Summary) -> "DaskRows":
        session, counts = self.session, np.array(summary.counts)
        filled = np.flatnonzero(counts).tolist()
        groups = balance(counts[filled], sum(session.workers().values()))
        places = self._place(groups, [self.blocks[k] for k in filled], counts[filled])
        rows: list[list[Any]] = [[] for _ in places]
        firsts = (np.cumsum(counts) - counts).tolist()
        for number, (block, group) in enumerate(zip(filled, groups, strict=True)):
            arguments = number, firsts[block], self.view, units, summary.weight
            options = {"workers": [places[group]], "allow_other_workers": True}
            future = session.submit(encode, self.blocks[block], *arguments, **options)
            rows[group].append(future)
        n_rows = int(counts.sum())
        shared = Shared(units.binning.n_bins, units.family, n_rows)
        size = float(np.clip(summary.weight, *LIMITS_OF_SIZE))
        coded = DaskRows(units, constraints, size, Groups(session, rows, places, shared), n_rows)
        coded.wishes = self._bind(coded, units)
        self.coded.append(ref(coded))
        return coded

    def _place(self, groups: Sequence[int], blocks: Sequence[Any], counts: Any) -> list[str]:
        """Choose a worker for each group: one that has its rows, as far as there is room."""
        room = self.session.workers()
        holders = self.session.client.who_has(list(blocks))
        places = []
        for group in range(groups[-1] + 1):
            held = dict.fromkeys(room, 0)
            for k, block in enumerate(blocks):
                for address in holders.get(block.key, ()) if groups[k] == group else ():
                    if address in held:
                        held[address] += int(counts[k])
            free = [address for address in room if room[address] > 0] or list(room)
            best = max(free, key=lambda address: (held[address], room[address]))
            room[best] -= 1
            places.append(best)
        return places

    def _bind(self, coded: "DaskRows", units: Units) -> Wishes:
        """Say what is asked for over the bins; rules that do not split the rows are left out."""
        lines = [term.term.feature for term in units.terms]
        rules = [units.binning.from_rule(rule) for rule in self.expert.include]
        coded.wishes = bind_rules(self.expert, units.binning, (), lines)
        if not rules:
            return coded.wishes
        engine = coded.build_engine(1)
        engine.add_rules(rules, [0] * len(rules))
        supports = dict(zip(engine.rules, engine.supports().tolist(), strict=True))
        telling: list[BinRule] = []
        for rule, asked in zip(rules, self.expert.include, strict=True):
            if 0.0 < supports.get(rule, 0.0) < 1.0:
                telling.append(rule)
            elif self.view.fold is None:
                warnings.warn(
                    f"The included rule `{asked}` covers no row, every row, or the rows of an "
                    "earlier one, so that its coefficient cannot be learned; it is left out: "
                    "correct it, or take it out of `include`",
                    UserWarning,
                    stacklevel=9,
                )
        return bind_rules(self.expert, units.binning, tuple(telling), lines)


def _distinct_column(sketch: Sketch) -> NumberColumn | LevelColumn:
    if isinstance(sketch, NumberSketch):
        return NumberColumn(sketch.name, sketch.distinct.values)
    codes = np.arange(len(sketch.levels))
    return LevelColumn(sketch.name, codes, sketch.levels, sketch.ordered)


def _target_scale(summary: Summary) -> tuple[float, float]:
    """Return mean and standard deviation (1 if it is 0) of the target less its offset."""
    mean, squares = summary.moments
    sd = float(np.sqrt(squares / summary.weight))
    known = sd > 1e-12 * abs(mean) and 1.0 / MOST_SPREAD <= sd <= MOST_SPREAD
    return mean, sd if known else 1.0


def balance(counts: Any, n_groups: int) -> list[int]:
    """Return the group of each partition: neighbours, and about as many rows in each group."""
    ends = np.cumsum(counts)
    middles = (ends - counts / 2) / ends[-1]
    wanted = np.floor(middles * min(n_groups, len(counts)))
    groups: list[int] = np.unique(wanted, return_inverse=True)[1].tolist()
    return groups


class DaskRows(FitRows):
    """Coded rows on a cluster, which are let go with this object.

    Parameters
    ----------
    units : Units
    constraints : Constraints
    size : float, the rows that the data stand for
    groups : Groups
    n_rows : int
    """

    def __init__(
        self, units: Units, constraints: Constraints, size: float, groups: Groups, n_rows: int
    ) -> None:
        self.units = units
        self.constraints = constraints
        self.size = size
        self._groups = groups
        self._n_rows = n_rows
        self._first_engine: ref[PartsEngine] | None = None
        finalize(self, groups.session.drop, groups)

    @property
    def n_rows(self) -> int:
        """Number of rows, whatever they weigh."""
        return self._n_rows

    def build_engine(self, n_threads: int, linear: Sequence[int] | None = None) -> PartsEngine:
        """Return an engine over these rows, with all linear terms or those at some positions."""
        signs = self._linear_signs()
        chosen = tuple(range(len(signs)) if linear is None else linear)
        engine = PartsEngine(
            ActorTransport(self._groups, chosen),
            self._n_rows,
            self.units.binning.n_bins,
            self.units.family,
            n_linear=len(chosen),
            n_threads=n_threads,
            sign_of=self._sign_of if self.constraints.ways else None,
            linear_signs=[signs[k] for k in chosen],
        )
        if linear is None:
            self._first_engine = ref(engine)
        return engine

    @property
    def first_engine(self) -> PartsEngine | None:
        """The last engine with all linear terms, as long as it is in use."""
        return None if self._first_engine is None else self._first_engine()

    def build_class_engines(self, n_threads: int) -> ClassEngines:  # noqa: ARG002 - of the interface
        """Refuse more than two classes."""
        raise ValueError(
            "More than two classes are fitted on one machine only: use RuleClassifier, with files "
            "if the rows do not fit into memory, or one DaskRuleClassifier for each class"
        )


def held_out(raw: DaskRaw, units: Units, models: Sequence[PathModel]) -> FloatArray:
    """Return the mean loss of every variant of every model on rows, where these are."""
    found = raw.session.map_blocks(
        "held_out_losses", sum_losses, raw.blocks, raw.view, units, tuple(models)
    )
    weight = sum(weight for _, weight in found)
    if weight == 0.0:
        raise ValueError(NO_ROWS)
    losses: FloatArray = np.sum([losses for losses, _ in found], axis=0) / weight
    return losses
