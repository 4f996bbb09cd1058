"""Find the code in the README and in the pages of the documentation.

A fenced block is of the language that its fence names, also inside MyST's ``{code-block}``. An
indented block, and a block in a shell's language, holds command lines; prose holds some too,
between backticks. On the line before a block an HTML comment may say

    <!-- snippet: continues -->          it goes on with the names of the block before it
    <!-- snippet: not run: REASON -->    it cannot run here
"""

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

PYTHON = {"python", "py", "pycon"}
SHELL = {"console", "bash", "sh", "shell"}
OTHER = {"", "text", "toml", "json", "html", "css", "make", "yaml", "bibtex", "math"}
"""Languages of blocks that nobody would run. A name in braces is a directive, and no code."""

FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,}|:{3,})(?P<info>[^\n`]*)\n(?P<code>.*?)^ *(?P=fence)[ ]*$",
    re.M | re.S,
)
CODE_DIRECTIVE = re.compile(r"\{code(?:-block|-cell)?\} *(\w*)")
MARK = re.compile(r"<!-- snippet: (?P<what>continues|not run: .+?) -->\s*$")
SPAN = re.compile(r"(?<!`)`(cayleyklein [^`\n]+)`(?!`)")
SCHEMATIC = re.compile(r"[\[\]…|]|\.\.\.")
"""What makes a line between backticks a scheme of command lines, and none of them."""


@dataclass(frozen=True)
class Block:
    """A block of a page: its language, its code, and what the comment before it says."""

    page: str
    line: int
    language: str
    code: str
    continues: bool = False
    not_run: str | None = None

    @property
    def name(self) -> str:
        """Where it is."""
        return f"{self.page}:{self.line}"


def pages(root=ROOT):
    """Return the Markdown pages of the project; what a folder with a leading _ holds is made."""
    found = [*root.glob("*.md"), *root.glob("benchmarks/*.md"), *root.glob("examples/*.md")]
    found += [
        page
        for page in root.glob("docs/**/*.md")
        if not any(part.startswith("_") for part in page.relative_to(root).parts)
    ]
    return sorted(found)


def blocks_of(text, page):
    """Return the fenced blocks of a page, in order."""
    found = []
    for match in FENCE.finditer(text):
        info = match["info"].strip()
        directive = CODE_DIRECTIVE.match(info)
        language = directive[1] if directive else info.split()[0] if info else ""
        body = match["code"]
        if directive:  # its options come first
            body = re.sub(r"\A(?::[\w-]+:.*\n)+\n?", "", body)
        lines = [line.removeprefix(match["indent"]) for line in body.splitlines(keepends=True)]
        mark = MARK.search(text[: match.start()].rstrip(" "))
        what = mark["what"] if mark else ""
        found.append(
            Block(
                page,
                text.count("\n", 0, match.start()) + 1,
                language,
                "".join(lines),
                continues=what == "continues",
                not_run=what.removeprefix("not run: ") if what.startswith("not run") else None,
            )
        )
    return found


def command_lines(text, page):
    """Return the command lines of a page as (place, words), in order."""
    lines = []
    for block in blocks_of(text, page):
        if block.language in SHELL:
            rows = block.code.replace("\\\n", " ").splitlines()
            if block.language == "console":  # the others are answers
                rows = [row[2:] for row in rows if row.startswith("$ ")]
            lines += [(block.line + i + 1, row) for i, row in enumerate(rows)]
    bare = FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)
    for number, row in enumerate(bare.splitlines(), start=1):
        if row.startswith("    ") and row.split()[0] in {"cayleyklein", "make", "python", "pip"}:
            lines.append((number, row))
        lines += [(number, span) for span in SPAN.findall(row) if not SCHEMATIC.search(span)]
    words = ((f"{page}:{n}", shlex.split(row, comments=True)) for n, row in sorted(lines))
    return [(place, line) for place, line in words if line]


if __name__ == "__main__":  # python tests/snippets.py README.md: run a page's Python
    for given in map(Path, sys.argv[1:]):
        for block in blocks_of(given.read_text("utf-8"), given.name):
            if block.language == "python":
                exec(compile(block.code, block.name, "exec"), {"__name__": "snippet"})
