"""Numbers as people write them: signs, grouped digits, decimal marks, currencies and units."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cayleyklein._validation import require

__all__ = ["CURRENCY", "NUMBERS", "OTHER", "Number", "parse_number", "plain_floats"]

PLAIN = {
    **{ord(space): " " for space in "\u00a0\u2007\u2009\u202f"},
    **{ord(dash): "-" for dash in "\u2212\u2012\u2013"},
    ord("\u2019"): "'",
}
"""What typographers write for a space, a minus and an apostrophe."""

CURRENCY = (
    r"[A-Z]{0,2}[$€£¥₹₽₩₺₴₫₦฿¢]|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL"
    r"|MXN|ZAR|RUB|KRW|TRY"
)
DIGITS = {
    ".": r"(?:\d+|[1-9]\d{0,2}(?P<group>[, '])\d{3}(?:(?P=group)\d{3})*|[1-9]\d?(?:,\d\d)+,\d{3})"
    r"(?:\.\d*)?|\.\d+",
    ",": r"(?:\d+|[1-9]\d{0,2}(?P<group>[. '])\d{3}(?:(?P=group)\d{3})*)(?:,\d*)?|,\d+",
}
"""Digits by decimal mark. Groups are of three, or in India of two and then three."""

NUMBERS = {
    mark: re.compile(
        rf"(?P<sign>[-+]?) ?(?P<before>{CURRENCY})? ?(?P<inner>[-+]?)(?P<digits>{digits})"
        rf"(?P<power>[eE][-+]?\d+)? ?(?P<after>%|{CURRENCY}|[^\W\d_°][\w/]{{0,4}}[²³]?|°[CF]?)?"
    )
    for mark, digits in DIGITS.items()
}
OTHER = {".": ",", ",": "."}
"""The other decimal mark."""


class Number(NamedTuple):
    """A number, its unit, and whether the other decimal mark groups its thousands."""

    value: float
    unit: str
    grouped: bool


def parse_number(text: str, decimal: str = ".") -> Number | None:
    """Return a number and its unit, or None for any other text.

    >>> parse_number("51,234.10")
    Number(value=51234.1, unit='', grouped=True)
    >>> parse_number("1 250,5 €", ","), parse_number("(12%)")
    (Number(value=1250.5, unit='€', grouped=False), Number(value=-0.12, unit='%', grouped=False))
    >>> parse_number("1,5"), parse_number("12-13")
    (None, None)
    """
    text = text.translate(PLAIN).strip()
    inner = text[1:-1] if text.startswith("(") and text.endswith(")") else text
    found = NUMBERS[decimal].fullmatch(inner)
    if found is None or (found["sign"] and found["inner"]) or (found["before"] and found["after"]):
        return None
    digits = found["digits"]
    grouped = OTHER[decimal] in digits
    if found["group"]:
        digits = digits.replace(found["group"], "")
    elif decimal == "." and "," in digits:
        digits = digits.replace(",", "")
    value = float(digits.replace(decimal, ".") + (found["power"] or ""))
    unit = found["before"] or found["after"] or ""
    if unit == "%":
        value /= 100
    negative = "-" in (found["sign"], found["inner"]) or inner is not text
    return Number(-value if negative else value, unit, grouped)


def plain_floats(words: Any) -> NDArray[np.float64] | None:
    """Return text cells as floats if each is one as Python writes it, or None."""
    arrow, compute = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    try:
        cells = compute.cast(arrow.array(words, arrow.string(), from_pandas=True), arrow.float64())
    except arrow.ArrowInvalid:
        return None
    return np.array(cells.to_numpy(zero_copy_only=False))
