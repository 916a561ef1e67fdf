"""Runs cases in a process of their own, which is ended if one of them takes too long."""

import faulthandler
import itertools
import multiprocessing
import signal
import sys
import time
from collections import Counter

from tests.fuzz.cases import Outcome, run_case

START = 120.0
"""Seconds for the first case of a process, which loads or compiles the kernels."""
IDLE = 10.0
"""How many times as long a case may take by the clock, on a machine that has other work."""
HANGS, DIED = "it hangs", "the process died"


def work(pipe, run, wait, patience):
    """Answer each seed that comes with the outcome of its case.

    Beyond its seconds of processor time a case shows where it is, and the process ends.
    """
    faulthandler.register(signal.SIGPROF, file=sys.__stderr__, chain=True)
    while True:
        seed = pipe.recv()
        signal.setitimer(signal.ITIMER_PROF, wait)
        outcome = run(seed)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        pipe.send(outcome)
        wait = patience


class Worker:
    """A process that runs cases one after the other."""

    def __init__(self, patience, run=run_case, start=START):
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(
            target=work, args=(theirs, run, patience + start, patience), daemon=True
        )
        self.process.start()
        theirs.close()
        self.patience, self.later = patience + start, patience

    def run(self, seed):
        """The outcome of a case, also if the process died or hangs."""
        begin = time.monotonic()
        self.pipe.send(seed)
        try:
            done = self.pipe.poll(IDLE * self.patience)
            outcome = self.pipe.recv() if done else Outcome(seed, "failed", HANGS)
        except EOFError:
            self.process.join()
            code = self.process.exitcode
            what = HANGS if code == -signal.SIGPROF else f"{DIED}: {code}"
            outcome = Outcome(seed, "failed", what)
        outcome.seconds = time.monotonic() - begin
        self.patience = self.later
        return outcome

    def stop(self):
        self.process.kill()
        self.process.join()


def run_cases(seed, seconds, n_cases=None, patience=60.0, show=lambda text: None):
    """Run cases from a seed on, until the time is over or there were enough of them."""
    seeds = itertools.count(seed) if n_cases is None else range(seed, seed + n_cases)
    end, worker, outcomes = time.monotonic() + seconds, None, []
    for each in seeds:
        if time.monotonic() > end:
            break
        worker = worker or Worker(patience)
        outcome = worker.run(each)
        outcomes.append(outcome)
        if outcome.what == "failed":
            show(f"case {each} failed: python -m tests.fuzz --case {each}\n{outcome.detail}")
            if outcome.detail.startswith((HANGS, DIED)):
                worker.stop()
                worker = None
    if worker is not None:
        worker.stop()
    return outcomes


def report(outcomes):
    """How many cases ran and what became of them."""
    counts = Counter(outcome.what for outcome in outcomes)
    kinds = Counter(outcome.detail for outcome in outcomes if outcome.what == "refused")
    lines = [
        f"{len(outcomes)} cases: {counts['fit']} fits, {counts['refused']} documented errors, "
        f"{counts['failed']} failures"
    ]
    lines += [f"  {count:5d}  {kind}" for kind, count in kinds.most_common()]
    if outcomes:
        slowest = max(outcomes, key=lambda outcome: outcome.seconds)
        lines.append(f"the slowest took {slowest.seconds:.1f} s: case {slowest.seed}")
    failed = [str(outcome.seed) for outcome in outcomes if outcome.what == "failed"]
    if failed:
        lines.append(f"failed: {', '.join(failed)}")
    return "\n".join(lines)
