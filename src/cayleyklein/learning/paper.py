"""The paper's own solver, for comparison (its §4.2 and §4.3).

Gradient descent on the (d+1)×(d+1) factor L̃ of S = L̃ᵀDL̃, D = I (elliptic) or
diag(-1, …, -1, c) (hyperbolic), or on L (flat): the step γ is halved when it leaves the domain,
and grows by one per cent when it does not; impostors are searched again every few iterations. All
impostors count that memory holds. A step after which S has no metric (no ellipsoid for a
hyperbolic domain, or a cone) counts as leaving. The corrections of the gradient's sign
(hyperbolic) and of the step (L, not ε) are followed.
"""

from dataclasses import replace

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.exceptions import InvalidInputError, NotRepresentableError
from cayleyklein.geometry import space
from cayleyklein.learning import descent, starts
from cayleyklein.learning.objectives.large_margin import LargeMargin, LargeMarginRecipe
from cayleyklein.learning.objectives.lifted import DOMAIN_EDGE, LiftedRows, Parameters
from cayleyklein.learning.rows import TrainingRows
from cayleyklein.metrics import CurvedMetric

STANDSTILL = 1e-5  # relative change of the loss at which a fit ends
IMPOSTOR_INTERVAL = 10  # iterations after which impostors are searched again
# Length of the first step relative to L̃; factor of later ones; halvings before giving up.
FIRST_MOVE, GROWTH, MOST_HALVINGS = 0.01, 1.01, 60
KAPPA = 2.0  # κ > 1 of hyperbolic starts: the farthest row is at 1/√κ of the boundary's radius


class PaperDescent:
    """One fit by the paper's method, from a metric for standardised rows or the recipe's start.

    The loss reported, which decides which iterate is returned, is the true one, over all impostors
    of the iterate's own metric.
    """

    def __init__(
        self, rows: TrainingRows, recipe: LargeMarginRecipe, start: Parameters | None = None,
        report: descent.Report | None = None,
    ) -> None:  # fmt: skip
        self.rows, self.recipe, self.report = rows, recipe, report
        # A constant column has no weight: L̃ of a curved geometry has none, and stays invertible.
        self._varies = rows.varies
        if recipe.geometry == "flat" or not self._varies.any():
            self._varies = np.ones(rows.n_columns, dtype=bool)
        X = rows.X[:, self._varies]
        self._homogeneous = np.column_stack([X, np.ones(len(X))])
        self._losses: list[float] = []
        self._c = 1.0
        if start is None:
            self._begin()
        elif not self._accepts(self._bordered(start.factor, start.center)):
            raise InvalidInputError("init has rows outside its domain; take another start.")
        self._best: tuple[float, Parameters] = (np.inf, self._found)

    def _begin(self) -> None:
        """Take L̃ from L' and a centre, and c so that all rows are inside.

        init="diagonal" starts about the origin of the rows as given, L̃ = diag(L', 1) there; any
        other about their mean (the paper's G₊ and G₋).
        """
        rows, recipe = self.rows, self.recipe
        name = "identity" if recipe.init == "diagonal" else recipe.init
        factor = starts.starting_factor(name, rows, recipe.n_components or rows.n_columns)
        center = np.zeros(rows.n_columns)
        if recipe.init == "diagonal":
            center = -rows.mean / rows.scale  # the raw origin; 0 for a constant column
        matrix = self._bordered(factor, center)
        if recipe.geometry == "hyperbolic":
            y, _ = self._coordinates(matrix)
            self._c = KAPPA * float((y * y).sum(axis=1).max()) or 1.0
        if not self._accepts(matrix):
            raise InvalidInputError(
                f"The start init={recipe.init!r} is not a {recipe.geometry} metric to rounding: "
                f"its factor is too ill-conditioned, or rows are too far from its centre. Take "
                f'init="precision", or solver="lbfgs".'
            )

    def _bordered(self, factor: Floats, center: Floats) -> Floats:
        """Return [[L', -L'μ], [0, 1]] on the columns that vary."""
        factor, center = factor[:, self._varies], center[self._varies]
        r, d = factor.shape
        if self.recipe.geometry == "flat":  # where a centre means nothing
            center = np.zeros(d)
        else:
            rank = int(np.linalg.matrix_rank(factor))
            if r < len(self._varies) or rank < d:
                raise InvalidInputError(
                    f'solver="gradient" fits square factors of full rank only where geometry is '
                    f"{self.recipe.geometry!r}; got a start of shape {(r, len(self._varies))} and "
                    f'rank {rank}. Leave n_components=None, or take geometry="flat" or '
                    f'solver="lbfgs".'
                )
            if r > d:  # the same Σ = LᵀL
                factor = np.linalg.qr(factor)[1]
        border = np.append(np.zeros(d), 1.0)
        return np.vstack([np.column_stack([factor, -factor @ center]), border])

    def _accepts(self, matrix: Floats) -> bool:
        """Keep L̃ and its metric, |K| = 1, if the rows are inside its domain; say whether so."""
        sign, d = descent.CURVATURES[self.recipe.geometry], len(self._varies)
        with np.errstate(over="ignore", invalid="ignore"):
            signs = np.append(np.ones(len(matrix) - 1), sign * self._c)
            S = (matrix.T * signs) @ matrix
        if not np.isfinite(S).all():
            return False
        factor, center = matrix[:-1, :-1], np.zeros(d)
        if sign < 0:
            y, w = self._coordinates(matrix)
            if w.min() <= 0 or np.linalg.eigvalsh(S[:-1, :-1])[0] <= 0:
                return False
            if (1 - (y * y).sum(axis=1) / (self._c * w * w)).min() <= DOMAIN_EDGE:
                return False
        if sign:
            try:
                found, middle, K = space.parameters_from_form(S)
            except NotRepresentableError:
                return False
            factor, center[self._varies] = np.zeros((d, d)), middle
            root = np.sqrt(abs(K)) * np.linalg.cholesky(found).T
            factor[np.ix_(self._varies, self._varies)] = root
            metric = CurvedMetric(factor=factor, center=center, curvature=sign)
            if not (metric.form_values(self.rows.X) > 0).all():
                return False
        self._matrix, self._found = matrix, Parameters(factor, center, sign)
        return True

    def _coordinates(self, matrix: Floats) -> tuple[Floats, Floats]:
        image = self._homogeneous @ matrix.T
        return image[:, :-1], image[:, -1]

    def run(self) -> descent.Fit:
        rows, recipe = self.rows, self.recipe
        euclidean = Parameters(np.eye(rows.n_columns), np.zeros(rows.n_columns), 0.0)
        everyone = np.arange(len(rows))
        objective = replace(recipe, n_impostors=None).pose(rows, everyone, euclidean)
        gamma: float | None = None
        before, converged, stopped, halved = np.inf, False, False, False
        for iteration in range(recipe.max_iter):
            seen = self._remember(objective)
            if self.report is not None:
                name, metric = f"{recipe.geometry}, the paper's solver", rows.to_metric(self._found)
                stopped = bool(self.report(descent.Progress(name, 1, iteration + 1, *seen, metric)))
            if stopped:
                break
            fresh = iteration % IMPOSTOR_INTERVAL == 0
            if fresh:
                impostors = objective.impostors(self._placed()[0])
            loss, gradient = self._gradient(objective, impostors)
            if not fresh and _stands(before, loss, gradient):  # and with new impostors?
                impostors = objective.impostors(self._placed()[0])
                loss, gradient = self._gradient(objective, impostors)
            if _stands(before, loss, gradient):
                converged = not halved  # a halved step stands at the wall, not at a minimum
                break
            before = loss
            if gamma is None:
                gamma = FIRST_MOVE * float(np.linalg.norm(self._matrix) / np.linalg.norm(gradient))
            steps = gamma * 0.5 ** np.arange(MOST_HALVINGS)
            n_halved = next(
                (i for i, s in enumerate(steps) if self._accepts(self._matrix - s * gradient)), None
            )
            if n_halved is None:
                break
            gamma, halved = GROWTH * float(steps[n_halved]), n_halved > 0
        self._remember(objective)
        return descent.Fit(recipe, self._best[1], [self._losses], converged, stopped)

    def _remember(self, objective: LargeMargin) -> tuple[float, int]:
        """Return the true loss of the iterate and its violated triplets; keep the best iterate."""
        if self.recipe.geometry == "elliptic":  # S = L̃ᵀL̃ does not change with Q
            rotated = np.linalg.qr(self._matrix)[1]
            # rounding may lose a metric near the limit: then the matrix stays as it is
            self._accepts(rotated * np.sign(rotated[-1, -1]))
        loss, n_active = objective.evaluate(self._placed()[0])
        self._losses.append(loss)
        if loss < self._best[0]:
            self._best = loss, self._found
        return loss, n_active

    def _placed(self) -> tuple[LiftedRows, Floats, Floats]:
        """Place the rows at z = y/(√c w) in the geometry of |K| = 1; return z and w too."""
        y, w = self._coordinates(self._matrix)
        if self.recipe.geometry == "flat":
            w = np.ones_like(w)
        z = y / (np.sqrt(self._c) * w[:, None])
        d = z.shape[1]
        metric = Parameters(np.eye(d), np.zeros(d), descent.CURVATURES[self.recipe.geometry])
        return LiftedRows(z, metric), z, w

    def _gradient(self, objective: LargeMargin, impostors: Ints) -> tuple[float, Floats]:
        placed, z, w = self._placed()
        loss, _ = objective.evaluate(placed, impostors)
        by_z, _ = placed.row_gradient()
        by_y = by_z / (np.sqrt(self._c) * w[:, None])
        by_w = -np.einsum("ij,ij->i", by_z, z) / w
        gradient = np.column_stack([by_y, by_w]).T @ self._homogeneous
        if self.recipe.geometry == "flat":
            gradient[-1] = 0.0
            gradient[:, -1] = 0.0
        return loss, gradient


def _stands(before: float, loss: float, gradient: Floats) -> bool:
    return not gradient.any() or abs(before - loss) <= STANDSTILL * abs(loss)
