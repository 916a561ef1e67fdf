"""The paper's study: run -> tables -> figures.

    python -m experiments.paper run --data FOLDER [--only pima ...] [--methods LR1 LRR ...]
        [--folds 10] [--jobs 2] [--minutes 60] [--records experiments/records]
    python -m experiments.paper tables
    python -m experiments.paper figures
    python -m experiments.paper all --data FOLDER

``run`` fits every method to every fold of every data set of FOLDER (see ``python -m
experiments.registry``) and keeps a record of each; what has one is not run again, so that a run may
be stopped at any time and goes on later. At its end, or by ``collect``, the records become
``experiments/results/*.csv``. ``tables`` and ``figures`` are made of these alone and take a minute.
"""

import argparse
from pathlib import Path

from experiments.units import N_FOLDS, read_records, write_results

HERE = Path(__file__).parent
STAGES = "run", "collect", "tables", "figures"


def main() -> None:
    """Run the stages asked for."""
    options = read_options()
    stages = STAGES if options.stage == "all" else (options.stage,)
    if "run" in stages:
        run_stage(options)
    if "run" in stages or "collect" in stages:
        write_results(read_records(options.records), options.results)
    if "tables" in stages:
        from experiments.tables import write_tables

        write_tables(options.results)
    if "figures" in stages:
        from experiments.figures import write_figures

        write_figures(options.results, options.out)


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.paper",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("stage", choices=("all", *STAGES))
    parser.add_argument("--data", type=Path, help="folder with the data sets, for run")
    parser.add_argument("--only", nargs="+", metavar="SET", help="data sets; default: all there")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help="default: all")
    parser.add_argument("--folds", type=int, default=N_FOLDS, help="of ten; default: all")
    parser.add_argument("--jobs", type=int, default=2, help="processes; default: 2")
    parser.add_argument("--minutes", type=float, help="after which nothing new is begun")
    parser.add_argument("--seed", type=int, default=0, help="of the folds and methods")
    parser.add_argument("--records", type=Path, default=HERE / "records")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "study")
    options = parser.parse_args()
    if options.data is None and options.stage in ("run", "all"):
        parser.error("run needs --data FOLDER; `python -m experiments.registry` says what of")
    return options


def run_stage(options: argparse.Namespace) -> None:
    """Run what is missing."""
    from experiments.registry import SETS, absent, available
    from experiments.run import METHODS, Settings, plan, print_line, run

    sets = options.only or available(options.data)
    methods = options.methods or list(METHODS)
    check_known("data set", sets, SETS)
    check_known("method", methods, METHODS)
    for name, message in absent(options.data).items():
        if name in sets or not options.only:
            print_line(message)
    present = [name for name in sets if name in available(options.data)]
    settings = Settings(options.data, options.records, options.jobs, options.seed, options.minutes)
    run(plan(present, methods, options.folds), settings, print_line)


def check_known(what: str, given: list[str], known: object) -> None:
    """Refuse names that there are not."""
    for name in given:
        if name not in known:  # type: ignore[operator]
            raise SystemExit(f"There is no {what} {name!r}; choose from {', '.join(known)}.")  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
