"""What the documents say in numbers: read it, compare it with outputs, and write it into pages.

``docs/evidence/claims.toml`` lists the claims. A claim is a text with gaps, and pairs of an output
and a pattern that find the numbers for the gaps. It holds if the page has the text with these
numbers and, where the claim says ``where``, this condition on the list of numbers ``n`` is true.
Claims with a ``table`` are the rows of the table between the page's marks
``<!-- evidence: NAME -->`` and ``<!-- /evidence -->``, and are written there. One with ``each`` is
a claim for each pair of a name, put for NAME in the text, and a pattern, put for KEY in the
patterns.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Literal, NamedTuple

CONDITIONS = {"__builtins__": {}, "max": max, "min": min, "all": all, "any": any}
"""What the condition of a claim may use, beside the list of numbers ``n``."""

SCORE, SMALLER_SCORE, TIMES, UNITS = 0.05, 0.1, 2.0, 10
"""How far a number of a quick run may be from the recorded one: scores (three decimals, at most 1)
by SCORE, or SMALLER_SCORE of smaller tables; others by a factor of TIMES, and of smaller tables
they may be as small as they like. Within UNITS of the last digit on the page all agree."""

Kind = Literal["same", "smaller", "others"]
"""Whether the quick run has the recorded tables, fewer rows or draws of them, or others, whose
numbers say nothing: then only conditions are checked."""


class Comparison(NamedTuple):
    """What quick runs say of claims."""

    wrong: list[str]
    silent: list[str]  # there is no such output, or not in it
    n_right: int
    n_others: int


class Claim(NamedTuple):
    """A text with numbers on a page, and where the numbers come from."""

    page: str
    table: str | None
    text: str
    proofs: tuple[tuple[str, str], ...]  # output, line
    numbers: tuple[tuple[str, float, int], ...]  # output, number, decimals that the page shows
    right: bool  # the condition
    said: bool  # by the page

    @property
    def holds(self) -> bool:
        """Whether the page says it, and may."""
        return self.right and self.said


def find(folder: Path, output: str, pattern: str) -> tuple[list[float], str]:
    """Return the numbers of a pattern's groups, and the line in which the match ends."""
    path = folder / f"{output}.txt"
    if not path.exists():
        raise LookupError(f"{output}.txt is missing: run evidence.py {output}")
    text = path.read_text("utf-8")
    match = re.search(pattern, text, re.MULTILINE | re.DOTALL)
    if match is None:
        raise LookupError(f"{output}.txt has nothing like {pattern!r}")
    end = text.find("\n", match.end())
    line = text[text.rfind("\n", 0, match.end()) + 1 : end if end >= 0 else None]
    return [float(number.replace(",", "")) for number in match.groups()], line.strip()


def entries(path: Path) -> list[tuple[dict, str, str]]:
    """Return every claim as it is listed, with a name and a key."""
    listed = tomllib.loads(path.read_text("utf-8"))["claim"]
    return [(entry, *pair) for entry in listed for pair in entry.get("each", [["", ""]])]


def claims(root: Path, folder: Path) -> list[Claim]:
    """Return every claim, with the numbers as measured in its text."""
    return [
        read(root, folder, *each) for each in entries(root / "docs" / "evidence" / "claims.toml")
    ]


def read(root: Path, folder: Path, entry: dict, name: str, key: str) -> Claim:
    """Return one claim with the numbers of the outputs in a folder."""
    found: list[tuple[str, float]] = []
    proofs = []
    for output, pattern in entry["from"]:
        some, line = find(folder, output, pattern.replace("KEY", key))
        found += [(output, number) for number in some]
        proofs.append((output, line))
    n = [number for _, number in found]
    text = entry["text"].replace("NAME", name)
    shown = {int(gap): int(digits) for gap, digits in re.findall(r"\{(\d+):,?\.(\d)f\}", text)}
    numbers = tuple((*each, shown[i]) for i, each in enumerate(found) if i in shown)
    text = text.format(*n).replace("nan", "none")
    page = " ".join((root / entry["page"]).read_text("utf-8").split())
    right = bool(eval(entry.get("where", "True"), CONDITIONS | {"n": n}))
    said = " ".join(text.split()) in page
    return Claim(entry["page"], entry.get("table"), text, tuple(proofs), numbers, right, said)


def compare(root: Path, recorded: Path, quick: Path, kinds: Mapping[str, Kind]) -> Comparison:
    """Return which claims the quick runs contradict; ``kinds`` are of the outputs."""
    wrong, silent, n_right, n_others = [], [], 0, 0
    for entry, name, key in entries(root / "docs" / "evidence" / "claims.toml"):
        claim = read(root, recorded, entry, name, key)
        what = f"{claim.page}: {claim.text}"
        try:
            again = read(root, quick, entry, name, key)
        except LookupError as error:
            silent.append(f"{what}\n    {error}")
            continue
        pairs = [
            (number, new, digits, kinds[output])
            for (output, number, digits), (_, new, _) in zip(
                claim.numbers, again.numbers, strict=True
            )
            if kinds[output] != "others"
        ]
        far = [
            f"{number:.{digits}f} was {new:.{digits}f}"
            for number, new, digits, kind in pairs
            if not agree(number, new, digits, kind == "smaller")
        ]
        far += [] if again.right else [f"not true: {entry['where']}"]
        if far:
            wrong.append(f"{what}\n    quick run: {'; '.join(far)}")
        elif pairs or "where" in entry:
            n_right += 1
        else:
            n_others += 1
    return Comparison(wrong, silent, n_right, n_others)


def agree(recorded: float, quick: float, digits: int, smaller: bool) -> bool:
    """Whether a number of a quick run does not contradict the recorded one."""
    if recorded != recorded or quick != quick:  # nan: there is no such number
        return recorded != recorded and quick != quick
    if abs(recorded - quick) <= UNITS * 10.0**-digits:
        return True
    if digits >= 3 and recorded <= 1:
        return abs(recorded - quick) <= (SMALLER_SCORE if smaller else SCORE)
    return quick <= TIMES * recorded and (smaller or recorded <= TIMES * quick)


def write_tables(root: Path, found: list[Claim]) -> None:
    """Write the rows of every table of claims into its page, below the table's head."""
    rows: dict[tuple[str, str], list[str]] = {}
    for claim in found:
        if claim.table is not None:
            rows.setdefault((claim.page, claim.table), []).append(claim.text)
    for (page, table), texts in rows.items():
        path = root / page
        body = re.escape(f"<!-- evidence: {table} -->") + r"\n(\|.*\n\|.*\n)(?:\|.*\n)*"
        text, n = re.subn(
            f"({body})(?=<!-- /evidence -->)",
            lambda m, table=table, texts=texts: (
                f"<!-- evidence: {table} -->\n{m[2]}" + "".join(f"{row}\n" for row in texts)
            ),
            path.read_text("utf-8"),
        )
        if n != 1:
            raise LookupError(f"{page} has {n} tables marked <!-- evidence: {table} -->, not one")
        path.write_text(text, "utf-8")


def write_paper(root: Path) -> None:
    """Write the paper's tables, as they were computed, between their marks in a page."""
    path = root / "docs" / "experiments.md"
    text = path.read_text("utf-8")
    for name in ("exp", "targets", "mixed"):
        table = (root / "docs" / "_build" / "paper" / f"{name}.md").read_text("utf-8")
        start, end = f"<!-- reproduce {name} -->\n", f"<!-- /reproduce {name} -->\n"
        before, *rest = re.split(f"{start}.*?{end}", text, flags=re.DOTALL)
        if len(rest) != 1:
            raise LookupError(f"{path.name} has {len(rest)} places for the table {name}, not one")
        text = before + start + table + end + rest[0]
    path.write_text(text, "utf-8")


HEAD = """\
# Evidence

Every number of README and of this documentation, with the line of output that proves it.
{n} claims on {pages} pages rest on {outputs} measurements; {held} of them hold. Open a claim to
see its proof.

`make evidence` takes again what has changed since and writes this page;
`make evidence ARGS=--quick` checks the claims at lower precision and writes nothing. A test fails
where a page and an output differ. The outputs, each under its command, commit and versions, are in
the repository's folder `docs/evidence`.
"""


def page_of(found: list[Claim]) -> str:
    """Return the claims page by page, each with its proofs folded below it."""
    outputs = {output for claim in found for output, _ in claim.proofs}
    pages = dict.fromkeys(claim.page for claim in found)
    held = sum(claim.holds for claim in found)
    parts = [HEAD.format(n=len(found), pages=len(pages), outputs=len(outputs), held=held)]
    for page in pages:
        own = [claim for claim in found if claim.page == page]
        parts.append(f"\n## {Path(page).name}\n\n" + "\n".join(map(_folded, own)) + "\n")
    return "".join(parts)


def _folded(claim: Claim) -> str:
    """Return a claim as HTML that opens to the lines of output behind it."""

    def cell(text: str) -> str:
        return " ".join(text.strip().strip("|").replace("|", "·").split())

    lines = dict.fromkeys(f"{output}: {cell(line)}" for output, line in claim.proofs)
    said = escape(cell(claim.text.replace("`", "").replace("**", "")))
    return f"<details><summary>{said}</summary><pre>{escape(chr(10).join(lines))}</pre></details>"
