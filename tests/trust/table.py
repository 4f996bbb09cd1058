"""Write what was tried, and what happened, into the documentation: python -m tests.trust.table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.trust.all_entrances import ENTRANCES
from tests.trust.kinds import ARRAY_KINDS
from tests.trust.trial import Outcome, attempt

PAGE = Path(__file__).resolve().parents[2] / "docs" / "trust.md"
START, END = "<!-- written by tests/trust/table.py: from here -->", "<!-- to here -->"

MARKS = {"same": "=", "works": "+", "refused": "×"}
NOT_TRIED = "·"

EXAMPLES = (
    ("metrics.CurvedMetric.pairwise", "X"),
    ("learning.CurvedLMNN.fit", "y"),
    ("learning.CurvedLMNN.fit", "sample_weight"),
    ("learning.CurvedLMNN", "n_neighbors"),
    ("learning.CurvedLMNN", "push"),
    ("learning.CurvedLMNN", "geometry"),
    ("neighbors.CurvedNeighbors", "metric"),
    ("learning.CurvedLMNN", "n_jobs"),
    ("tables.TableEncoder.transform", "table"),
    ("tables.read_table", "text"),
)
"""Whose messages are shown."""

Found = dict[tuple[str, str], Outcome]


def try_all(path: str) -> Found:
    """Return what happens at one entrance, by parameter and kind."""
    return {(case.parameter, case.kind.name): attempt(case) for case in ENTRANCES[path].cases()}


def rows_of(path: str, found: Found) -> Iterator[str]:
    """Return the rows of one entrance: a mark for each kind of array, or the kinds by name."""
    for parameter in ENTRANCES[path].args:
        marks = {kind: MARKS[o.what] for (name, kind), o in found.items() if name == parameter}
        if not marks:
            continue
        if "float32" in marks:
            assert set(marks) <= set(ARRAY_KINDS), set(marks) - set(ARRAY_KINDS)
            shown = "".join(marks.get(kind, NOT_TRIED) for kind in ARRAY_KINDS)
            yield f"| `{path}` | `{parameter}` | `{shown}` |"
        else:
            named = (
                f"{mark} " + ", ".join(kind for kind, one in marks.items() if one == mark)
                for mark in MARKS.values()
                if mark in marks.values()
            )
            yield f"| `{path}` | `{parameter}` | {'; '.join(named)} |"


def marks_in(row: str) -> dict[str, str]:
    """Return the mark of each kind in a row: the inverse of the above."""
    shown = row.split(" | ")[2].removesuffix(" |")
    if shown.startswith("`"):
        marks = dict(zip(ARRAY_KINDS, shown.strip("`"), strict=True))
        return {kind: mark for kind, mark in marks.items() if mark != NOT_TRIED}
    parts = (part.split(" ", 1) for part in shown.split("; "))
    return {kind: mark for mark, kinds in parts for kind in kinds.split(", ")}


def rows_in(text: str) -> list[str]:
    """Return the rows of entrances on a page."""
    return re.findall(r"^\| `[\w.]+` \| `\w+` \| .* \|$", text, flags=re.MULTILINE)


def written(rows: Iterable[str]) -> str:
    """Return what the page says, given the rows of all entrances."""
    rows = list(rows)
    tried = [marks_in(row) for row in rows]
    total = Counter(mark for marks in tried for mark in marks.values())
    kinds = dict.fromkeys((*ARRAY_KINDS, *(kind for marks in tried for kind in marks)))
    messages = examples()
    lines = [
        f"{len(ENTRANCES)} entrances, {len(rows)} parameters, {sum(total.values()):,} calls: "
        f"{total['=']:,} gave the result of the plain value (=), {total['+']:,} a result of their "
        f"own without NaN (+), and {total['×']:,} were refused (×).",
        "",
        "| input | = | + | × | for example |",
        "|---|---|---|---|---|",
    ]
    for kind in kinds:
        count = Counter(marks.get(kind) for marks in tried)
        counts = " | ".join(str(count[mark] or "") for mark in MARKS.values())
        lines.append(f"| {kind} | {counts} | {messages.get(kind, '')} |")
    lines += [
        "",
        "At each entrance; for arrays, a mark for each of these kinds in turn: "
        f"{', '.join(ARRAY_KINDS)}.",
        "",
        "| entrance | parameter | what happened |",
        "|---|---|---|",
        *rows,
    ]
    return "\n".join(lines)


def examples() -> dict[str, str]:
    """Return a message for each kind, in words of our own, which no other library changes."""
    said: dict[str, str] = {}
    for path, parameter in EXAMPLES:
        for case in ENTRANCES[path].cases():
            if case.parameter == parameter and case.kind.name not in said:
                outcome = attempt(case)
                if outcome.what == "refused" and not outcome.quotes:
                    message = re.sub(r" at 0x\w+", "", outcome.message).replace("|", r"\|")
                    said[case.kind.name] = f"`{outcome.error}: {message}`"
    return said


def page(rows: Iterable[str]) -> str:
    """Return the page as it should be."""
    before, _, rest = PAGE.read_text("utf-8").partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n\n{written(rows)}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(
        page(row for path in ENTRANCES for row in rows_of(path, try_all(path))), "utf-8"
    )
