"""A page that needs nothing but itself: style, sections, provenance."""

from collections.abc import Iterable
from html import escape
from typing import Any

__all__ = ["code_block", "page", "paragraph", "provenance_section", "section"]

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
