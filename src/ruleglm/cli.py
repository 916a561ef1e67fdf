"""The command line: ``ruleglm``."""

from typing import Any

import typer

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Learn a few short if-then rules that predict a number, a probability or a count.",
)


@app.callback()
def main() -> None:
    """Learn generalized linear rule models."""


@app.command()
def demo() -> None:
    """Fit a rule model to scikit-learn's breast-cancer data and show what it is."""
    from rich.console import Console
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    from ruleglm.estimators import RuleClassifier

    console = Console()
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target.map({0: "malignant", 1: "benign"})
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.3, random_state=0, stratify=y
    )
    model = RuleClassifier(lambda_0=0.05).fit(X_train, y_train)
    console.print(
        f"Breast cancer, {len(X)} patients, {X.shape[1]} measurements: the log-odds that a tumour "
        f"is {model.classes_[1]} are [bold]{model.intercept_:+.2f}[/bold] plus the coefficients "
        "of the rules that hold."
    )
    console.print(rules_table(model.rules_))
    for line in demo_scores(model, X_test, y_test):
        console.print(line)


def rules_table(rules: Any) -> Any:
    """Lay out a rules frame for a terminal."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title="The rules, most important first", title_justify="left")
    table.add_column("rule", overflow="fold")
    for name in ("coefficient", "support", "importance"):
        table.add_column(name, justify="right")
    for row in rules.itertuples():
        table.add_row(
            Text(row.rule), f"{row.coefficient:+.2f}", f"{row.support:.0%}", f"{row.importance:.2f}"
        )
    return table


def demo_scores(model: Any, X: Any, y: Any) -> list[str]:
    """Say how good the model is on held-out rows, and what is proved of its fit."""
    from sklearn.metrics import brier_score_loss, roc_auc_score

    probability = model.predict_proba(X)[:, 1]
    truth = y == model.classes_[1]
    return [
        f"On {len(X)} held-out patients: accuracy {model.score(X, y):.1%}, "
        f"AUC {roc_auc_score(truth, probability):.3f}, "
        f"Brier score {brier_score_loss(truth, probability):.3f}.",
        f"Complexity {model.complexity_:.1f}: {len(model.rules_)} rules of at most "
        f"{model.rules_['degree'].max()} conditions, found in {model.n_iter_} rounds of column "
        "generation.",
        f"Certificate: {model.certificate_} (objective {model.objective_:.6f}, no model of the "
        f"class below {model.lower_bound_:.6f}).",
    ]


if __name__ == "__main__":
    app()
