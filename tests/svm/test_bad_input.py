"""The machines and the kernel raise a clear error for bad input."""

import pytest
from tests.bad_input import Call, calls, check, count, labels, real, rows, seed, thing
from tests.small import DISC, QUERIES, X, Y

from cayleyklein import CurvedLinearSVC, CurvedSVC
from cayleyklein.metrics import laplacian_kernel

MODELS = {
    "CurvedSVC": CurvedSVC(DISC, C=1.0, gamma=1.0),
    "CurvedLinearSVC": CurvedLinearSVC(DISC),
}


def fitting(kind):
    """Return a function of the parameters, which only `fit` looks at."""
    return lambda **parameters: kind(**parameters).fit(X, Y)


def methods(name):
    fit = {"X": rows(X, inside=True), "y": labels(Y)}
    return {
        f"{name}.fit": Call("fit", fit, lambda: MODELS[name].fit(X, Y)),
        **{
            f"{name}.{method}": Call(
                method, {"X": rows(QUERIES, inside=True)}, lambda: MODELS[name].fit(X, Y)
            )
            for method in ("predict", "decision_function")
        },
    }


CALLS = {
    "CurvedSVC": Call(
        fitting(CurvedSVC),
        {
            "metric": thing(DISC, "None"), "C": real(1.0, 0.0, -1.0, accepted=("None",)),
            "gamma": real(1.0, 0.0, -1.0, accepted=("None",)), "cv": count(2, 1),
            "random_state": seed(),
        },
    ),
    "CurvedLinearSVC": Call(
        fitting(CurvedLinearSVC), {"metric": thing(DISC, "None"), "C": real(1.0, 0.0, -1.0, 0.5)}
    ),
    "laplacian_kernel": Call(
        laplacian_kernel, {"metric": thing(DISC), "gamma": real(1.0, 0.0, -1.0)}
    ),
    **methods("CurvedSVC"),
    **methods("CurvedLinearSVC"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "call"), calls(CALLS, ""))
def test_bad_input(name, call):
    check(name, call)
