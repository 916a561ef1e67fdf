"""A slice of the random fits of ``python -m tests.fuzz``, and that they can fail."""

import os
import time

import pytest

from ruleglm import RuleEnsemble
from tests.fuzz import runner
from tests.fuzz.cases import draw_case, run_case
from tests.fuzz.runner import DIED, HANGS, Worker, report, run_cases

N_CASES = 40
SEEDS = (170_063, 170_694, 181_877, 180_120, 190_030, 200_117, 220_456, 221_799, 411_998)


def test_random_fits_hold_what_is_promised():
    outcomes = run_cases(7_000, float("inf"), N_CASES, patience=120.0)
    failed = [outcome.detail for outcome in outcomes if outcome.what == "failed"]
    assert not failed, "\n".join([report(outcomes), *failed])
    kinds = [outcome.what for outcome in outcomes]
    assert kinds.count("fit") >= 15
    assert kinds.count("refused") >= 5


@pytest.mark.parametrize("seed", SEEDS)
def test_cases_that_failed_once(seed):
    """Losses that jump without a term; bans with worthless neighbours; sets of many levels; signs.

    Second derivatives that rounding leaves without an inverse, or that vanish for the intercept.
    """
    assert run_case(seed).what == "fit"


def test_a_seed_is_a_case():
    first, second = draw_case(5)[0], draw_case(5)[0]
    assert first.describe() == second.describe()
    assert list(first.target.y) == list(second.target.y)


def first_fit():
    return next(seed for seed in range(7_000, 7_050) if not draw_case(seed)[0].flaws)


def test_terms_that_do_not_add_up_are_found(monkeypatch):
    seed, contributions = first_fit(), RuleEnsemble.contributions
    monkeypatch.setattr(RuleEnsemble, "contributions", lambda *given: contributions(*given) + 1.0)
    outcome = run_case(seed)
    assert outcome.what == "failed"
    assert "check_sums" in outcome.detail


@pytest.mark.parametrize("error", [IndexError("list index out of range"), ValueError("no")])
def test_undocumented_errors_are_found(monkeypatch, error):
    def fail(*given):
        raise error

    seed = first_fit()
    monkeypatch.setattr("ruleglm.models.scan_features", fail)
    assert run_case(seed).what == "failed"


def sleep(seed):
    time.sleep(60)


def turn(seed):
    while True:
        pass


@pytest.mark.parametrize(
    ("run", "start", "idle", "found"),
    [(sleep, 0.0, 2.0, HANGS), (turn, 0.0, 600.0, HANGS), (os._exit, 60.0, 10.0, DIED)],
)
def test_hangs_and_crashes_are_found(monkeypatch, run, start, idle, found):
    monkeypatch.setattr(runner, "IDLE", idle)
    worker = Worker(0.5, run, start)
    try:
        outcome = worker.run(3)
    finally:
        worker.stop()
    assert outcome.what == "failed"
    assert outcome.detail.startswith(found)
