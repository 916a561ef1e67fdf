"""Ranks, Friedman and Holm: against scipy, against hands, and against what the paper printed."""

import numpy as np
import pytest
from experiments.records import read_paper
from experiments.statistics import adjust_holm, compare_with, friedman_test, rank_methods
from scipy import stats

TABLES = ["brier", "brier_complexity", "r2", "r2_complexity", "accuracy", "accuracy_complexity"]
SIGNIFICANT = {  # differences from LRRN that the paper names, and their level
    "brier": ({"LR1"}, 0.10),
    "brier_complexity": ({"RuleFit", "RuleFitN"}, 0.05),
    "r2": ({"LR1"}, 0.05),
    "r2_complexity": (set(), 0.05),
    "accuracy_complexity": ({"RuleFit", "RuleFitN"}, 0.05),
}
ALIKE = [name for name in TABLES if name.endswith("complexity")]
"""Tables whose rounded values have no ties but true ones, so that they give the printed ranks."""
PAPER = read_paper()


def read_table(name):
    """Return printed means and units (sets x methods), and mean ranks as a dict."""
    lines = PAPER[PAPER.table == name]
    ranks = lines[lines.dataset == "mean rank"].set_index("method")["mean"].to_dict()
    lines = lines[~lines.dataset.isin(["mean rank", "friedman"])]
    wide = lines.pivot(index="dataset", columns="method", values=["mean", "unit"])
    return wide["mean"][list(ranks)], wide["unit"][list(ranks)], ranks


def read_friedman(name):
    lines = PAPER[(PAPER.table == name) & (PAPER.dataset == "friedman")]
    return lines.set_index("method")["mean"]


def larger_is_better(name):
    return name in ("r2", "accuracy")


def undo_rounding(ranks, n_sets):
    """Return mean ranks of two decimals as the multiples of 1 / (2 n) that they stand for."""
    exact = {method: round(2 * n_sets * rank) / (2 * n_sets) for method, rank in ranks.items()}
    assert all(abs(exact[method] - rank) <= 0.0051 for method, rank in ranks.items())
    assert sum(exact.values()) == len(ranks) * (len(ranks) + 1) / 2
    return exact


def test_friedman_is_scipys_without_ties():
    values = np.random.default_rng(0).normal(size=(9, 5))
    ranks = dict(zip("abcde", rank_methods(values, larger_is_better=False), strict=True))
    ours = friedman_test(ranks, 9)
    theirs = stats.friedmanchisquare(*values.T)
    assert ours.statistic == pytest.approx(theirs.statistic)
    assert ours.p_chi2 == pytest.approx(theirs.pvalue)
    f = 8 * theirs.statistic / (9 * 4 - theirs.statistic)
    assert ours.p_value == pytest.approx(stats.f.sf(f, 4, 32))


def test_friedman_leaves_ties_uncorrected():
    """Scipy divides by 1 - sum(t^3 - t) / (n (k^3 - k)); each row here has one pair that ties."""
    values = np.array([[1, 1, 2], [3, 5, 5], [1, 4, 4], [2, 2, 7]])
    ranks = dict(zip("abc", rank_methods(values, larger_is_better=False), strict=True))
    corrected = stats.friedmanchisquare(*values.T).statistic
    assert friedman_test(ranks, 4).statistic == pytest.approx(corrected * (1 - 4 * 6 / (4 * 24)))


def test_ranks_share_ties_and_know_the_direction():
    values = [[0.1, 0.3, 0.1, 0.2], [4, 3, 2, 1]]
    np.testing.assert_allclose(rank_methods(values, larger_is_better=False), [2.75, 3.5, 1.75, 2.0])
    np.testing.assert_allclose(rank_methods(values, larger_is_better=True), [2.25, 1.5, 3.25, 3.0])


def test_methods_that_always_rank_alike_are_certain_to_differ():
    assert friedman_test({"a": 1.0, "b": 2.0, "c": 3.0}, 5).p_value == 0.0
    with pytest.raises(ValueError, match="two methods and two data sets, got 3 and 1"):
        friedman_test({"a": 1.0, "b": 2.0, "c": 3.0}, 1)


def test_holm_is_that_of_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    rng = np.random.default_rng(1)
    for size in (1, 2, 7, 12):
        p_values = rng.uniform(size=size) ** 3
        _, adjusted, *_ = multitest.multipletests(p_values, method="holm")
        np.testing.assert_allclose(adjust_holm(p_values), adjusted)


def test_holm_by_hand():
    """Demšar's example (2006, section 3.2.2): C4.5 with and without tuning, 14 data sets."""
    ranks = {"C4.5": 3.143, "+m": 2.000, "+cf": 2.893, "+m+cf": 1.964}
    assert friedman_test(ranks, 14).statistic == pytest.approx(9.28, abs=0.01)
    lines = {line.method: line for line in compare_with("C4.5", ranks, 14)}
    assert {name: round(line.z, 3) for name, line in lines.items()} == {
        "+m": -2.342,
        "+cf": -0.512,
        "+m+cf": -2.416,
    }
    assert lines["+m+cf"].p_value == pytest.approx(0.016, abs=5e-4)
    assert lines["+m"].p_value == pytest.approx(0.019, abs=5e-4)
    assert lines["+cf"].p_value == pytest.approx(0.607, abs=2e-3)
    assert lines["+m+cf"].adjusted == pytest.approx(3 * lines["+m+cf"].p_value)
    assert lines["+m"].adjusted == lines["+m+cf"].adjusted  # 2 x 0.019 is less than 3 x 0.016
    assert lines["+cf"].adjusted == lines["+cf"].p_value


@pytest.mark.parametrize("name", TABLES)
def test_the_papers_mean_ranks_give_its_friedman_statistics(name):
    """To the last printed digit, all six, and p-values of the F approximation."""
    means, _, ranks = read_table(name)
    test = friedman_test(undo_rounding(ranks, len(means)), len(means))
    printed = read_friedman(name)
    assert test.statistic == pytest.approx(printed.statistic, abs=0.0051)
    if name == "brier_complexity":  # "~ 1e-6" is that of chi-squared, F gives 5e-8
        assert (test.p_chi2, test.p_value) == pytest.approx((2.4e-6, 5.1e-8), rel=0.05)
    elif name == "accuracy_complexity":  # "~ 1e-12"
        assert test.p_value == pytest.approx(4.1e-12, rel=0.05)
    else:
        assert test.p_value == pytest.approx(printed.p_value, abs=0.00051)


@pytest.mark.parametrize("name", TABLES)
def test_the_papers_mean_ranks_come_from_its_tables(name):
    """Exactly where nothing is rounded together; else within what rounding leaves open."""
    means, units, printed = read_table(name)
    sign = -1 if larger_is_better(name) else 1
    ranks = rank_methods(means, larger_is_better=larger_is_better(name))
    exact = undo_rounding(printed, len(means))
    if name in ALIKE:
        np.testing.assert_allclose(ranks, list(exact.values()))
        return
    low, high = (sign * means - units / 2).to_numpy(), (sign * means + units / 2).to_numpy()
    below = (high[:, None, :] <= low[:, :, None] + 1e-12).sum(axis=2)  # surely better
    open_ = (low[:, None, :] < high[:, :, None] - 1e-12).sum(axis=2)  # maybe better, or itself
    values = np.array(list(exact.values()))
    assert (1 + below).mean(axis=0) == pytest.approx(np.minimum((1 + below).mean(axis=0), values))
    assert open_.mean(axis=0) == pytest.approx(np.maximum(open_.mean(axis=0), values))
    assert np.abs(ranks - values).max() < 0.19  # three ranks of sixteen sets


@pytest.mark.parametrize(
    ("name", "statistic", "p_value"),
    [("brier", 10.00, 0.186), ("r2", 12.75, 0.066), ("accuracy", 10.20, 0.174)],
)
def test_rounded_scores_give_other_statistics(name, statistic, p_value):
    """Ties from rounding weaken them: printed are 12.41 (0.082), 13.63 (0.046), 9.74 (0.202)."""
    means, *_ = read_table(name)
    ranks = rank_methods(means, larger_is_better=larger_is_better(name))
    test = friedman_test(dict(zip(means, ranks, strict=True)), len(means))
    assert (test.statistic, test.p_value) == pytest.approx((statistic, p_value), abs=0.0051)


@pytest.mark.parametrize("name", SIGNIFICANT)
def test_the_papers_significant_differences_from_lrrn(name):
    means, _, ranks = read_table(name)
    expected, level = SIGNIFICANT[name]
    lines = compare_with("LRRN", undo_rounding(ranks, len(means)), len(means))
    assert {line.method for line in lines if line.adjusted < level} == expected
