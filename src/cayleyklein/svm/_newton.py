"""Newton's method for the squared hinge loss in a lifted space of curvature K.

With rows lifted to v = (z, 1)/σ, σ = √(1 + K‖z‖²), and normals n = (w, b), [n, n] = ‖w‖² + K b²,

    F(n) = ½[n, n] + Σ Cᵢ max(0, 1 - yᵢ⟨n, vᵢ⟩)²        → min.

It is convex for K ≥ 0. For K < 0 it is not, but for 2Cᵢ > -K it has exactly one stationary point,
the global minimum (docs/svm.md has the proof). With at least one row within the margin, the second
derivative of F is positive definite: with [n, n] < 0, 2Cᵢ⟨n, vᵢ⟩² ≥ 2Cᵢ[n, n]/K > -[n, n] by the
reversed inequality of Cauchy and Schwarz.
"""

import numpy as np
from scipy import linalg

from cayleyklein._typing import Bools, Floats

RESOLVED = 1e-14  # relative change of F that counts as rounding


def largest_margin(
    v: Floats, signs: Floats, curvature: float, C: Floats, *, max_iter: int = 200
) -> tuple[Floats, int, bool]:
    """Minimise F for lifted rows (n, r + 1); return n, the steps, and whether they converged.

    A few dozen steps are usual: F is quadratic where the same rows are within the margin.
    """
    if v.shape[1] - 1 > len(v):  # w is a sum of rows: solve in their span
        turn, upper = np.linalg.qr(v[:, :-1].T)
        narrow = np.column_stack([upper.T, v[:, -1]])
        n, steps, converged = largest_margin(narrow, signs, curvature, C, max_iter=max_iter)
        return np.append(turn @ n[:-1], n[-1]), steps, converged
    rows = v * signs[:, None]
    form = np.append(np.ones(v.shape[1] - 1), curvature)
    n = np.zeros(rows.shape[1])
    for count in range(1, max_iter + 1):
        reached = rows @ n
        active: Bools = reached <= 1
        if not active.any():  # F is [n, n]/2 > 0 here, and a shorter n lowers it
            n = n / reached.min()
            continue
        some = rows[active]
        weights = C[active]
        gradient = form * n - 2 * some.T @ (weights * (1 - reached[active]))
        step = -_solve(np.diag(form) + 2 * (some.T * weights) @ some, gradient)
        value = soft_margin_loss(n, rows, form, C)
        slope = float(gradient @ step)
        if -slope <= RESOLVED * value:
            return n + step, count, True
        share = 1.0
        # Armijo's condition: a step reaches 1e-4 of the linear decrease
        while soft_margin_loss(n + share * step, rows, form, C) > value + 1e-4 * share * slope:
            share /= 2
            if share < RESOLVED:
                return n, count, True
        n = n + share * step
        if share == 1 and np.array_equal(rows @ n <= 1, active):  # the minimum of this quadratic
            return n, count, True
    return n, max_iter, False


def soft_margin_loss(n: Floats, rows: Floats, form: Floats, C: Floats) -> float:
    """Return F(n) for rows yᵢvᵢ, with form = (1, …, 1, K)."""
    short = np.maximum(0.0, 1 - rows @ n)
    return float(n @ (form * n) / 2 + C @ (short * short))


def _solve(matrix: Floats, target: Floats) -> Floats:
    """Solve a positive definite system, its diagonal scaled to 1 first.

    If rounding leaves no Cholesky factor, a ridge of 1e-14, then 1e-12 and so on, is added.
    """
    scale = 1 / np.sqrt(np.abs(np.diag(matrix)))
    matrix = matrix * scale * scale[:, None]
    ridge = 0.0
    while True:
        try:
            factor = linalg.cho_factor(matrix + ridge * np.eye(len(matrix)))
            return np.asarray(scale * linalg.cho_solve(factor, scale * target))
        except linalg.LinAlgError:
            ridge = max(1e-14, 100 * ridge)
