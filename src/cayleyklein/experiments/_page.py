"""Pages of HTML that need no other file: style, sections, tables and charts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "Dot",
    "Entry",
    "Table",
    "accuracy_chart",
    "code_block",
    "page",
    "paragraph",
    "provenance_section",
    "section",
    "signed",
]

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1d2433; --soft: #5b6577; --line: #dde2ea; --band: #f5f7fa;
  --accent: #0072b2; --above: #00795a; --below: #b34700; --card: #ffffff;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181f; --ink: #e4e8ee; --soft: #9aa5b5; --line: #2c3440; --band: #1b2129;
    --accent: #56b4e9; --above: #4fd0a8; --below: #f0975a; --card: #ffffff;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
main { max-width: 66rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
main.wide { max-width: 88rem; }
main.wide table { font-size: .8rem; } main.wide td { padding: .4rem .4rem; }
header p { color: var(--soft); margin-top: .25rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 1.3rem; margin: 2.75rem 0 .25rem; padding-top: 1.25rem;
     border-top: 1px solid var(--line); }
h2 small { font-weight: 400; font-size: .95rem; color: var(--soft); margin-left: .5rem; }
p, ul { max-width: 46rem; }
ul { padding-left: 1.2rem; } li { margin: .3rem 0; }
.scroll { overflow-x: auto; margin: 1.25rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .875rem;
        font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding-bottom: .5rem; }
th, td { padding: .4rem .55rem; text-align: right; white-space: nowrap; font-weight: 400;
         border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-size: .8rem; vertical-align: bottom; white-space: normal;
           border-bottom: 1px solid var(--soft); }
th[scope=row], .labels-1 thead th:first-child, .labels-2 thead th:nth-child(-n+2) {
  text-align: left; }
tbody tr:hover > * { background: var(--band); }
strong { font-weight: 650; }
td.above { color: var(--above); } td.below { color: var(--below); }
figure { margin: 1.25rem 0; }
figcaption { color: var(--soft); font-size: .875rem; max-width: 46rem; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr));
            gap: 1.25rem; align-items: start; }
.pictures figure { margin: 0; }
.pictures img { display: block; width: 100%; height: auto; background: var(--card);
                border: 1px solid var(--line); border-radius: 8px; padding: .5rem; }
.pictures figcaption { margin-top: .5rem; }
svg.chart { width: 100%; max-width: 46rem; height: auto; display: block; }
svg.chart text { fill: var(--ink); font-size: 13px; font-family: inherit; }
svg.chart .axis { fill: var(--soft); font-size: 12px; }
svg.chart .grid { stroke: var(--line); }
svg.chart .base { stroke: var(--soft); stroke-dasharray: 4 4; }
svg.chart .split { fill: var(--soft); opacity: .35; }
svg.chart .mean { fill: var(--paper); stroke: var(--ink); stroke-width: 2; }
svg.chart .reach { stroke: var(--ink); stroke-width: 2; }
svg.chart .better .mean { fill: var(--accent); stroke: var(--accent); }
svg.chart .better .reach { stroke: var(--accent); }
svg.chart .better text { font-weight: 650; }
pre { background: var(--band); border: 1px solid var(--line); border-radius: 8px;
      padding: 1rem; overflow-x: auto; font: .85rem/1.5 ui-monospace, Consolas, monospace; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.25rem; margin: 1rem 0;
     font-size: .9rem; }
dt { color: var(--soft); } dd { margin: 0; }
.notes { color: var(--soft); font-size: .9rem; }
@media print { main { max-width: none; } .pictures figure { break-inside: avoid; } }
"""


def page(title: str, subtitle: str, sections: Iterable[str], *, wide: bool = False) -> str:
    """Return a whole page; the title and subtitle are plain text, the sections HTML.

    A wide one is for tables of many columns.
    """
    body = "\n".join(sections)
    main = '<main class="wide">' if wide else "<main>"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"{main}\n"
        f"<header><h1>{escape(title)}</h1><p>{escape(subtitle)}</p></header>\n"
        f"{body}\n</main>\n</body>\n</html>\n"
    )


def section(title: str, *parts: str, aside: str = "") -> str:
    """Return a section; the title is plain text, the parts HTML."""
    small = f" <small>{escape(aside)}</small>" if aside else ""
    return "\n".join(["<section>", f"<h2>{escape(title)}{small}</h2>", *parts, "</section>"])


def paragraph(text: str, kind: str = "") -> str:
    """Return plain text as a paragraph."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def code_block(text: str) -> str:
    """Return lines of code as they are."""
    return f"<pre><code>{escape(text)}</code></pre>"


def provenance_section(provenance: dict[str, Any]) -> str:
    """Return the section on code, versions and machine."""
    machine = provenance["machine"]
    facts = {
        "cayleyklein": provenance["cayleyklein"],
        "commit": provenance["commit"] or "not known (an installed package)",
        "date": provenance["date"],
        "Python": provenance["python"],
        "packages": ", ".join(f"{name} {v}" for name, v in provenance["versions"].items()),
        "system": machine["system"],
        "processor": f"{machine['processor']}, {machine['cores']} cores",
    }
    entries = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>" for name, value in facts.items()
    )
    return section("Machine and versions", f"<dl>{entries}</dl>")


# -- tables -------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """What stands in one place of a table.

    Attributes
    ----------
    text : str
    bold : bool
        Only for what the evidence supports.
    kind : str
        A class for the style sheet: "above", "level" or "below" the paper.
    """

    text: str
    bold: bool = False
    kind: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of entries under names; the first `n_labels` columns are words, the others numbers.

    Examples
    --------
    >>> table = Table("Two", ("method", "accuracy"), [[Entry("flat"), Entry("0.9", bold=True)]])
    >>> print(table.to_markdown())
    | method | accuracy |
    |---|---:|
    | flat | **0.9** |
    """

    caption: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Entry]]
    n_labels: int = 1

    def to_markdown(self) -> str:
        """Return a pipe table."""
        rule = ["---" if i < self.n_labels else "---:" for i in range(len(self.columns))]
        rows = [[f"**{e.text}**" if e.bold else e.text for e in row] for row in self.rows]
        lines = [f"| {' | '.join(texts)} |" for texts in (self.columns, *rows)]
        lines.insert(1, f"|{'|'.join(rule)}|")
        return "\n".join(lines)

    def to_html(self) -> str:
        """Return a table element, its text escaped."""
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.columns)
        body = "\n".join(f"<tr>{self._html_row(row)}</tr>" for row in self.rows)
        return (
            f'<div class="scroll"><table class="labels-{self.n_labels}">\n'
            f"<caption>{escape(self.caption)}</caption>\n"
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
        )

    def _html_row(self, row: Sequence[Entry]) -> str:
        cells = []
        for index, entry in enumerate(row):
            tag = 'th scope="row"' if index < self.n_labels else "td"
            text = f"<strong>{escape(entry.text)}</strong>" if entry.bold else escape(entry.text)
            kind = f' class="{entry.kind}"' if entry.kind else ""
            cells.append(f"<{tag}{kind}>{text}</{tag.split()[0]}>")
        return "".join(cells)


def signed(value: float, digits: int = 3) -> str:
    """Write a number with its sign, and with a minus that is one.

    >>> signed(-0.25), signed(0.0)
    ('−0.250', '+0.000')
    """
    return f"{value:+.{digits}f}".replace("-", "\N{MINUS SIGN}")


# -- a chart of accuracies, in the colours of the page ------------------------------

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
