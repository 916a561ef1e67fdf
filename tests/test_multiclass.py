

@BOTH
def test_warm_start_and_callback(penalty):
    X, y = load_wine(return_X_y=True, as_frame=True)
    told = []
    model = RuleClassifier(penalty=penalty, warm_start=True, bins=16, callback=told.append)
    first = model.fit(X, y).ensemble_
    n_rounds = len(told)
    assert n_rounds > 0
    model.fit(X, y)
    assert len(told) - n_rounds < n_rounds
    np.testing.assert_allclose(model.ensemble_.predict(X), first.predict(X), atol=0.02)
