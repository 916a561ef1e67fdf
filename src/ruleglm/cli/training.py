"""Fits from the command line: the estimator that the options stand for, and what came of it."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import typer

from ruleglm.cli.errors import UserError
from ruleglm.cli.guess import Guess, guess_family, told_family
from ruleglm.cli.large import open_large, read_large
from ruleglm.cli.models import FIT, SavedModel
from ruleglm.cli.roles import Roles, Rows, find_identifiers, split_roles, without_unknown
from ruleglm.cli.scores import number_target, score_rows
from ruleglm.cli.shell import plain, remark
from ruleglm.cli.sources import read_source


@dataclass(frozen=True)
class FitOptions:
    """The options of a fit, by the names that they have on the command line."""

    family: str | None = None
    power: float | None = None
    alpha: float | None = None
    penalty: str | None = None
    lambda_0: float | None = None
    max_complexity: float | None = None
    max_rules: int | None = None
    max_degree: int | None = None
    lines: bool = True
    select: str | None = None
    cv: int = 5
    categorical: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    increasing: tuple[str, ...] = ()
    decreasing: tuple[str, ...] = ()
    time_limit: float | None = None
    jobs: int = 1
    seed: int = 0

    @property
    def folds(self) -> bool:
        """Whether a model is chosen by cross-validation."""
        return self.cv > 0 and self.lambda_0 is None

    @property
    def monotone(self) -> dict[str, int]:
        """Columns on which predictions depend in one direction: 1 for up, -1 for down."""
        return {**dict.fromkeys(self.increasing, 1), **dict.fromkeys(self.decreasing, -1)}


BLANK: tuple[Any, ...] = (None, ())
"""Values of options that are not given."""

MAX_COMPLEXITY = 30.0
"""Of a model, by default: as much as a person reads."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted estimator and the rows that it was fitted to."""

    estimator: Any
    guess: Guess
    rows: Rows
    interrupted: bool

    def path(self) -> list[dict[str, Any]]:
        """Return the models of the path, one mapping each; none without folds."""
        if not hasattr(self.estimator, "path_"):
            return []
        table = self.estimator.path_.table()
        return [plain(record) for record in table.to_dict(orient="records")]


def check_options(options: FitOptions) -> None:
    """Refuse options that contradict each other, before anything is read."""
    if options.cv == 1:
        raise typer.BadParameter("--cv 1 holds nothing out; give 2 or more, or 0 for no folds.")
    if options.lambda_0 is not None:
        others: dict[str, Any] = {
            "--penalty l0": options.penalty == "l0",
            "--max-complexity": options.max_complexity,
            "--max-rules": options.max_rules,
            "--select": options.select,
        }
        for name, given in others.items():
            if given not in (None, False):
                raise typer.BadParameter(f"--lambda-0 alone sets the size; leave out {name}.")
    elif not options.folds and options.penalty == "l1":
        raise typer.BadParameter("--penalty l1 without folds needs a price, --lambda-0 0.02.")
    elif not options.folds and options.select is not None:
        raise typer.BadParameter("--select chooses by held-out rows; leave it out, or --cv 0.")
    both = set(options.increasing) & set(options.decreasing)
    if both:
        raise typer.BadParameter(f"--increasing and --decreasing both name {both.pop()!r}.")
    if options.select == "1se" and options.max_rules is not None:
        raise typer.BadParameter("--select 1se and --max-rules both choose; leave one out.")


def read_rows(
    source: str,
    roles: Roles,
    texts: Collection[str] = (),
    out_of_core: bool | None = None,
) -> Rows:
    """Read the rows of a fit; rows without a target are left out, which is said."""
    files = open_large(source, out_of_core)
    if files is not None:
        remark(f"{files.n_rows} rows are read column by column, not all at once")
        rows = read_large(files, roles)
    else:
        rows = split_roles(read_source(source, texts), roles)
    if len(rows.names) == 0:
        raise UserError(f"{source}: no column is left as a feature.")
    n_unknown = 0
    if files is None:
        rows, n_unknown = without_unknown(rows)
    if n_unknown:
        remark(f"{n_unknown} rows without a target ({roles.target!r}) are left out", "warning")
    if len(rows) == 0:
        raise UserError(f"target {roles.target!r} is missing in every row.")
    return rows


def choose_family(options: FitOptions, roles: Roles, rows: Rows) -> Guess:
    """Return the family that is named, or guess it and say so."""
    if options.family is not None:
        return told_family(options.family, rows.y)
    guess = guess_family(rows.y, rows.exposure)
    remark(guess.line(str(roles.target)))
    return guess


def remark_identifiers(rows: Rows) -> None:
    """Point out columns that look like names of the rows, where these are in memory."""
    if rows.in_files:
        return
    for name in find_identifiers(rows.X):
        remark(f"column {name!r} numbers or names the rows; --drop {name!r} if so", "warning")


def hold_out(rows: Rows, share: float, classes: bool, seed: int) -> tuple[Rows, Rows]:
    """Split rows into those to learn from and those to test on: by class, or by groups."""
    from sklearn.model_selection import GroupShuffleSplit, train_test_split

    if rows.in_files:
        raise UserError(
            "--test-share needs all rows in memory; give test rows by --test, or say --in-memory."
        )
    numbers = np.arange(len(rows))
    if rows.groups is not None:
        splitter = GroupShuffleSplit(1, test_size=share, random_state=seed)
        train, test = next(splitter.split(numbers, groups=rows.groups))
    else:
        by = rows.y.to_numpy() if classes else None
        train, test = train_test_split(numbers, test_size=share, random_state=seed, stratify=by)
    return rows.take(np.sort(train)), rows.take(np.sort(test))


# -------------------------------------------------------------------------------------------- fit


def fit_rows(rows: Rows, guess: Guess, options: FitOptions, verbose: bool) -> Fitted:
    """Fit the estimator that the options stand for."""
    estimator = make_estimator(guess, options, verbose)
    more: dict[str, Any] = {"sample_weight": rows.weights, "offset": rows.offset}
    if rows.groups is not None and options.folds:
        more["groups"] = rows.groups
    if guess.classifier:
        y = rows.y
    else:
        y, more["exposure"] = number_target(rows.y), rows.exposure
    interrupted = _fit_quietly(estimator, rows.X, y, more)
    return Fitted(estimator, guess, rows, interrupted)


def _fit_quietly(estimator: Any, X: Any, y: Any, more: Mapping[str, Any]) -> bool:
    """Fit, pass warnings on, and tell whether the fit was interrupted and kept its best model."""
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, y, **more)
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return any("interrupted" in str(warning.message) for warning in caught)


def make_estimator(guess: Guess, options: FitOptions, verbose: bool) -> Any:
    """Return the estimator that the options stand for."""
    from ruleglm import RuleClassifier, RuleClassifierCV, RuleRegressor, RuleRegressorCV

    settings: dict[str, Any] = {
        "max_degree": "auto" if options.max_degree is None else options.max_degree,
        "linear_terms": options.lines,
        "categorical": list(options.categorical) or None,
        "include": list(options.include) or None,
        "exclude": list(options.exclude) or None,
        "monotone": options.monotone or None,
        "time_limit": options.time_limit,
        "n_jobs": options.jobs,
        "verbose": int(verbose),
    }
    if not guess.classifier:
        settings["family"] = guess.family
        shape = {"power": options.power, "alpha": options.alpha}
        settings |= {name: value for name, value in shape.items() if value is not None}
    largest = MAX_COMPLEXITY if options.max_complexity is None else options.max_complexity
    if options.folds:
        kind = RuleClassifierCV if guess.classifier else RuleRegressorCV
        budget = {"max_rules": options.max_rules}
        return kind(
            **settings,
            penalty=options.penalty or "l0",
            max_complexity=largest,
            select=options.select or "min" if options.max_rules is None else budget,
            cv=options.cv,
            random_state=options.seed,
        )
    plain_kind = RuleClassifier if guess.classifier else RuleRegressor
    if options.lambda_0 is not None:
        return plain_kind(**settings, penalty="l1", lambda_0=options.lambda_0)
    return plain_kind(
        **settings, penalty="l0", max_complexity=largest, max_rules=options.max_rules, bins="auto"
    )


# --------------------------------------------------------------------------------- what is kept


def describe_fit(
    fitted: Fitted, roles: Roles, options: FitOptions, test: Rows | None
) -> SavedModel:
    """Return the model and what its file says of the fit."""
    from ruleglm.export.source import summarize

    summary = summarize(fitted.estimator)
    ensemble = fitted.estimator.ensemble_
    summary[FIT] = {
        "columns": roles.named(),
        "family": fitted.guess.family,
        "rows": len(fitted.rows),
        "options": {name: given for name, given in asdict(options).items() if given not in BLANK},
        "path": fitted.path(),
        "test_rows": None if test is None else len(test),
        "test_scores": None if test is None else score_rows(ensemble, test),
        "train_scores": score_rows(ensemble, fitted.rows),
    }
    return SavedModel(ensemble, plain(summary))
