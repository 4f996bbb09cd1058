"""Worksheets: Markdown files with a start, questions, and rules for what the page answers.

A header between two lines "---" has a title and, as "start", the query of an address. Below, each
heading "##" begins a step; without one there is a single step. In a step, a quotation is the hint,
and a list has the rules, of which the first that holds gives the answer:

    - right if `abs(angle_sum(3) - 150) <= 1`: Right, {angle_sum(3):.1f}°.
    - if `count("polygon", 3) == 0`: There is no triangle.
    - else: Try again.

or answers to choose from, with what is said of each: "- [x] Voronoi cells: Right." Conditions are
arithmetic, comparisons, "and", "or", "not" and the functions of `Quantities`; nothing else is run.
"""

import ast
import http.client
import math
import operator
import re
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cayleyklein.app._figures import Construction
from cayleyklein.app._limits import LIMITS
from cayleyklein.app._measures import length, polygon_measures
from cayleyklein.app._tools import CIRCLE_KINDS, LINE_KINDS
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.geometry import constructions

OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a / b if b else math.nan,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class Rule(NamedTuple):
    """What is said where a condition holds, or where a choice is made."""

    condition: str  # "" always holds
    choice: str
    is_right: bool
    text: str


class Step(NamedTuple):
    title: str
    question: str
    hint: str
    rules: tuple[Rule, ...]

    @property
    def choices(self) -> list[str]:
        return [rule.choice for rule in self.rules if rule.choice]


class Worksheet(NamedTuple):
    title: str
    start: str
    steps: tuple[Step, ...]


def read_worksheet(text: str, name: str = "The worksheet") -> Worksheet:
    """Read a worksheet; errors name the line that is not understood."""
    if len(text) > LIMITS.worksheet_letters:
        raise InvalidInputError(f"{name} has more than {LIMITS.worksheet_letters:,} letters.")
    lines = text.replace("\r\n", "\n").strip("\ufeff\n ").split("\n")
    if lines[0].strip() != "---" or "---" not in [line.strip() for line in lines[1:]]:
        raise InvalidInputError(f"{name} must begin with a header between two lines ---.")
    end = next(i for i, line in enumerate(lines) if i and line.strip() == "---")
    header = {}
    for line in lines[1:end]:
        key, colon, value = line.partition(":")
        if line.strip() and (not colon or key.strip() not in ("title", "start")):
            raise InvalidInputError(f"The header of {name} has title and start; got {line[:40]!r}.")
        header[key.strip()] = value.strip()
    if not header.get("title"):
        raise InvalidInputError(f"{name} needs a title in its header.")
    steps: list[tuple[str, list[str]]] = [("", [])]
    for line in lines[end + 1 :]:
        if line.startswith("## "):
            steps.append((line[3:].strip(), []))
        else:
            steps[-1][1].append(line)
    found = [_read_step(title, body, name) for title, body in steps if title or any(body)]
    if not found:
        raise InvalidInputError(f"{name} has no question below its header.")
    start = header.get("start", "").lstrip("/?")
    return Worksheet(header["title"], start, tuple(found))


def _read_step(title: str, lines: list[str], name: str) -> Step:
    question: list[str] = []
    hint: list[str] = []
    items: list[str] = []
    for line in lines:
        if line.startswith("- "):
            items.append(line[2:].strip())
        elif items and line.startswith("  "):
            items[-1] += f" {line.strip()}"
        elif line.startswith(">"):
            hint.append(line[1:].strip())
        else:
            question.append(line.strip())
    rules = tuple(_read_rule(item, name) for item in items)
    return Step(title, " ".join(" ".join(question).split()), " ".join(hint), rules)


def _read_rule(item: str, name: str) -> Rule:
    if found := re.fullmatch(r"(right\s+)?if\s+`([^`]+)`\s*:\s*(.*)", item, re.DOTALL):
        right, condition, text = found.groups()
        _parse(condition)
        return Rule(condition, "", right is not None, text)
    if found := re.fullmatch(r"else\s*:\s*(.*)", item, re.DOTALL):
        return Rule("", "", False, found[1])
    if found := re.fullmatch(r"\[([ xX])\]\s*([^:]+):\s*(.*)", item, re.DOTALL):
        return Rule("", found[2].strip(), found[1] != " ", found[3])
    said = "- right if `condition`: text, - if `…`: text, - else: text, or - [x] choice: text"
    raise InvalidInputError(f"A rule of {name} must be {said}; got {item[:50]!r}.")


def check_step(step: Step, made: Construction, choice: str = "") -> tuple[bool, str]:
    """Return whether what was made or chosen is right, and what the page says of it."""
    quantities = Quantities(made)
    for rule in step.rules:
        holds = rule.choice == choice if rule.choice or choice else not rule.condition
        if rule.condition and not choice:
            holds = bool(_value(_parse(rule.condition), quantities))
        if holds:
            return rule.is_right, _fill(rule.text, quantities)
    return False, "Not yet."


def _fill(text: str, quantities: "Quantities") -> str:
    def fill(found: re.Match[str]) -> str:
        try:
            value = _value(_parse(found[1]), quantities)
            return format(value, found[2] or "").replace("-", "\N{MINUS SIGN}")
        except ValueError:
            return "?"

    return re.sub(r"\{([^{}:]+)(?::([^{}]*))?\}", fill, text)  # {value} or {value:format}


def _parse(condition: str) -> ast.expr:
    if len(condition) > LIMITS.condition_letters:
        raise InvalidInputError(f"A condition has up to {LIMITS.condition_letters} letters.")
    try:
        tree = ast.parse(condition.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        said = f"The condition {condition[:60]!r} was not understood."
        raise InvalidInputError(said) from error
    for node in ast.walk(tree):
        if not _is_known(node):
            name = getattr(node, "id", type(node).__name__)
            said = f"The condition {condition[:60]!r} has {name!r}, which is not known here."
            raise InvalidInputError(said)
    return tree


def _is_known(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return node.id in FUNCTIONS or node.id == "K"
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float | str)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS and not node.keywords
    structure = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.And, ast.Or, ast.Load)
    return isinstance(node, structure) or type(node) in OPERATORS


def _value(node: ast.expr, given: "Quantities") -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return given.K
    if isinstance(node, ast.UnaryOp):
        return OPERATORS[type(node.op)](_value(node.operand, given))
    if isinstance(node, ast.BoolOp):
        values = (bool(_value(part, given)) for part in node.values)
        return all(values) if isinstance(node.op, ast.And) else any(values)
    try:
        if isinstance(node, ast.BinOp):
            left, right = (_value(part, given) for part in (node.left, node.right))
            return OPERATORS[type(node.op)](left, right)
        if isinstance(node, ast.Compare):
            values_ = [_value(part, given) for part in (node.left, *node.comparators)]
            pairs = zip(node.ops, values_[:-1], values_[1:], strict=True)
            return all(OPERATORS[type(op)](a, b) for op, a, b in pairs)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return FUNCTIONS[node.func.id](given, *(_value(part, given) for part in node.args))
    except (TypeError, OverflowError) as error:
        raise InvalidInputError(f"A condition cannot be computed: {error}.") from error
    raise InvalidInputError("A condition was not understood.")


class Quantities:
    """What conditions and texts of a worksheet can ask of a construction.

    Polygons are asked for by their name or their number of corners, of which the first counts.
    What is not there is NaN, with which no comparison holds.
    """

    def __init__(self, made: Construction) -> None:
        self.made = made
        self.K = made.metric.curvature

    def _polygon(self, which: Any) -> dict[str, float]:
        for figure, corners in self.made.placed("polygon", hidden=True).items():
            if which in (figure.name, len(corners)):
                return polygon_measures(corners, self.made.metric)
        return {}

    def angle_sum(self, which: Any) -> float:
        """Return the sum of the inner angles of a polygon, in degrees."""
        return math.degrees(self._polygon(which).get("angle_sum", math.nan))

    def area(self, which: Any) -> float:
        """Return the area of a polygon."""
        return self._polygon(which).get("area", math.nan)

    def perimeter(self, which: Any) -> float:
        """Return the perimeter of a polygon."""
        return self._polygon(which).get("perimeter", math.nan)

    def bend(self, which: Any) -> float:
        """Return K times the area of a polygon, in degrees."""
        return math.degrees(self._polygon(which).get("curved_area", math.nan))

    def count(self, kind: str, corners: int = 0) -> int:
        """Count the objects of a kind, and with so many corners."""
        found = self.made.placed(str(kind), hidden=True)
        return sum(not corners or len(place) == corners for place in found.values())

    def exists(self, name: str) -> bool:
        """Say whether there is an object of this name."""
        return self.made.places.get(str(name)) is not None

    def length(self, name: str) -> float:
        """Return the length of a segment or distance."""
        figure = self.made.by_name.get(str(name))
        known = figure is not None and figure.kind in ("segment", "distance")
        if figure is None or not known or self.made.places[figure.name] is None:
            return math.nan
        return length(self.made, figure)

    def angle(self, name: str) -> float:
        """Return an angle in degrees."""
        place = self.made.places.get(str(name))
        figure = self.made.by_name.get(str(name))
        if place is None or figure is None or figure.kind != "angle":
            return math.nan
        return math.degrees(self.made.metric.vertex_angle(place[1], place[0], place[2]))

    def radius(self, name: str) -> float:
        """Return the radius of a circle."""
        place = self.made.places.get(str(name))
        return float(getattr(place, "radius", math.nan))

    def growth(self, wanted: float) -> float:
        """Return a circumference over 2πr, of the circle for which it is nearest to a number."""
        found = self.made.placed(*CIRCLE_KINDS, hidden=True).values()
        ratios = [
            constructions.circle_measures(c.radius, self.K)[0] / (math.tau * c.radius)
            for c in found
        ]
        return min(ratios, key=lambda ratio: abs(ratio - wanted), default=math.nan)

    def _others(self, point: str) -> dict[str, bool]:
        """Say of each line through a point, after the first line, whether it misses that one."""
        lines = self.made.placed(*LINE_KINDS, hidden=True)
        if not lines:
            return {}
        first, *others = lines
        places = {f.name: lines[f] for f in others if point in f.parents}
        meets = {
            name: constructions.meet(lines[first], place, self.made.metric)
            for name, place in places.items()
        }
        return {name: bool(np.isnan(x).all()) for name, x in meets.items()}

    def through(self, point: str) -> int:
        """Count the lines through a point, after the first line."""
        return len(self._others(point))

    def missing(self, point: str) -> int:
        """Count those that do not meet the first line."""
        return sum(self._others(point).values())

    def who_miss(self, point: str) -> str:
        """Return the names of two of them."""
        return " and ".join([name for name, misses in self._others(point).items() if misses][:2])


FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: thing
    for name, thing in vars(Quantities).items()
    if callable(thing) and not name.startswith("_")
} | {"abs": lambda _, value: abs(value)}


def bundled_worksheets() -> dict[str, Worksheet]:
    """Return the worksheets of the package, by name."""
    return read_folder(Path(__file__).parent / "static" / "worksheets")


def read_worksheets(place: str | Path) -> dict[str, Worksheet]:
    """Read worksheets from a file, a folder, or an address that begins with http:// or https://."""
    if re.match(r"https?://", str(place)):
        return read_address(str(place))
    return read_folder(Path(place))


def read_address(address: str, seconds: float = 10.0) -> dict[str, Worksheet]:
    """Fetch one worksheet; it is read as text and checked like any other, and nothing is run."""
    most = 4 * LIMITS.worksheet_letters  # bytes: a letter takes up to four
    try:
        with urllib.request.urlopen(address, timeout=seconds) as answer:
            content = answer.read(most + 1)
            if urllib.parse.urlsplit(answer.url).scheme not in ("http", "https"):
                raise InvalidInputError(f"{address} leads to {answer.url[:80]}, which is not read.")
    except (OSError, ValueError, http.client.HTTPException) as error:
        said = f"The worksheet at {address} could not be fetched: {error}."
        raise InvalidInputError(f"{said} Look whether the address opens in a browser.") from error
    if len(content) > most:
        raise InvalidInputError(f"{address} has more than {most:,} bytes; a worksheet is shorter.")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{address} is not text in UTF-8.") from error
    path = Path(urllib.parse.unquote(urllib.parse.urlsplit(address).path))
    return {_sheet_name(path): read_worksheet(text, address)}


def _sheet_name(path: Path) -> str:
    return re.sub(r"^\d+-", "", path.stem) or "worksheet"


def read_folder(place: Path) -> dict[str, Worksheet]:
    """Read one file, or all files .md of a folder; a leading number is not part of the name."""
    files = [place] if place.is_file() else sorted(place.glob("*.md"))
    if not files:
        raise InvalidInputError(f"There is no worksheet (.md) in {place}.")
    found = {}
    for path in files:
        found[_sheet_name(path)] = read_worksheet(path.read_text("utf-8"), path.name)
    return found
