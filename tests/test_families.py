"""One contract for every family in the registry."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, xlogy
from scipy.stats import nbinom
from sklearn.metrics import (
    log_loss,
    mean_gamma_deviance,
    mean_poisson_deviance,
    mean_squared_error,
    mean_tweedie_deviance,
)

from ruleglm.families import FAMILIES, NegativeBinomial, Tweedie, get_family
from ruleglm.family import NULL_ETA_LIMIT

CASES = [get_family(name) for name in FAMILIES] + [
    Tweedie(1.02),
    Tweedie(1.98),
    NegativeBinomial(1e-3),
    NegativeBinomial(0.3),
    NegativeBinomial(40.0),
]

TARGETS = {
    "gaussian": [-30.0, -1.0, 0.0, 0.3, 2.0, 1e3],
    "binomial": [0.0, 1.0, 0.5, 0.2, 1e-9, 1.0 - 1e-9],
    "poisson": [0.0, 1.0, 2.0, 0.7, 1e-6, 500.0],
    "negative_binomial": [0.0, 1.0, 2.0, 0.7, 1e-6, 500.0],
    "gamma": [1.0, 1e-6, 0.4, 3.0, 500.0],
    "tweedie": [0.0, 1.0, 1e-6, 0.4, 3.0, 500.0],
}
FORBIDDEN = {
    "binomial": [-0.1, 1.0000001, 2.0],
    "poisson": [-1e-9, -3.0],
    "negative_binomial": [-1e-9, -3.0],
    "gamma": [0.0, -3.0],
    "tweedie": [-1e-9, -3.0],
}
LINKS = {
    "identity": lambda mean: mean,
    "logit": lambda mean: np.log(mean / (1.0 - mean)),
    "log": np.log,
}

each_family = pytest.mark.parametrize("family", CASES, ids=str)


def targets(family):
    return np.array(TARGETS[family.name])


def grid(family, etas):
    """Every target with every eta, as two flat arrays."""
    y, eta = np.meshgrid(targets(family), etas)
    return y.ravel(), eta.ravel()


def link(family, mean):
    return LINKS[family.link](mean)


def nbinom_deviance(y, mean, alpha):
    """Unit deviance from the probabilities themselves, continued to y that are no counts."""

    def log_probability(mean):
        size = 1.0 / alpha
        terms = gammaln(y + size) - gammaln(size) - gammaln(y + 1.0)
        return terms + xlogy(y, mean / (size + mean)) + size * np.log(size / (size + mean))

    return 2.0 * (log_probability(y) - log_probability(mean))


def draw_rows(family, seed, n=60):
    """Random valid targets with uneven weights (some zero) and offsets."""
    rng = np.random.default_rng(seed)
    y = rng.choice(targets(family)[:4], size=n) if seed % 2 else rng.uniform(0.05, 0.95, size=n)
    weights = rng.exponential(size=n) * (rng.random(n) < 0.8)
    return y, weights, rng.normal(scale=2.0, size=n)


@each_family
def test_gradient_is_the_slope_of_the_loss(family):
    y, eta = grid(family, np.linspace(-6.0, 6.0, 25))
    h = 1e-5
    slope = (family.loss(y, eta + h) - family.loss(y, eta - h)) / (2.0 * h)
    assert_allclose(family.gradient(y, eta), slope, rtol=1e-5, atol=1e-6)


@each_family
def test_hessian_is_the_slope_of_the_gradient(family):
    y, eta = grid(family, np.linspace(-6.0, 6.0, 25))
    h = 1e-5
    slope = (family.gradient(y, eta + h) - family.gradient(y, eta - h)) / (2.0 * h)
    assert_allclose(family.hessian(y, eta), slope, rtol=1e-5, atol=1e-6)
    assert (family.hessian(y, eta) > 0.0).all()


@each_family
def test_both_derivatives_at_once(family):
    y, eta = grid(family, [-3.0, 0.0, 3.0])
    gradient, hessian = family.gradient_and_hessian(y, eta)
    assert_array_equal(gradient, family.gradient(y, eta))
    assert_array_equal(hessian, family.hessian(y, eta))
    assert family.constant_hessian == bool((hessian == 1.0).all())


@each_family
def test_loss_is_zero_at_the_saturated_fit_and_positive_elsewhere(family):
    y, eta = grid(family, np.linspace(-8.0, 8.0, 33))
    assert (family.loss(y, eta) >= 0.0).all()
    interior = y[np.isin(y, [0.2, 0.4, 0.5, 0.7, 3.0])]
    saturated = link(family, interior)
    assert_allclose(family.loss(interior, saturated), 0.0, atol=1e-12)
    assert (family.loss(interior, saturated + 0.01) > 0.0).all()
    assert (family.loss(interior, saturated - 0.01) > 0.0).all()


def test_loss_vanishes_where_the_mean_meets_the_edge():
    edge = np.array([-60.0])
    for name in ("binomial", "poisson", "negative_binomial", "tweedie"):
        assert get_family(name).loss(np.zeros(1), edge) < 1e-12
    assert get_family("binomial").loss(np.ones(1), -edge) < 1e-12


@each_family
def test_mean_inverts_the_link(family):
    eta = np.linspace(-8.0, 8.0, 17)
    assert_allclose(link(family, family.mean(eta)), eta, rtol=1e-9)


@each_family
def test_fenchel_young_is_an_equality_at_the_gradient(family):
    y, eta = grid(family, np.linspace(-12.0, 12.0, 49))
    v = family.gradient(y, eta)
    assert_allclose(family.conjugate(y, v), v * eta - family.loss(y, eta), rtol=1e-9, atol=1e-9)


@each_family
def test_fenchel_young_is_an_inequality_elsewhere(family):
    slopes = np.concatenate([-np.geomspace(1e-8, 1e6, 29), [0.0], np.geomspace(1e-8, 1e6, 29)])
    y = targets(family)[:, None, None]
    v, eta = slopes[None, :, None], np.linspace(-30.0, 30.0, 121)[None, None, :]
    y, v, eta = np.broadcast_arrays(y, v, eta)
    bound = v * eta - family.loss(y, eta)
    assert (family.conjugate(y, v) >= bound - 1e-9 * np.maximum(1.0, np.abs(bound))).all()


@each_family
def test_conjugate_is_infinite_exactly_outside_the_domain(family):
    y = targets(family)
    below, above = {
        "gaussian": (np.full_like(y, -np.inf), np.full_like(y, np.inf)),
        "binomial": (-y, 1.0 - y),
        "poisson": (-y, np.full_like(y, np.inf)),
        "negative_binomial": (-y, np.full_like(y, 1.0 / getattr(family, "alpha", 1.0))),
        "gamma": (np.full_like(y, -np.inf), np.ones_like(y)),
        "tweedie": (np.where(y > 0.0, -np.inf, 0.0), np.full_like(y, np.inf)),
    }[family.name]
    for edge, outwards in ((below, -1e-9), (above, 1e-9)):
        assert_array_equal(np.isfinite(family.conjugate(y, edge)), np.isfinite(edge))
        assert_array_equal(family.conjugate(y, edge + outwards * np.maximum(1.0, y)), np.inf)
        just_inside = np.nextafter(edge, 0.0)[np.isfinite(edge)]
        assert np.isfinite(family.conjugate(y[np.isfinite(edge)], just_inside)).all()


@each_family
def test_slopes_pulled_towards_zero_stay_in_the_domain(family):
    y, eta = grid(family, np.linspace(-40.0, 40.0, 41))
    v = family.gradient(y, eta)
    whole = family.conjugate(y, v)
    assert_allclose(family.conjugate(y, 0.0 * v), 0.0, atol=1e-12)
    for share in (5e-324, 1e-300, 1e-9, 1.0 / 3.0, 1.0 - 1e-16, 1.0):
        part = family.conjugate(y, share * v)
        assert np.isfinite(part).all()
        assert (part <= share * whole + 1e-9 * np.maximum(1.0, np.abs(whole))).all()


@each_family
@pytest.mark.parametrize("seed", range(6))
def test_null_eta_is_the_minimiser(family, seed):
    y, weights, offset = draw_rows(family, seed)

    def objective(b):
        return float(np.sum(weights * family.loss(y, offset + b)))

    found = family.null_eta(y, weights, offset)
    slope = float(np.sum(weights * family.gradient(y, offset + found)))
    size = float(np.sum(weights * np.abs(family.gradient(y, offset + found))))
    assert abs(slope) <= 1e-12 * size
    best = minimize_scalar(objective, bracket=(found - 1.0, found + 0.7), tol=1e-10)
    assert_allclose(found, best.x, atol=1e-6)
    assert objective(found) <= best.fun * (1.0 + 1e-14)


@each_family
def test_null_eta_without_weights_and_offset_is_the_link_of_the_mean(family):
    y = np.array([0.2, 0.4, 0.9])
    assert_allclose(family.null_eta(y), link(family, 0.5), atol=1e-12)
    assert_allclose(family.null_eta(y, offset=5.0), link(family, 0.5) - 5.0)
    twice = family.null_eta(np.array([0.2, 0.2, 0.9]))
    assert_allclose(family.null_eta(np.array([0.2, 0.9]), np.array([2.0, 1.0])), twice)


def test_null_eta_survives_offsets_far_apart():
    y, offset = np.array([0.0, 1.0, 1.0, 0.0]), np.array([-500.0, 300.0, -200.0, 400.0])
    family = get_family("binomial")
    b = family.null_eta(y, 1.0, offset)
    assert abs(family.gradient(y, offset + b).sum()) <= 1e-12
    assert np.isfinite(get_family("poisson").null_eta(y, 1.0, 10.0 * offset))


@pytest.mark.parametrize("name", ["binomial", "poisson", "negative_binomial", "tweedie"])
def test_null_eta_is_finite_when_there_is_nothing_but_zeros(name):
    offset = np.array([0.1, 0.2, 0.3])
    assert get_family(name).null_eta(np.zeros(3), np.ones(3), offset) == -NULL_ETA_LIMIT
    weights = np.array([0.0, 1.0, 1.0])
    assert get_family(name).null_eta(np.array([1.0, 0.0, 0.0]), weights) == -NULL_ETA_LIMIT
    assert get_family("binomial").null_eta(np.ones(3), np.ones(3), offset) == NULL_ETA_LIMIT


@each_family
def test_twice_the_loss_is_the_deviance_of_others(family):
    rng = np.random.default_rng(3)
    y, weights, eta = draw_rows(family, seed=1, n=200)
    eta = rng.normal(size=200)
    if family.name == "binomial":
        y = np.round(y)
    deviance = {
        "gaussian": mean_squared_error,
        "binomial": lambda y, mean, **options: 2.0 * log_loss(y, mean, **options),
        "poisson": mean_poisson_deviance,
        "negative_binomial": lambda y, mean, sample_weight: np.average(
            nbinom_deviance(y, mean, family.alpha), weights=sample_weight
        ),
        "gamma": mean_gamma_deviance,
        "tweedie": lambda y, mean, **options: mean_tweedie_deviance(
            y, mean, power=family.power, **options
        ),
    }[family.name]
    ours = np.average(2.0 * family.loss(y, eta), weights=weights)
    assert_allclose(ours, deviance(y, family.mean(eta), sample_weight=weights), rtol=1e-10)


@each_family
def test_valid_targets_pass(family):
    family.check_target(targets(family))


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, bad in FORBIDDEN.items() for value in bad]
)
def test_a_forbidden_target_is_named_with_its_row_and_a_remedy(name, value):
    family = get_family(name)
    y = np.array([0.5, 0.5, value, 0.5, value])
    with pytest.raises(ValueError) as caught:
        family.check_target(y)
    message = str(caught.value)
    assert message.startswith(f"The {name} family needs {family.y_range} in every row, ")
    assert f"row 2 of the target is {value!r}: " in message
    assert "family='" in message


@each_family
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_target_that_is_not_finite_is_refused(family, value):
    with pytest.raises(ValueError, match=rf"row 1 of the target is {value!r}: drop the rows"):
        family.check_target(np.array([0.5, value]))


@each_family
@pytest.mark.parametrize("size", [40.0, 800.0, 1e4])
def test_extreme_predictors_give_numbers_or_infinity_in_silence(family, size):
    y, eta = grid(family, [-size, size])
    loss, mean = family.loss(y, eta), family.mean(eta)
    gradient, hessian = family.gradient_and_hessian(y, eta)
    assert not np.isnan([loss, mean, gradient, hessian]).any()
    assert (loss >= 0.0).all()
    assert (hessian >= 0.0).all()
    assert not np.isnan(family.conjugate(y, gradient)).any()
    if family.link == "logit":
        away = np.where(eta > 0.0, 1.0 - y, y) * size
        assert_allclose(loss, away, rtol=1e-9, atol=1.0)


def test_binomial_is_exact_far_from_zero():
    family, far = get_family("binomial"), np.array([-700.0, -50.0, 50.0, 700.0])
    y = (far > 0.0).astype(float)
    assert_allclose(family.loss(y, far), np.exp(-np.abs(far)), rtol=1e-14)
    assert_allclose(family.hessian(y, far), np.exp(-np.abs(far)), rtol=1e-14)


@each_family
def test_columns_are_independent(family):
    y, eta = (part.reshape(-1, 2) for part in grid(family, [-1.0, 0.0, 1.0, 2.0]))
    for method in (family.loss, family.gradient, family.hessian):
        assert_array_equal(method(y, eta)[:, 1], method(y[:, 1], eta[:, 1]))
    v = family.gradient(y, eta)
    assert_allclose(family.conjugate(y, v)[:, 1], family.conjugate(y[:, 1], v[:, 1]), rtol=1e-13)


@each_family
def test_families_are_values(family):
    assert pickle.loads(pickle.dumps(family)) == family
    assert len({family, pickle.loads(pickle.dumps(family))}) == 1
    assert get_family(family) is family
    assert all(family != other for other in CASES if other is not family)
    with pytest.raises(AttributeError):
        family.power = 1.7


def test_get_family_by_name():
    assert [get_family(name).name for name in FAMILIES] == list(FAMILIES)
    assert get_family("tweedie", power=1.2) == Tweedie(1.2)
    assert get_family("poisson", power=1.2) == get_family("poisson")
    assert get_family("negative_binomial", alpha=0.2) == NegativeBinomial(0.2)
    with pytest.raises(ValueError, match="family='normal' is not known; choose one of gaussian"):
        get_family("normal")


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0, 3.0, np.nan])
def test_tweedie_powers_outside_the_open_interval_are_refused(power):
    with pytest.raises(ValueError, match=r"strictly between 1 and 2.*'poisson' for 1"):
        Tweedie(power)


@pytest.mark.parametrize("alpha", [0.0, -1.0, np.nan, np.inf])
def test_negative_binomial_dispersions_that_are_not_positive_are_refused(alpha):
    with pytest.raises(ValueError, match=r"not a positive number; use family='poisson'"):
        NegativeBinomial(alpha)


def test_negative_binomial_is_the_distribution_of_that_variance():
    y, mean, alpha = np.arange(6.0), np.full(6, 1.7), 0.6
    distribution = nbinom(1 / alpha, 1 / (1 + alpha * 1.7))
    assert_allclose([distribution.mean(), distribution.var()], [1.7, 1.7 + alpha * 1.7**2])
    differences = NegativeBinomial(alpha).loss(y, np.log(mean)) + distribution.logpmf(y)
    others = NegativeBinomial(alpha).loss(y, np.log(mean) + 0.5)
    shifted = nbinom(1 / alpha, 1 / (1 + alpha * 1.7 * np.exp(0.5)))
    assert_allclose(others + shifted.logpmf(y), differences, atol=1e-14)


def test_negative_binomial_without_dispersion_is_poisson():
    y, eta = grid(get_family("poisson"), np.linspace(-5.0, 5.0, 11))
    poisson, nearly = get_family("poisson"), NegativeBinomial(1e-9)
    assert_allclose(nearly.loss(y, eta), poisson.loss(y, eta), rtol=1e-5, atol=1e-9)
    assert_allclose(nearly.gradient(y, eta), poisson.gradient(y, eta), rtol=1e-5, atol=1e-5)
    v = poisson.gradient(y, eta) / 2
    assert_allclose(nearly.conjugate(y, v), poisson.conjugate(y, v), rtol=1e-5, atol=1e-5)
