"""HTML pages in one file: style, sections, tables and pictures."""

import base64
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import count
from pathlib import Path
from typing import Any

from cayleyklein._validation import require

PAPER_MARKS = {"above": "▲", "level": "=", "below": "▼"}  # compared with the paper's numbers


def page(
    title: str,
    subtitle: str,
    sections: Iterable[str],
    how_to_read: Sequence[str],
    provenance: dict[str, Any],
    code: str = "",
) -> str:
    parts = [*sections, section("How to read it", bullets(how_to_read))]
    if code:
        parts.append(section("The same in Python", f"<pre><code>{escape(code)}</code></pre>"))
    machine = provenance["machine"]
    versions = provenance["versions"].items()
    lines = [
        f"cayleyklein {provenance['cayleyklein']}, commit {provenance['commit'] or 'unknown'}",
        f"Python {provenance['python']}, " + ", ".join(f"{name} {v}" for name, v in versions),
        f"{machine['system']}, {machine['processor']}, {machine['cores']} cores",
        provenance["date"],
    ]
    body = "\n".join([*parts, section("Machine and versions", bullets(lines))])
    style = Path(__file__).with_name("page.css").read_text("utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f"<header><h1>{escape(title)}</h1><p>{escape(subtitle)}</p></header>\n"
        f"{body}\n</main>\n</body>\n</html>\n"
    )


def section(title: str, *parts: str) -> str:
    return "\n".join(["<section>", f"<h2>{escape(title)}</h2>", *parts, "</section>"])


def bullets(lines: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<ul class="notes">{items}</ul>' if items else ""


def figure_html(figure: Any, caption: str) -> str:
    buffer = io.BytesIO()
    with require("matplotlib", "plot").rc_context(
        {"svg.hashsalt": "report"}
    ):  # the same file each time
        figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    text = escape(caption)
    return (
        f'<figure><img alt="{text}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{text}</figcaption></figure>"
    )


@dataclass(frozen=True)
class ReportTable:
    """A table with a title and notes; the first `n_labels` columns are words, the others numbers.

    Entries are text, with ``**`` around those that are bold.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    n_labels: int = 1
    notes: Sequence[str] = ()

    def to_markdown(self) -> str:
        rule = ["---" if i < self.n_labels else "---:" for i in range(len(self.columns))]
        lines = [f"| {' | '.join(texts)} |" for texts in (self.columns, *self.rows)]
        return "\n".join([lines[0], f"|{'|'.join(rule)}|", *lines[1:]])

    def to_html(self, after: str = "", kind: str = "") -> str:
        """Return a section: the first note, the table, the other notes, and what comes after."""
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.columns)
        body = "\n".join(f"<tr>{''.join(map(self._html, row, count()))}</tr>" for row in self.rows)
        table = (
            f'<div class="scroll"><table class="labels-{self.n_labels} {kind}">\n'
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
        )
        lead = "".join(f"<p>{escape(note)}</p>" for note in self.notes[:1])
        return section(self.title, lead, table, bullets(self.notes[1:]), after)

    def _html(self, entry: str, column: int) -> str:
        plain = entry.strip("*")
        text = escape(plain) if plain == entry else f"<strong>{escape(plain)}</strong>"
        kind = next((kind for kind, mark in PAPER_MARKS.items() if plain.endswith(f" {mark}")), "")
        if column < self.n_labels:
            return f'<th scope="row">{text}</th>'
        return f'<td class="{kind}" data-name="{escape(self.columns[column])}">{text}</td>'
