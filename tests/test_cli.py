"""The commands of the command line: what they print, write and refuse."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import ruleglm
from ruleglm import RuleClassifier, RuleRegressorCV, load_model
from ruleglm.cli.options import FamilyName
from ruleglm.export import to_scorecard
from ruleglm.families import FAMILIES
from ruleglm.solvers.pursuit import Walk
from tests.cli_cases import SMALL, people, run, run_json

OTHERS = ("--drop", "amount", "--drop", "claims", "--drop", "weight", "--drop", "years")


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with rows, a classifier, a regression and a model of counts with exposure."""
    folder = tmp_path_factory.mktemp("cli")
    people().to_csv(folder / "people.csv", index=False)
    people(80, seed=1).to_csv(folder / "new.csv", index=False)
    data = folder / "people.csv"
    run("fit", data, "-t", "income", *OTHERS, *SMALL, "-o", folder / "income.json")
    drops = ("--drop", "income", "--drop", "claims", "--drop", "years")
    words = ("--weights", "weight", "--max-complexity", "4", "--cv", "2")
    run("fit", data, "-t", "amount", *drops, *words, "-o", folder / "amount.json")
    drops = ("--drop", "income", "--drop", "amount", "--drop", "weight")
    words = ("--exposure", "years", *SMALL, "-o", folder / "claims.json")
    run("fit", data, "-t", "claims", *drops, *words)
    return folder


def read(name, folder):
    return pd.read_csv(folder / name)


def features(frame):
    return frame[["age", "job [title]", "code", "hours per week"]]


# ---------------------------------------------------------------------------------------- the fit


def test_fit_is_the_librarys_fit(folder):
    frame = read("people.csv", folder)
    model = RuleClassifier(penalty="l0", max_complexity=4.0, linear_terms=True, bins="auto")
    model.fit(features(frame), frame["income"])
    assert load_model(folder / "income.json") == model.ensemble_


def test_fit_with_folds_and_weights_is_the_librarys_fit(folder):
    frame = read("people.csv", folder)
    model = RuleRegressorCV(max_complexity=4.0, cv=2)
    model.fit(features(frame), frame["amount"], frame["weight"])
    assert load_model(folder / "amount.json") == model.ensemble_


def test_fit_shows_the_model_and_what_it_guessed(folder):
    result = run("fit", folder / "people.csv", "-t", "income", *OTHERS, *SMALL)
    assert "target 'income' has 2 values: binomial" in result.stderr
    assert "The log-odds that income is '>50K' are" in result.stdout
    assert "coefficient  rows  importance  rule" in result.stdout
    assert "On the 160 rows of the fit: log-loss" in result.stdout
    assert "--out model.json" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("amount",), "target 'amount' has 159 different numbers: gaussian"),
        (("claims", "--exposure", "years"), "whole numbers and an exposure: poisson"),
        (("amount", "--exposure", "years"), "positive amounts and an exposure: gamma"),
        (("claims",), "whole numbers: gaussian (if they count something: --family poisson"),
    ],
)
def test_family_is_guessed_and_said(folder, words, said):
    result = run("fit", folder / "people.csv", "--drop", "income", "-t", *words, *SMALL)
    assert said in result.stderr


def test_family_can_be_told(folder):
    words = ("-t", "claims", "--family", "poisson", *SMALL, "--drop", "income")
    result = run("fit", folder / "people.csv", *words)
    assert result.stderr == ""
    assert "The logarithm of the mean of claims is" in result.stdout


def test_families_are_those_of_the_library():
    assert {name.value for name in FamilyName} == {*FAMILIES, "multinomial"}


def test_test_rows_are_held_out(folder):
    words = ("-t", "income", *OTHERS, *SMALL, "--test-share", "0.25")
    document = run_json("fit", folder / "people.csv", *words)
    fit = document["summary"]["fit"]
    assert (fit["rows"], fit["test_rows"]) == (120, 40)
    assert 0 < fit["test_scores"]["log_loss"] < 1


def test_test_file_is_scored_as_evaluate_does(folder):
    words = ("-t", "income", *OTHERS, *SMALL, "--test", folder / "new.csv")
    document = run_json("fit", folder / "people.csv", *words)
    scores = run_json("evaluate", folder / "income.json", folder / "new.csv")["scores"]
    assert document["summary"]["fit"]["test_scores"] == pytest.approx(scores)


def test_rows_without_a_target_are_left_out(folder, tmp_path):
    frame = read("people.csv", folder)
    frame.loc[[3, 7], "income"] = None
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    result = run("fit", tmp_path / "gaps.csv", "-t", "income", *OTHERS, *SMALL)
    assert "2 rows without a target ('income') are left out" in result.stderr
    assert "On the 158 rows of the fit" in result.stdout


def test_identifiers_are_pointed_out(folder, tmp_path):
    frame = read("people.csv", folder).assign(row=range(160), name=[f"n{k}" for k in range(160)])
    frame.to_csv(tmp_path / "ids.csv", index=False)
    result = run("fit", tmp_path / "ids.csv", "-t", "income", *OTHERS, *SMALL)
    assert "column 'row' numbers or names the rows" in result.stderr
    assert "column 'name' numbers or names the rows" in result.stderr
    assert "'age'" not in result.stderr


def test_price_gives_a_proof(folder):
    words = ("-t", "income", *OTHERS, "--lambda-0", "0.05", "--max-degree", "1")
    result = run("fit", folder / "people.csv", *words)
    assert "among all rules of degree 1 over these bins" in result.stdout.replace("\n", " ")


def test_rules_can_be_given_and_forbidden(folder):
    words = ("-t", "income", *OTHERS, *SMALL, "--include", "age > 33", "--exclude", "code")
    document = run_json("fit", folder / "people.csv", *words)
    texts = [rule["text"] for rule in document["rules"]]
    assert "age > 33" in texts
    assert not any("code" in text for text in texts)
    words = ("-t", "income", *OTHERS, *SMALL, "--include", "age >> 33")
    assert "age >> 33" in run("fit", folder / "people.csv", *words, code=1).stderr


def test_same_fit_writes_the_same_file(folder, tmp_path):
    words = ("fit", folder / "people.csv", "-t", "income", *OTHERS, *SMALL, "--out")
    run(*words, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (folder / "income.json").read_bytes()


# ---------------------------------------------------------------------------------- many classes


def test_many_classes(folder, tmp_path):
    from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

    out, new = tmp_path / "code.json", folder / "new.csv"
    words = ("-t", "code", "--drop", "weight", *SMALL, "--out", out)
    result = run("fit", folder / "people.csv", *words)
    assert "target 'code' has 3 values: multinomial" in result.stderr
    assert "softmax makes them shares" in result.stdout.replace("\n", " ")
    assert max(map(len, result.stdout.splitlines())) <= 80
    frame, ensemble = read("new.csv", folder), load_model(out)
    shares = ensemble.predict(frame)
    table = run_json("predict", out, new)["predictions"]
    assert table.pop("prediction") == ensemble.predict_class(frame).tolist()
    np.testing.assert_allclose(np.column_stack(list(table.values())), shares, rtol=1e-12)
    scores = run_json("evaluate", out, new)["scores"]
    assert scores["log_loss"] == pytest.approx(log_loss(frame["code"], shares))
    assert scores["auc"] == pytest.approx(roc_auc_score(frame["code"], shares, multi_class="ovr"))
    predicted = np.array(ensemble.classes)[shares.argmax(axis=1)]
    assert scores["accuracy"] == pytest.approx(accuracy_score(frame["code"], predicted))
    (told,) = run_json("explain", out, new, "--row", 4, "--class", "x")["rows"]
    assert told["prediction"] == pytest.approx(shares[4][ensemble.classes.index("x")])
    assert "there is no class 'y'" in run("explain", out, new, "--class", "y", code=1).stderr


# --------------------------------------------------------------------------------------- the path


def test_path_of_rows_is_that_of_the_fit(folder, tmp_path):
    words = ("--max-complexity", "4", "--cv", "2", "--weights", "weight")
    drops = ("--drop", "income", "--drop", "claims", "--drop", "years")
    shown = run_json("path", folder / "people.csv", "-t", "amount", *words, *drops)
    kept = run_json("path", folder / "amount.json")
    assert shown == kept
    assert sum(row["chosen"] for row in kept["path"]) == 1
    result = run("path", folder / "amount.json", "--out", tmp_path / "path.csv")
    table = pd.read_csv(tmp_path / "path.csv")
    assert table["cv_mean"].tolist() == pytest.approx([row["cv_mean"] for row in kept["path"]])
    assert result.stdout.count("chosen") == 1
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_path_needs_a_path_or_a_target(folder):
    assert "a model without a path" in run("path", folder / "income.json", code=1).stderr
    assert "--target" in run("path", folder / "people.csv", code=2).stderr


# --------------------------------------------------------------------------- predict and evaluate


def test_predictions_are_the_librarys(folder, tmp_path):
    frame = read("new.csv", folder)
    ensemble = load_model(folder / "income.json")
    out = tmp_path / "p.csv"
    run("predict", folder / "income.json", folder / "new.csv", "--keep", "age", "-o", out)
    table = pd.read_csv(out)
    assert list(table) == ["age", "prediction", "probability of <=50K", "probability of >50K"]
    assert table["age"].tolist() == frame["age"].tolist()
    mean = ensemble.predict(features(frame))
    np.testing.assert_allclose(table["probability of >50K"], mean, rtol=1e-12)
    assert table["prediction"].tolist() == ensemble.predict_class(features(frame)).tolist()


def test_predictions_go_to_standard_output(folder):
    result = run("predict", folder / "amount.json", folder / "new.csv")
    lines = result.stdout.splitlines()
    assert lines[0] == "prediction"
    assert len(lines) == 81


def test_exposure_of_the_fit_is_used_in_prediction(folder):
    frame = read("new.csv", folder)
    rates = load_model(folder / "claims.json").predict(frame)
    words = ("predict", folder / "claims.json", folder / "new.csv")
    with_years = run_json(*words)["predictions"]["prediction"]
    np.testing.assert_allclose(with_years, rates * frame["years"], rtol=1e-12)
    per_year = run_json(*words, "--exposure", "1")["predictions"]["prediction"]
    np.testing.assert_allclose(per_year, rates, rtol=1e-12)


def test_exposure_that_is_lacking_is_named(folder, tmp_path):
    read("new.csv", folder).drop(columns="years").to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", folder / "claims.json", tmp_path / "new.csv", code=1)
    assert "--exposure 'years', which the rows lack" in result.stderr


def test_only_the_columns_of_the_rules_are_needed(folder, tmp_path):
    used = {name for rule in load_model(folder / "income.json").rules for name in rule.features}
    frame = read("new.csv", folder)
    short = frame[[name for name in features(frame) if name in used]]
    assert 0 < short.shape[1] < 4
    short.to_csv(tmp_path / "short.csv", index=False)
    words = ("predict", folder / "income.json")
    assert run_json(*words, tmp_path / "short.csv") == run_json(*words, folder / "new.csv")
    frame.drop(columns=short.columns[0]).to_csv(tmp_path / "none.csv", index=False)
    result = run(*words, tmp_path / "none.csv", code=1)
    assert f"there is no column {short.columns[0]!r}" in result.stderr


def test_texts_that_look_like_numbers_stay_texts(folder, tmp_path):
    """A file with the codes 1 and 2 only would be read as numbers, which equal no text."""
    assert "code" in {name for r in load_model(folder / "income.json").rules for name in r.features}
    frame = read("new.csv", folder)
    chosen = frame[frame["code"] != "x"].reset_index(drop=True)
    chosen.to_csv(tmp_path / "codes.csv", index=False)
    found = run_json("predict", folder / "income.json", tmp_path / "codes.csv")["predictions"]
    expected = load_model(folder / "income.json").predict(features(chosen))
    np.testing.assert_allclose(found["probability of >50K"], expected, rtol=1e-12)


def test_scores_are_scikit_learns(folder):
    from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, roc_auc_score

    frame = read("new.csv", folder)
    share = load_model(folder / "income.json").predict(features(frame))
    truth, weights = frame["income"] == ">50K", frame["weight"]
    words = ("evaluate", folder / "income.json", folder / "new.csv", "--weights", "weight")
    scores = run_json(*words)["scores"]
    assert scores.pop("calibration_error") > 0
    assert scores == pytest.approx(
        {
            "log_loss": log_loss(truth, share, sample_weight=weights),
            "brier": brier_score_loss(truth, share, sample_weight=weights),
            "auc": roc_auc_score(truth, share, sample_weight=weights),
            "accuracy": accuracy_score(truth, share > 0.5, sample_weight=weights),
        }
    )
    assert "Brier score" in run(*words).stdout


def test_scores_of_numbers_are_scikit_learns(folder):
    from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

    frame = read("new.csv", folder)
    mean = load_model(folder / "amount.json").predict(features(frame))
    scores = run_json("evaluate", folder / "amount.json", folder / "new.csv")["scores"]
    given = {"sample_weight": frame["weight"]}  # as in the fit
    assert scores["r2"] == pytest.approx(r2_score(frame["amount"], mean, **given))
    assert scores["rmse"] == pytest.approx(root_mean_squared_error(frame["amount"], mean, **given))
    assert scores["mae"] == pytest.approx(mean_absolute_error(frame["amount"], mean, **given))
    assert scores["deviance"] == pytest.approx(scores["rmse"] ** 2)
    assert scores["deviance_explained"] == pytest.approx(scores["r2"])


def test_scores_of_counts_are_scikit_learns(folder):
    from sklearn.metrics import d2_tweedie_score, mean_poisson_deviance

    frame = read("new.csv", folder)
    rate = load_model(folder / "claims.json").predict(frame)
    words = ("evaluate", folder / "claims.json", folder / "new.csv")
    scores = run_json(*words)["scores"]
    assert scores["deviance"] == pytest.approx(
        mean_poisson_deviance(frame["claims"], rate * frame["years"])
    )
    alone = run_json(*words, "--exposure", "1")["scores"]
    assert alone["deviance_explained"] == pytest.approx(
        d2_tweedie_score(frame["claims"], rate, power=1)
    )


def test_classes_that_the_model_does_not_know_are_named(folder, tmp_path):
    frame = read("new.csv", folder)
    frame.loc[5, "income"] = "lots"
    frame.to_csv(tmp_path / "odd.csv", index=False)
    result = run("evaluate", folder / "income.json", tmp_path / "odd.csv", code=1)
    assert "target 'income' is 'lots' in row 5; the model knows '<=50K', '>50K'" in result.stderr


# ------------------------------------------------------------------------------ show and explain


def test_show_prints_every_rule(folder):
    result = run("show", folder / "income.json")
    flat = " ".join(result.stdout.split())
    for rule in load_model(folder / "income.json").rules:
        assert rule.text() in flat
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert run_json("show", folder / "income.json") == json.loads(
        (folder / "income.json").read_text()
    )


def test_show_takes_models_from_elsewhere(folder, tmp_path):
    ruleglm.save_model(load_model(folder / "income.json"), tmp_path / "bare.json")
    assert "The log-odds that the target is '>50K'" in run("show", tmp_path / "bare.json").stdout


@pytest.mark.parametrize("name", ["income", "amount", "claims"])
def test_explanations_add_up_to_the_prediction(folder, name):
    model, data = folder / f"{name}.json", folder / "new.csv"
    rows = run_json("explain", model, data, "--row", 3, "--row", 0)["rows"]
    predicted = list(run_json("predict", model, data)["predictions"].values())[-1]
    for row, number in zip(rows, (3, 0), strict=True):
        assert row["row"] == number
        assert sum(term["contribution"] for term in row["terms"]) == pytest.approx(row["sum"])
        assert row["prediction"] == pytest.approx(predicted[number])
        assert row["terms"][-1]["mean"] == pytest.approx(row["prediction"])
    result = run("explain", model, data, "--row", 3)
    assert "(intercept)" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_rows_that_are_not_there_are_refused(folder):
    result = run("explain", folder / "income.json", folder / "new.csv", "-r", 80, code=1)
    assert "--row 80: the rows are 0 to 79" in result.stderr


# ---------------------------------------------------------------------------------------- exports


def test_sql_predicts_what_predict_does(folder, tmp_path):
    duckdb, _ = pytest.importorskip("duckdb"), pytest.importorskip("sqlglot")
    query = tmp_path / "score.sql"
    words = ("--to", "sql", "--table", "rows", "--key", "age", "--out", query)
    run("export", folder / "income.json", *words)
    rows = read("new.csv", folder)
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        found = connection.execute(query.read_text()).df()
    expected = run_json("predict", folder / "income.json", folder / "new.csv")["predictions"]
    assert found["age"].tolist() == rows["age"].tolist()
    np.testing.assert_allclose(found["probability"], expected["probability of >50K"], rtol=1e-9)


def test_python_predicts_what_predict_does(folder):
    result = run("export", folder / "claims.json", "--to", "python")
    assert "predictions are per unit of 'years'" in result.stderr
    made = {}
    exec(result.stdout, made)
    rows = read("new.csv", folder)
    expected = run_json("predict", folder / "claims.json", folder / "new.csv", "--exposure", "1")
    found = [made["predict"](row) for row in rows.to_dict("records")]
    np.testing.assert_allclose(found, expected["predictions"]["prediction"], rtol=1e-9)


def test_onnx_predicts_what_predict_does(folder, tmp_path):
    runtime, _ = pytest.importorskip("onnxruntime"), pytest.importorskip("onnx")
    graph = tmp_path / "model.onnx"
    assert run("export", folder / "amount.json", "--to", "onnx", code=2).stdout == ""
    run("export", folder / "amount.json", "--to", "onnx", "--out", graph)
    session, rows = runtime.InferenceSession(graph), read("new.csv", folder)
    given = {one.name: rows[[one.name]].to_numpy() for one in session.get_inputs()}
    doubles = {name: v.astype(float) for name, v in given.items() if v.dtype.kind in "if"}
    (mean,) = session.run(["mean"], {**given, **doubles})
    expected = run_json("predict", folder / "amount.json", folder / "new.csv")["predictions"]
    np.testing.assert_allclose(mean[:, 0], expected["prediction"], rtol=1e-9)


def test_scorecard_in_three_formats(folder, tmp_path):
    words = ("export", folder / "income.json", "--to", "scorecard", "--max-points", "7")
    card = to_scorecard(load_model(folder / "income.json"), max_points=7)
    assert run(*words).stdout == f"{card}\n"
    for name, text in (("card.md", card.to_markdown()), ("card.html", card.to_html())):
        run(*words, "--out", tmp_path / name)
        assert (tmp_path / name).read_text() == f"{text}\n"
    compared = run(*words, "--data", folder / "new.csv").stdout
    assert "with points" in compared
    assert max(map(len, compared.splitlines())) <= 80


def test_json_is_the_model_alone(folder, tmp_path):
    run("export", folder / "amount.json", "--to", "json", "--out", tmp_path / "bare.json")
    assert load_model(tmp_path / "bare.json") == load_model(folder / "amount.json")
    assert "summary" not in json.loads((tmp_path / "bare.json").read_text())


def test_dialects_that_are_not_known_are_refused(folder):
    words = ("export", folder / "income.json", "--to", "sql", "--dialect", "basic")
    assert "choose one of duckdb" in run(*words, code=1).stderr
    assert run("export", folder / "income.json", "--to", "cobol", code=2).stdout == ""


# ---------------------------------------------------------------------------------------- reports


def test_report_of_a_fit_shows_all_models_and_test_scores(folder, tmp_path):
    page = tmp_path / "page.html"
    words = ("--max-complexity", "3", "--cv", "2", "--test-share", "0.3", "--report", page)
    result = run("fit", folder / "people.csv", "-t", "income", *OTHERS, *words)
    assert "Wrote a page to explore all models to" in result.stdout
    payload = read_payload(page)
    assert len(payload["models"]) > 1
    assert "test_auc" in {metric["key"] for metric in payload["metrics"]}
    assert payload["target"] == "income"


def test_report_of_a_saved_model(folder, tmp_path):
    page = tmp_path / "page.html"
    words = ("report", folder / "claims.json", folder / "new.csv", "--title", "<Claims>")
    run(*words, "--out", page)
    payload = read_payload(page)
    assert payload["title"] == "<Claims>"
    assert len(payload["models"]) == 1
    assert "test_deviance" in {metric["key"] for metric in payload["metrics"]}
    assert "exists already" in run(*words, "--out", page, code=1).stderr


def test_report_without_a_target_has_no_scores(folder, tmp_path):
    page = tmp_path / "page.html"
    read("new.csv", folder).drop(columns="income").to_csv(tmp_path / "new.csv", index=False)
    result = run("report", folder / "income.json", tmp_path / "new.csv", "--out", page)
    assert "no column 'income', so the page has no scores" in result.stderr
    assert "test_auc" not in {metric["key"] for metric in read_payload(page)["metrics"]}


def read_payload(page):
    _, data = page.read_text(encoding="utf-8").split('type="application/json">', 1)
    return json.loads(data.split("</script>")[0])


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

    def interrupted(walk, limits):
        calls.append(walk)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return grow(walk, limits)

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
    assert "log-odds that tumour is 'malignant'" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
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


def test_output_of_a_wide_terminal_is_not_wrapped(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert os.environ["COLUMNS"] == "200"
    lines = run("show", folder / "income.json").stdout.splitlines()
    texts = [rule.text() for rule in load_model(folder / "income.json").rules]
    for text in texts:
        assert any(line.endswith(text) for line in lines)
