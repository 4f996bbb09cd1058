"""What the means of codes tell: the F test against SciPy's."""

import numpy as np
import pytest
from scipy import stats

from cayleyklein.columns.means import f_test


@pytest.mark.parametrize("k", [2, 3, 7])
def test_p_values_are_those_of_the_analysis_of_variance(k):
    rng = np.random.default_rng(k)
    codes = np.append(np.arange(k), rng.integers(0, k, size=30 - k))
    targets = rng.normal(size=(30, 2)) + np.outer(codes, [0.0, 0.4])
    p, told = f_test(codes, targets, np.ones(30))
    for target, found, share in zip(targets.T, p, told, strict=True):
        groups = [target[codes == code] for code in range(k)]
        assert found == pytest.approx(stats.f_oneway(*groups).pvalue, rel=1e-9)
        means = np.array([group.mean() for group in groups])[codes]
        assert share == pytest.approx(means.var() / target.var(), rel=1e-9)
