"""The command: ``python -m tests.fuzz --minutes 5 [--seed N]``, or ``--case SEED``."""

import argparse
import sys

from tests.fuzz.cases import draw_case, run_case
from tests.fuzz.runner import report, run_cases


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0, help="seed of the first case")
    parser.add_argument("--cases", type=int, help="a number of cases, in place of minutes")
    parser.add_argument("--patience", type=float, default=60.0, help="processor seconds for a case")
    parser.add_argument("--case", type=int, help="run this one case here")
    asked = parser.parse_args()
    if asked.case is not None:
        print(draw_case(asked.case)[0].describe())
        outcome = run_case(asked.case)
        print(outcome.what, outcome.detail)
        return int(outcome.what == "failed")
    seconds = 60.0 * asked.minutes if asked.cases is None else float("inf")
    outcomes = run_cases(asked.seed, seconds, asked.cases, asked.patience, show=print)
    print(report(outcomes))
    return int(any(outcome.what == "failed" for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
