"""A chart of accuracies in plain SVG, which takes its colours from the page, light or dark."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np

__all__ = ["Dot", "accuracy_chart"]

WIDTH, LEFT, RIGHT, ROW, FOOT = 740, 170, 24, 28, 28
MARGIN = 0.05
"""Space beyond the lowest and the highest score, as a part of their range."""

STEPS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
MOST_TICKS = 8


class Dot(NamedTuple):
    """A row of the chart: a mean, its standard error, and the scores that it is the mean of."""

    title: str
    mean: float
    error: float
    scores: Sequence[float]
    is_better: bool = False


@dataclass(frozen=True)
class Scale:
    """From accuracies to places on the page."""

    low: float
    high: float

    def __call__(self, value: float) -> str:
        """Return a horizontal coordinate."""
        share = (value - self.low) / (self.high - self.low)
        return f"{LEFT + share * (WIDTH - LEFT - RIGHT):.1f}"

    def ticks(self) -> list[float]:
        """Return round values inside the scale."""
        reach = self.high - self.low
        step = next((s for s in STEPS if reach / s <= MOST_TICKS), STEPS[-1])
        first = np.ceil(self.low / step)
        return [float(i * step) for i in np.arange(first, np.floor(self.high / step) + 1)]


def accuracy_chart(dots: Sequence[Dot], label: str) -> str:
    """Return an SVG element with a row for each method, of which the first is the baseline.

    Parameters
    ----------
    dots : sequence of Dot
    label : str
        What a reader who cannot see it is told.
    """
    scores = np.concatenate([np.asarray(dot.scores) for dot in dots])
    low, high = float(scores.min()), float(scores.max())
    spare = MARGIN * (high - low) or STEPS[0]  # all scores may be equal
    scale = Scale(low - spare, high + spare)
    bottom = ROW * len(dots)
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {bottom + FOOT}" role="img">',
        f"<title>{escape(label)}</title>",
        *(_tick(scale(value), f"{value:.4g}", bottom) for value in scale.ticks()),
        _upright("base", scale(dots[0].mean), bottom),
        *(_row(dot, scale, ROW * (index + 0.5)) for index, dot in enumerate(dots)),
        "</svg>",
    ]
    return "\n".join(parts)


def _upright(kind: str, x: str, bottom: float) -> str:
    return f'<line class="{kind}" x1="{x}" x2="{x}" y1="0" y2="{bottom}"/>'


def _tick(x: str, text: str, bottom: float) -> str:
    label = f'<text class="axis" x="{x}" y="{bottom + 18}" text-anchor="middle">{text}</text>'
    return _upright("grid", x, bottom) + label


def _row(dot: Dot, scale: Scale, y: float) -> str:
    splits = "".join(
        f'<circle class="split" cx="{scale(score)}" cy="{y}" r="3"/>' for score in dot.scores
    )
    left, right = scale(dot.mean - dot.error), scale(dot.mean + dot.error)
    return (
        f'<g class="{"better" if dot.is_better else "row"}">'
        f'<text x="{LEFT - 14}" y="{y + 4.5}" text-anchor="end">{escape(dot.title)}</text>{splits}'
        f'<line class="reach" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>'
        f'<circle class="mean" cx="{scale(dot.mean)}" cy="{y}" r="5"/></g>'
    )
