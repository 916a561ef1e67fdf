"""``ruleglm demo``: a first look, in a few seconds."""

from pathlib import Path

from ruleglm.cli import options as opt
from ruleglm.cli.files import write_file
from ruleglm.cli.guess import Guess
from ruleglm.cli.reporting import report_fit
from ruleglm.cli.roles import Roles, Rows
from ruleglm.cli.shell import Screen, command
from ruleglm.cli.training import FitOptions, describe_fit, fit_rows, hold_out
from ruleglm.cli.view import count, show_model

MODEL, PAGE = Path("model.json"), Path("report.html")

LAMBDA_0 = 0.05
"""Price of a rule in the fit that is proved."""


@command
def demo(force: opt.Force = False) -> None:
    """Fit scikit-learn's breast-cancer data, show the rules, write model.json and report.html."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    y = data.target.map({0: "malignant", 1: "benign"}).rename("tumour")
    rows = Rows(data.data, y, None, None, None, None)
    train, test = hold_out(rows, 0.3, classes=True, seed=0)
    options = FitOptions(max_complexity=15, lines=False)
    guess = Guess("binomial", "2 values", classifier=True)
    fitted = fit_rows(train, guess, options, verbose=False)
    model = describe_fit(fitted, Roles("tumour"), options, test)
    screen = Screen()
    screen.show(
        f"Breast cancer: {count(len(rows), 'tumour')}, {data.data.shape[1]} measurements of each."
    )
    show_model(screen, model)
    screen.show(prove(train))
    screen.show("")
    for path in (MODEL, PAGE):
        if path.exists() and not force:
            screen.show(f"{path} exists already and was left as it is; --force replaces it.")
        elif path == MODEL:
            write_file(model.text() + "\n", path)
            screen.show(f"Wrote {path}: 'ruleglm show {path}' shows the model again.")
        else:
            report_fit(fitted, test, path)
            screen.show(f"Wrote {path}: open it in a browser to explore all models.")


def prove(train: Rows) -> str:
    """Fit the convex problem to the same rows, and say what is proved of its solution."""
    from ruleglm.estimators import RuleClassifier

    convex = RuleClassifier(lambda_0=LAMBDA_0).fit(train.X, train.y)
    rules = count(len(convex.ensemble_.rules), "rule")
    return (
        f"Column generation (penalty 'l1', lambda_0={LAMBDA_0}) on the same rows: {rules}, "
        f"certificate: {convex.certificate_}."
    )
