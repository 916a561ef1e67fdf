"""The study's protocol, records and run stage, on made-up rows."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import psutil
import pytest
from experiments import paper
from experiments.ours import LAMBDAS, OURS
from experiments.protocol import BINARY, REGRESSION, Candidate, Rows, inner_splits, run_fold, score
from experiments.run import BUDGETS, Clock, Settings, folds_of, plan, run
from experiments.units import Record, Unit, read_records, write_results


def make_rows(n_rows=300, task=BINARY, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n_rows), "b": rng.choice(["u", "v"], n_rows)})
    y = (X["a"] > 0.3) * 1.0 + (X["b"] == "u") * (X["a"] < -0.5)
    noise = rng.random(n_rows) < 0.1
    y = np.where(noise, 1 - y, y).astype(int) if task == BINARY else y + 0.1 * noise
    cut = n_rows * 9 // 10
    return Rows(task, X[:cut], np.asarray(y[:cut]), X[cut:], np.asarray(y[cut:]))


def constants(*values):
    """Return a method that predicts constants."""
    return lambda rows: [
        Candidate({"value": value}, np.full(len(rows.y_test), value), complexity=value)
        for value in values
    ]


@pytest.mark.parametrize(("n_rows", "expected"), [(300, 5), (2000, 3), (8000, 1)])
def test_inner_folds_are_within_the_training_rows(n_rows, expected):
    rows = make_rows(n_rows)
    splits = inner_splits(rows)
    assert len(splits) == expected
    for train, test in splits:
        assert not set(train) & set(test)
        assert max(*train, *test) < len(rows.y_train)


def test_candidates_are_chosen_by_the_training_rows():
    rows = make_rows()
    share = rows.y_train.mean()
    wrong = 1.0 - rows.y_test.mean()  # would be chosen if only the test rows counted as labels
    outcome = run_fold(constants(0.99, wrong, share), rows)
    brier = next(one for one in outcome.chosen if one["metric"] == "brier")
    assert brier["parameters"] == {"value": share}
    assert brier["brier"] == pytest.approx(np.mean((rows.y_test - share) ** 2))
    assert outcome.inner_folds == 5


def test_the_first_of_equal_candidates_is_chosen():
    outcome = run_fold(constants(0.2, 0.2), make_rows())
    assert all(one["parameters"] == {"value": 0.2} for one in outcome.chosen)
    assert len(outcome.curve) == 2


def test_one_candidate_needs_no_inner_folds():
    calls = []

    def method(rows):
        calls.append(rows)
        return [Candidate({}, np.zeros(len(rows.y_test)))]

    assert run_fold(method, make_rows()).inner_folds == 0
    assert len(calls) == 1


def test_of_several_models_at_a_point_the_better_is_on_the_curve():
    def method(rows):
        good = np.full(len(rows.y_test), rows.y_train.mean())
        return [
            Candidate({"k": k}, values, complexity=k, point=point)
            for k, (values, point) in enumerate([(1 - good, 1), (good, 1), (good, 2)])
        ]

    curve = run_fold(method, make_rows()).curve
    assert [point["parameters"]["k"] for point in curve] == [1, 2]


def test_r2_and_accuracy():
    y = np.array([0.0, 1.0, 2.0, 5.0])
    assert score("r2", y, Candidate({}, np.full(4, 2.0))) == pytest.approx(0.0)
    labels = Candidate({}, np.array([0.9, 0.2]), labels=np.array([0, 0]))
    assert score("accuracy", np.array([1, 0]), labels) == 0.5
    assert score("accuracy", np.array([1, 0]), Candidate({}, np.array([0.9, 0.2]))) == 1.0


@pytest.mark.parametrize("method", ["LR1", "LRR", "LR1N", "LRRN", "LRRN+", "Pursuit"])
@pytest.mark.parametrize("task", [BINARY, REGRESSION])
def test_our_methods_give_the_same_candidates_for_other_rows(method, task):
    rows, other = make_rows(400, task), make_rows(120, task, 1)
    found, again = OURS[method](rows), OURS[method](other)
    assert [one.parameters for one in found] == [one.parameters for one in again]
    metric = "brier" if task == BINARY else "r2"
    scores = [score(metric, rows.y_test, one) for one in found]
    assert min(scores) < 0.22 if task == BINARY else max(scores) > 0.5
    assert found[0].complexity < max(one.complexity for one in found)
    if "lambda_0" in found[0].parameters:
        assert [one.parameters["lambda_0"] for one in found[: len(LAMBDAS)]] == list(LAMBDAS)


def test_slow_methods_have_fewer_folds_on_large_sets():
    assert folds_of("adult", "EBM") == BUDGETS["EBM"]
    assert folds_of("heart", "LR1") == folds_of("adult", "LR1") == 10
    assert folds_of("adult", "LRRI") == 0
    units = plan(["adult", "heart"], ["EBM", "LR1"], 10)
    assert units[0] == Unit("heart", "EBM", 0)
    assert len(units) == 20 + folds_of("heart", "EBM") + BUDGETS["EBM"]
    assert [unit.fold for unit in units] == sorted(unit.fold for unit in units)


def make_folder(folder):
    n_rows, rng = 90, np.random.default_rng(0)
    numbers = {f"v{k}": rng.integers(0, 20, n_rows) for k in range(4)}
    target = (numbers["v0"] > 8).astype(int)
    pd.DataFrame({**numbers, "target": target}).to_csv(folder / "transfusion.csv.gz", index=False)


def test_a_run_goes_on_where_it_stopped(tmp_path):
    make_folder(tmp_path)
    settings = Settings(tmp_path, tmp_path / "records", jobs=1)
    units = plan(["transfusion"], ["LR1"], 2)
    whole, said = units[0].path(settings.records), []
    Record("transfusion", BINARY, "LR1", 1, error="MemoryError: no room").write(settings.records)
    whole.with_suffix(".1.part").write_text("{", encoding="utf-8")  # what a killed run leaves
    run(units, settings, said.append)
    assert "2 of 2 units" in said[0]
    before = {path: path.read_text() for path in settings.records.glob("*/*/*.json")}
    assert len(before) == 2
    assert not any(json.loads(text)["error"] for text in before.values())
    said.clear()
    run(units, settings, said.append)
    assert said == ["0 of 2 units to run, about 0 min left"]
    assert before == {path: path.read_text() for path in settings.records.glob("*/*/*.json")}


def test_failures_are_recorded(tmp_path):
    (tmp_path / "transfusion.csv.gz").write_bytes(b"no gzip")
    settings = Settings(tmp_path, tmp_path / "records", jobs=1)
    said = []
    run(plan(["transfusion"], ["LR1"], 1), settings, said.append)
    (record,) = read_records(settings.records)
    assert record.error
    assert record.error in said[1]


def make_record(fold, brier, method="LR1"):
    point = {"parameters": {"lambda_0": 0.1}, "complexity": 2.0 + fold, "rules": 2, "brier": brier}
    chosen = [{"metric": "brier", **point}, {"metric": "accuracy", **point, "accuracy": 0.5}]
    curve = [{**point, "accuracy": 0.5}] * 2
    return Record("heart", BINARY, method, fold, 90, chosen=chosen, curve=curve, seconds=1.0)


def test_results_are_tables_of_the_records(tmp_path):
    failed = Record("heart", BINARY, "SVM", 0, error="ValueError: no")
    write_results([make_record(1, 0.3), make_record(0, 0.1), failed], tmp_path)
    scores = pd.read_csv(tmp_path / "scores.csv")
    assert scores["fold"].tolist() == [0, 0, 1, 1]
    assert set(scores["method"]) == {"LR1"}
    curves = pd.read_csv(tmp_path / "curves.csv")
    assert curves["brier"].tolist() == pytest.approx([0.2, 0.2])
    assert curves["brier_se"].tolist() == pytest.approx([0.1, 0.1])
    assert curves["complexity"].tolist() == pytest.approx([2.5, 2.5])
    assert curves["folds"].tolist() == [2, 2]
    assert curves["r2"].isna().all()
    assert "ruleglm" in pd.read_csv(tmp_path / "versions.csv")["package"].tolist()


def test_the_time_left_is_guessed_from_sets_of_like_size():
    clock = Clock([make_record(0, 0.1), make_record(1, 0.1)])
    assert clock.guess(Unit("heart", "LR1", 5)) == pytest.approx(1.0)
    assert 1.0 < clock.guess(Unit("adult", "LR1", 0)) < 30.0
    assert clock.estimate([Unit("heart", "LR1", 5)] * 600, 2) == "about 5 min left"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "needs --data"),
        (["run", "--data", ".", "--only", "hart"], "no data set 'hart'"),
        (["run", "--data", ".", "--methods", "LR2"], "no method 'LR2'"),
    ],
)
def test_mistakes_on_the_command_line(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["paper", *arguments])
    with pytest.raises(SystemExit) as error:
        paper.main()
    assert message in str(error.value) + capsys.readouterr().err


def test_a_terminated_run_ends_its_workers(tmp_path):
    make_folder(tmp_path)
    command = [sys.executable, "-m", "experiments.paper", "run", "--data", str(tmp_path)]
    command += ["--records", str(tmp_path / "records"), "--results", str(tmp_path / "results")]
    command += ["--methods", "LRR", "Pursuit", "--jobs", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while "transfusion" not in process.stderr.readline():
            pass
        workers = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        assert "run again to go on" in process.stderr.read()
        assert process.wait() == 0
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert not alive
    assert (tmp_path / "results" / "scores.csv").exists()
