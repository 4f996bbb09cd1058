"""The profile of the likelihood over the curvature, and the interval that it gives."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from cayleyklein._validation import expect
from cayleyklein.curvature import CurvatureEstimate, estimate_curvature
from cayleyklein.plotting import style
from cayleyklein.plotting.shapes import GEOMETRY_COLORS

SCORES = {"numbers": "R² of each row by the others", "labels": "accuracy, each row by the others"}
LEAST_GAIN = 0.02  # of a score that is worth a look: room above and below it
DEPTH = 2.0  # lowest log likelihood shown, in units of its fall at the ends of the interval


@dataclass(kw_only=True, eq=False, repr=False)
class CurvatureDisplay:
    """The log likelihood over K, its maximum and interval, flat space, and a score over K.

    Make one by :meth:`from_estimate` or :meth:`from_data`. :meth:`plot` sets `ax_`, `figure_`,
    `line_`, and `score_ax_`, the axes of the score on the right, or None.

    Parameters
    ----------
    estimate : CurvatureEstimate

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> display = CurvatureDisplay.from_data(X, np.hypot(*X.T))
    >>> figure = CurvatureDisplay.from_estimate(display.estimate).plot().figure_
    """

    estimate: CurvatureEstimate

    @classmethod
    def from_estimate(cls, estimate: CurvatureEstimate) -> Self:
        """Show what :func:`~cayleyklein.estimate_curvature` found."""
        known = isinstance(estimate, CurvatureEstimate)
        expect(known, "estimate", estimate, "a CurvatureEstimate, by estimate_curvature")
        return cls(estimate=estimate)

    @classmethod
    def from_data(cls, X: ArrayLike, y: ArrayLike | None = None, **options: Any) -> Self:
        """Estimate the curvature of data, with options of :func:`estimate_curvature`.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) dissimilarities
        y : array-like of shape (n,), optional
        **options : options of :func:`~cayleyklein.estimate_curvature`
        """
        return cls(estimate=estimate_curvature(X, y, **options))

    def plot(self, ax: style.Axes | None = None, *, score: bool = True, **options: Any) -> Self:
        """Draw the profile.

        Parameters
        ----------
        ax : matplotlib Axes, optional (a new figure's)
        score : bool, default=True
            Whether to draw the score of each row predicted from the others, on an axis of its own.
        **options : options of ``Axes.plot`` for the profile
        """
        found, ax = self.estimate, style.new_axes(ax)
        K, value = found.profile.curvature, found.profile.log_likelihood
        value = value - value.max()
        low, high = np.clip(found.interval, K.min(), K.max())
        geometry = "elliptic" if found.curvature > 0 else "hyperbolic"
        color = GEOMETRY_COLORS[geometry if found.p_value <= 1 - found.level else "flat"]
        ax.axvspan(low, high, color=color, alpha=0.15, linewidth=0, label=f"{found.level:.0%} of K")
        ax.axvline(0.0, color="black", linewidth=style.EDGE_WIDTH, label="flat")
        look = {"color": color, "marker": ".", "label": "log likelihood"} | options
        self.line_ = ax.plot(K, value, **look)[0]
        ax.plot([found.curvature], [0.0], "o", color=color)
        inside = value[np.clip(K, low, high) == K].min()
        ax.set_ylim(DEPTH * min(inside, -2.0), -0.1 * DEPTH * min(inside, -2.0))
        if found.kind != "dissimilarities":  # linear up to R⁻², the scale of the domain
            ax.set_xscale("symlog", linthresh=-K.min(), linscale=1.5)
            ticks = -K.min() * np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 5.0, 30.0])
            ax.set_xticks(ticks, [f"{tick:.2g}" for tick in ticks])
            ax.minorticks_off()
        ax.set_xlabel(ax.get_xlabel() or "curvature K")
        ax.set_ylabel(ax.get_ylabel() or "log likelihood, below its maximum")
        ax.set_title(ax.get_title() or found.verdict)
        self.score_ax_ = None
        if score and found.kind in SCORES:
            self.score_ax_ = other = ax.twinx()
            other.plot(K, found.profile.score, "--", color="0.45")
            low, high = other.get_ylim()
            other.set_ylim(low - LEAST_GAIN, high + LEAST_GAIN)
            other.set_ylabel(f"{SCORES[found.kind]} (dashed)", color="0.35")
        self.ax_, self.figure_ = ax, ax.figure
        return self
