"""The options of the commands, each described once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

DATA, MODEL, SEARCH, OUTPUT = "The data", "The model", "The search", "The output"


class FamilyName(StrEnum):
    """Distributions of a target."""

    gaussian = "gaussian"
    binomial = "binomial"
    multinomial = "multinomial"
    poisson = "poisson"
    negative_binomial = "negative_binomial"
    gamma = "gamma"
    tweedie = "tweedie"


class PenaltyName(StrEnum):
    """Ways to pay for complexity."""

    l0 = "l0"
    l1 = "l1"


class SelectName(StrEnum):
    """Ways to choose a model of a path."""

    min = "min"
    one_se = "1se"


Source = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A .csv, .tsv, .parquet, .feather or .arrow file (text also .gz), for fit and predict "
        "also a folder of such, - for standard input, sql:QUERY or duckdb:FILE?TABLE.",
        show_default=False,
    ),
]
OutOfCore = Annotated[
    bool | None,
    typer.Option(
        "--out-of-core/--in-memory",
        help="Read Parquet or Arrow files column by column; by default if the rows would fill half "
        "of the memory, and for folders.",
        show_default=False,
    ),
]
ModelFile = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="A model that 'ruleglm fit --out' wrote.", show_default=False
    ),
]

# ------------------------------------------------------------------------------------- the data

Target = Annotated[
    str,
    typer.Option(
        "--target", "-t", metavar="COLUMN", help="Column to predict.", rich_help_panel=DATA
    ),
]
PathTarget = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", metavar="COLUMN", help="Column to predict.", rich_help_panel=DATA
    ),
]
KnownTarget = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", metavar="COLUMN", help="Column to compare with; default: the fit's."
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Column of weights; 2 is a row twice.", rich_help_panel=DATA
    ),
]
Exposure = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column that multiplies the mean (time at risk), or a number.",
        rich_help_panel=DATA,
    ),
]
Offset = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column added to the linear predictor, or a number.",
        rich_help_panel=DATA,
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Column of groups that folds never split.", rich_help_panel=DATA
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN", help="Column to leave out; may be repeated.", rich_help_panel=DATA
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of numbers that stand for categories; may be repeated.",
        rich_help_panel=DATA,
    ),
]
TestFile = Annotated[
    str | None,
    typer.Option("--test", metavar="DATA", help="Rows to test on.", rich_help_panel=DATA),
]
TestShare = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE", help="Share of the rows to hold out and test on.", rich_help_panel=DATA
    ),
]

# ------------------------------------------------------------------------------------ the model

Family = Annotated[
    FamilyName | None,
    typer.Option(
        metavar="NAME",
        help="gaussian, binomial, multinomial, poisson, negative_binomial, gamma or tweedie; "
        "default: guessed, and said.",
        rich_help_panel=MODEL,
    ),
]
Power = Annotated[
    float | None,
    typer.Option(
        metavar="X", help="Variance power of tweedie, between 1 and 2.", rich_help_panel=MODEL
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        metavar="X", help="Dispersion of negative_binomial, above 0.", rich_help_panel=MODEL
    ),
]
Penalty = Annotated[
    PenaltyName | None,
    typer.Option(
        help="l0 counts complexity (default), l1 is the paper's convex problem.",
        rich_help_panel=MODEL,
    ),
]
Lambda0 = Annotated[
    float | None,
    typer.Option(
        "--lambda-0",
        metavar="X",
        help="One l1 model of this price a rule, with a proof.",
        rich_help_panel=MODEL,
    ),
]
MaxComplexity = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="Largest complexity: 1 a rule, 0.2 a condition; default: 30.",
        rich_help_panel=MODEL,
    ),
]
MaxRules = Annotated[
    int | None, typer.Option(metavar="N", help="The most rules and lines.", rich_help_panel=MODEL)
]
MaxDegree = Annotated[
    int | None,
    typer.Option(metavar="N", help="The most conditions of a rule.", rich_help_panel=MODEL),
]
Lines = Annotated[
    bool,
    typer.Option("--lines/--no-lines", help="Straight lines too.", rich_help_panel=MODEL),
]
Include = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RULE",
        help="Rule that is in the model, e.g. \"age > 50 and sex = 'F'\"; may be repeated.",
        rich_help_panel=MODEL,
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RULE",
        help="Rule, or column, that must not be learned; may be repeated.",
        rich_help_panel=MODEL,
    ),
]
Increasing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column with which predictions never fall; may be repeated.",
        rich_help_panel=MODEL,
    ),
]
Decreasing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column with which predictions never rise; may be repeated.",
        rich_help_panel=MODEL,
    ),
]
Select = Annotated[
    SelectName | None,
    typer.Option(
        help="The best model on held-out rows (default), or the simplest within a standard error.",
        rich_help_panel=MODEL,
    ),
]

# ----------------------------------------------------------------------------------- the search

Folds = Annotated[
    int, typer.Option("--cv", metavar="N", min=0, help="Folds; 0 for none.", rich_help_panel=SEARCH)
]
PathFolds = Annotated[
    int, typer.Option("--cv", metavar="N", min=2, help="Folds.", rich_help_panel=SEARCH)
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS", help="Seconds; then the best model so far.", rich_help_panel=SEARCH
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", metavar="N", help="Threads; -1 for all cores.", rich_help_panel=SEARCH
    ),
]
Seed = Annotated[
    int, typer.Option(metavar="N", min=0, help="Of the folds and splits.", rich_help_panel=SEARCH)
]

# ----------------------------------------------------------------------------------- the output

ModelOut = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="FILE", help="File to write the model to.", rich_help_panel=OUTPUT
    ),
]
PathOut = Annotated[
    Path | None,
    typer.Option(
        "--path", metavar="FILE", help="Table of all models to write.", rich_help_panel=OUTPUT
    ),
]
ReportOut = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="HTML page to write.", rich_help_panel=OUTPUT),
]
ReportFile = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="FILE", help="HTML page to write.", rich_help_panel=OUTPUT),
]
TableOut = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Table to write: .csv, .tsv, .parquet, .feather, -.",
        rich_help_panel=OUTPUT,
    ),
]
PredictionOut = Annotated[
    Path,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Table to write: .csv, .tsv, .parquet, .feather; - for standard output.",
        rich_help_panel=OUTPUT,
    ),
]
ExportOut = Annotated[
    Path,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="File to write; - for standard output.",
        rich_help_panel=OUTPUT,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document.", rich_help_panel=OUTPUT)]
Force = Annotated[
    bool, typer.Option("--force", "-f", help="Replace files that exist.", rich_help_panel=OUTPUT)
]
