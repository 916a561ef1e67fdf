"""Saved models: shown, used, explained, scored, exported, reported."""

import json

import numpy as np
import pandas as pd
import pytest

import ruleglm
from ruleglm import load_model
from ruleglm.export import to_scorecard
from tests.cli_cases import OTHERS, features, read, run, run_json, widest


@pytest.fixture
def folder(cli_folder):
    return cli_folder


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
    assert "deviance" not in run("evaluate", folder / "amount.json", folder / "new.csv").stdout


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
    assert widest(result.stdout) <= 80
    assert run_json("show", folder / "income.json") == json.loads(
        (folder / "income.json").read_text()
    )


def test_output_of_a_wide_terminal_is_not_wrapped(folder):
    lines = run("show", folder / "income.json", columns=200).stdout.splitlines()
    for rule in load_model(folder / "income.json").rules:
        assert any(line.endswith(rule.text()) for line in lines)


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
    assert widest(result.stdout) <= 80


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
    assert widest(compared) <= 80


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
