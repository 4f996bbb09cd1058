"""Tables of results, written as Markdown or HTML, or handed to a terminal."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Entry", "Table", "signed"]


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
