"""The machines and the kernel raise a clear error for bad input."""

import pytest
from tests.bad_input import Call, calls, check, labels, real, rows, thing, weights
from tests.small import DISC, QUERIES, WEIGHTS, X, Y

from cayleyklein import CurvedLinearSVC
from cayleyklein.metrics import laplacian_kernel

MODEL = CurvedLinearSVC(DISC)


def fitting(kind):
    """Return a function of the parameters, which only `fit` looks at."""
    return lambda **parameters: kind(**parameters).fit(X, Y)


CALLS = {
    "CurvedLinearSVC": Call(
        fitting(CurvedLinearSVC), {"metric": thing(DISC, "None"), "C": real(1.0, 0.0, -1.0, 0.5)}
    ),
    "laplacian_kernel": Call(
        laplacian_kernel, {"metric": thing(DISC), "gamma": real(1.0, 0.0, -1.0)}
    ),
    "CurvedLinearSVC.fit": Call(
        "fit",
        {"X": rows(X, inside=True), "y": labels(Y), "sample_weight": weights(WEIGHTS)},
        lambda: MODEL.fit(X, Y),
    ),
    **{
        f"CurvedLinearSVC.{method}": Call(
            method, {"X": rows(QUERIES, inside=True)}, lambda: MODEL.fit(X, Y)
        )
        for method in ("predict", "decision_function")
    },
}


@pytest.mark.parametrize(("name", "call"), calls(CALLS, ""))
def test_bad_input(name, call):
    check(name, call)
