"""Compilation ahead of the first fit: the kernels it names, and what other processes leave behind.

Each test has a Python of its own, since kernels that are in memory are not compiled again.
"""

import os
import subprocess
import sys

import pytest

from ruleglm import kernels
from ruleglm.kernels.ahead import COMMON, OF_PENALTY, SIGNATURES, compile_apart

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled"
)

FITS = """
import numpy as np
import ruleglm
from ruleglm import kernels
from ruleglm.kernels.ahead import SIGNATURES, read_signature

rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 4))
score = X[:, 0] + (X[:, 1] > 0) * (X[:, 2] > 0) + rng.normal(size=4000)
y = (score > 0.5).astype(int)
given = {"penalty": PENALTY, "linear_terms": True, "n_jobs": 2, "max_complexity": 6}
ruleglm.RuleClassifierCV(**given, cv=2).fit(X, y)
ruleglm.RuleRegressorCV(**given, cv=2).fit(X, score)
for kernel in kernels.KERNELS:
    for signature in kernel.signatures:
        said = SIGNATURES.get(kernel.__name__)
        print(kernel.__name__, said is not None and read_signature(said) == signature)
"""


def run(code, **environment):
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize("penalty", OF_PENALTY)
def test_the_kernels_of_a_fit_are_named_with_their_types(penalty):
    code = FITS.replace("PENALTY", repr(penalty))
    run(code)  # where kernels are compiled, those that they call are compiled too
    printed, _ = run(code)
    found = dict(line.split() for line in printed.splitlines())
    assert set(found.values()) == {"True"}, found
    needed = set(OF_PENALTY[penalty]) | set(COMMON)
    by_chance = {"await_change"}  # of a helper, which may have begun by then
    assert set(found) | by_chance == needed


def test_other_processes_leave_kernels_in_the_cache(tmp_path):
    names = ["count_rows", "rate_additions", "sweep_column"]
    code = f"""
from ruleglm import kernels
from ruleglm.kernels.ahead import compile_apart, is_cold
print([is_cold(getattr(kernels, name)) for name in {names}])
compile_apart({names}, 2)
print([is_cold(getattr(kernels, name)) for name in {names}])
import numpy as np
columns, out = np.array([[7], [0]], np.uint64), np.empty(2, np.int64)
kernels.count_rows(columns, out)
print(out.tolist(), sum(kernels.count_rows.stats.cache_hits.values()))
"""
    printed, _ = run(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert printed.splitlines() == [str([True] * 3), str([False] * 3), "[3, 0] 1"]


def test_what_is_compiled_is_announced_once(tmp_path):
    code = """
import sys
from ruleglm.kernels import ahead
ahead.compile_apart = lambda names, n_processes: print(len(names))
for penalty in ("l0", "l0", "l1"):
    ahead.compile_ahead(penalty)
"""
    printed, said = run(code, NUMBA_CACHE_DIR=str(tmp_path))
    sizes = [len(OF_PENALTY[penalty]) + len(COMMON) for penalty in ("l0", "l1")]
    assert printed.split() == [str(size) for size in sizes]
    assert said.splitlines() == [
        f"ruleglm: compiling {size} kernels, once on this machine (some seconds)" for size in sizes
    ]


@pytest.mark.parametrize(
    ("executable", "n_started"),
    [(None, 0), ("", 0), ("/usr/bin/an-editor", 0), ("/opt/bin/python3", 1), ("C:/Python.exe", 1)],
)
def test_other_programs_than_python_are_not_started(executable, n_started, monkeypatch):
    started = []

    def start(command, **_):
        started.append(command[0])
        raise OSError

    monkeypatch.setattr(sys, "executable", executable)
    monkeypatch.setattr(subprocess, "Popen", start)
    compile_apart(["count_rows"], 2)  # it goes on where a process cannot be started
    assert started == [executable] * n_started


def test_the_names_are_those_of_kernels():
    assert set(SIGNATURES) <= {kernel.__name__ for kernel in kernels.KERNELS}
