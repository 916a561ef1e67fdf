"""Data sets as folds to train and test on, their scores, and what the paper printed."""

import csv
from dataclasses import dataclass
from pathlib import Path

from benchmarks.column_generation import read_frame

BINARY, REGRESSION = "binary", "regression"
SETS = {
    **dict.fromkeys(("pima", "heart", "wdbc", "magic", "adult", "bank-mkt", "fico"), BINARY),
    "fico-filled": BINARY,
    **dict.fromkeys(("boston", "california", "bike", "wine", "parkinsons", "crime"), REGRESSION),
}


@dataclass(frozen=True)
class Fold:
    """The rows of a data set to train on and the rows to test on."""

    name: str
    task: str
    number: int
    X_train: object
    y_train: object
    X_test: object
    y_test: object

    def score(self, model):
        """Return the Brier score or R2 of a fitted model on the test rows."""
        from sklearn.metrics import r2_score

        if self.task == BINARY:
            errors = self.y_test - model.predict_proba(self.X_test)[:, 1]
            return float((errors**2).mean())
        return float(r2_score(self.y_test, model.predict(self.X_test)))

    def skill(self, score):
        """Return what share of the variance a score explains."""
        if self.task == REGRESSION:
            return score
        return 1.0 - score / float(((self.y_test - self.y_train.mean()) ** 2).mean())


def read_rows(folder, name):
    """Read a data set; "fico-filled" is fico without its 588 records of nothing but -9.

    Nobody can tell these records apart; with them no method here comes near the paper's figures.
    """
    if name != "fico-filled":
        return read_frame(folder, name)
    frame, y = read_frame(folder, "fico")
    filled = (frame != -9).any(axis=1).to_numpy()
    return frame[filled], y[filled]


def read_folds(folder, name, n_folds):
    """Yield the folds of a data set, shuffled with a fixed seed; classes keep their shares."""
    from sklearn.model_selection import KFold, StratifiedKFold

    frame, y = read_rows(folder, name)
    if SETS[name] == BINARY:
        y = y.astype(int)
    kind = StratifiedKFold if SETS[name] == BINARY else KFold
    splits = kind(n_folds, shuffle=True, random_state=0).split(frame, y)
    for number, (train, test) in enumerate(splits):
        rows = (frame.iloc[train], y[train], frame.iloc[test], y[test])
        yield Fold(name, SETS[name], number, *rows)


def is_better(task, score, other):
    """Return whether a score is as good as another: a low Brier score, a high R2."""
    return score <= other if task == BINARY else score >= other


@dataclass(frozen=True)
class Published:
    """The scores and complexities of the paper's tables."""

    means: dict

    @classmethod
    def read(cls, path: Path):
        """Read a CSV with the columns table, dataset, method and mean."""
        with path.open(newline="") as lines:
            return cls(
                {
                    (line["table"], line["dataset"].lower(), line["method"]): float(line["mean"])
                    for line in csv.DictReader(lines)
                }
            )

    def get(self, name, method):
        """Return (score, complexity) of a method on a data set, None for what is not there."""
        scores, complexities, unit = (
            ("brier", "brier_complexity", 1.0)
            if SETS[name] == BINARY
            else ("r2_percent", "r2_complexity", 0.01)
        )
        name = name.removesuffix("-filled")
        score = self.means.get((scores, name, method))
        return (
            None if score is None else unit * score,
            self.means.get((complexities, name, method)),
        )
