"""What goes wrong, what is interrupted, and the demo."""

import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import ruleglm
from ruleglm import RuleClassifier, load_model
from ruleglm.solvers.walk import Walk
from tests.cli_cases import OTHERS, SMALL, run, widest


@pytest.fixture
def folder(cli_folder):
    return cli_folder


# --------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-t", "incme"), "--target: there is no column 'incme'; did you mean 'income'?"),
        (("-t", "income", "--weights", "code"), "column 'code' is 'x' in row"),
        (("-t", "income", "--weights", "hours per week"), "column 'hours per week' is missing"),
        (("-t", "income", "--drop", "nothing"), "--drop: there is no column 'nothing'"),
        (("-t", "income", "--weights", "income"), "Column 'income' has two roles"),
        (("-t", "income", "--exposure", "years"), "`exposure` multiplies the mean"),
        (("-t", "income", "--categorical", "joob"), "'joob'"),
        (("-t", "income", "--increasing", "joob"), "'joob'"),
    ],
)
def test_mistakes_in_columns_are_named(folder, words, said):
    result = run("fit", folder / "people.csv", *words, *SMALL, code=1)
    assert said in result.stderr
    assert result.stderr.count("\n") <= 2  # the guess and the error
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--target", "income", "--family", "normal"),
        ("--target", "income", "--cv", "1"),
        ("--target", "income", "--test-share", "2"),
        ("--target", "income", "--test-share", "0.2", "--test", "new.csv"),
        ("--target", "income", "--lambda-0", "0.1", "--max-rules", "3"),
        ("--target", "income", "--penalty", "l1", "--cv", "0"),
        ("--target", "income", "--cv", "0", "--select", "1se"),
        ("--target", "income", "--cv", "0", "--path", "path.csv"),
    ],
)
def test_commands_that_are_not_understood_end_with_2(folder, words):
    assert run("fit", folder / "people.csv", *words, code=2).stdout == ""


@pytest.mark.parametrize("option", ["--out", "--path"])
def test_files_are_not_replaced_unasked(folder, tmp_path, option):
    old = tmp_path / "old.csv"
    old.write_text("mine")
    words = ("fit", folder / "people.csv", "-t", "income", *OTHERS, "--max-complexity", "2")
    words = (*words, "--cv", "2", option, old)
    result = run(*words, code=1)
    assert "old.csv exists already; --force replaces it" in result.stderr
    assert old.read_text() == "mine"
    run(*words, "--force")
    assert len(old.read_text()) > 100
    assert [path.name for path in tmp_path.iterdir()] == ["old.csv"]


def test_outputs_are_checked_before_the_fit(folder, tmp_path):
    words = ("fit", "nothing.csv", "-t", "income", "--out")
    assert "does not exist; make it first" in run(*words, tmp_path / "a/b.json", code=1).stderr
    assert "is a folder" in run(*words, tmp_path, code=1).stderr


def test_what_is_no_model_is_refused(folder, tmp_path):
    assert "There is no file" in run("show", tmp_path / "no.json", code=1).stderr
    result = run("show", folder / "people.csv", code=1)
    assert "no saved model" in result.stderr
    assert "Traceback" not in result.stderr


def test_warnings_take_one_line(folder):
    words = ("-t", "income", *OTHERS, "--lambda-0", "0.0001", "--time-limit", "0.000001")
    result = run("fit", folder / "people.csv", *words)
    (warning,) = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert "time limit" in warning


# ------------------------------------------------------------------------------------ interrupted


def test_interrupt_ends_with_130(folder, monkeypatch, tmp_path):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(RuleClassifier, "fit", stop)
    out = tmp_path / "model.json"
    words = ("-t", "income", *OTHERS, *SMALL, "--out", out)
    result = run("fit", folder / "people.csv", *words, code=130)
    assert "interrupted; nothing was written" in result.stderr
    assert not out.exists()


def test_interrupted_pursuit_keeps_the_best_model(folder, monkeypatch, tmp_path):
    grow, calls = Walk.grow, []

    def interrupted(walk, limits, least, most):
        calls.append(walk)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return grow(walk, limits, least, most)

    monkeypatch.setattr(Walk, "grow", interrupted)
    out = tmp_path / "model.json"
    words = ("-t", "income", *OTHERS, *SMALL, "--out", out)
    result = run("fit", folder / "people.csv", *words, code=130)
    assert "warning: The fit was interrupted; this is the best model so far" in result.stderr
    assert len(load_model(out).rules) == 2


def ruleglm_process(*words, **more):
    command = [sys.executable, "-m", "ruleglm.cli", *map(str, words)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **streams, **more)


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_interrupt_in_generated_code_gives_our_exit_code(tmp_path):
    script = (
        "from ruleglm.cli.shell import command\n"
        "import typer\n"
        "typer.run(command(lambda: exec('raise KeyboardInterrupt')))\n"
    )
    (tmp_path / "interrupted.py").write_text(script)
    command = [sys.executable, "-m", "interrupted"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    assert "nothing was written" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_interrupted_fit_keeps_the_best_model(folder, tmp_path):
    out = tmp_path / "model.json"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((4000, 40))).add_prefix("x")
    frame.assign(y=rng.random(4000) < 0.5).to_csv(tmp_path / "noise.csv", index=False)
    words = ("-t", "y", "--lambda-0", "0.0001", "--max-degree", "3", "--out", out)
    process = ruleglm_process("fit", tmp_path / "noise.csv", *words)
    line = process.stderr.readline()  # the guess: the fit begins
    assert "2 values: binomial" in line
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    if out.exists():  # unless the interrupt came before the first round
        assert "best model so far" in errors
        assert load_model(out).names == tuple(frame.columns)


def test_reader_that_has_enough_is_no_error(folder):
    process = ruleglm_process("predict", folder / "income.json", folder / "new.csv")
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    process.wait(60)
    assert "Traceback" not in errors


# ------------------------------------------------------------------------------------------- demo


def test_demo_writes_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.html").write_text("mine")
    result = run("demo")
    assert "certificate: optimal to" in " ".join(result.stdout.split())
    assert "log-odds that tumour is 'malignant'" in result.stdout
    assert widest(result.stdout) <= 80
    assert "Wrote model.json" in result.stdout
    assert len(load_model("model.json").rules) > 3
    assert "report.html exists already and was left as it is" in result.stdout
    assert (tmp_path / "report.html").read_text() == "mine"


def test_version():
    assert run("--version").stdout == f"ruleglm {ruleglm.__version__}\n"


def test_tracebacks_can_be_asked_for(folder, monkeypatch):
    monkeypatch.setenv("RULEGLM_TRACEBACK", "1")
    with pytest.raises(ruleglm.cli.errors.UserError):
        run("fit", folder / "people.csv", "-t", "nothing")
