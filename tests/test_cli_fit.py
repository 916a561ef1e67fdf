"""Models fitted from the command line, their paths and families."""

import numpy as np
import pandas as pd
import pytest

from ruleglm import RuleClassifier, RuleRegressorCV, load_model
from ruleglm.cli.options import FamilyName
from ruleglm.export import from_json
from ruleglm.families import FAMILIES
from tests.cli_cases import OTHERS, SMALL, features, read, run, run_json, widest


@pytest.fixture
def folder(cli_folder):
    return cli_folder


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
    assert widest(result.stdout) <= 80


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


def test_predictions_can_be_monotone(folder):
    frame = read("new.csv", folder)
    words = ("-t", "income", *OTHERS, *SMALL, "--decreasing", "age")
    falling = from_json(run("fit", folder / "people.csv", *words, "--json").stdout)
    older = frame.assign(age=frame["age"] + 20)
    assert (falling.predict(features(older)) <= falling.predict(features(frame))).all()
    both = (*words, "--increasing", "age")
    assert run("fit", folder / "people.csv", *both, code=2).stdout == ""


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
    assert widest(result.stdout) <= 80
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
    assert widest(result.stdout) <= 80


def test_path_needs_a_path_or_a_target(folder):
    assert "a model without a path" in run("path", folder / "income.json", code=1).stderr
    assert "--target" in run("path", folder / "people.csv", code=2).stderr
