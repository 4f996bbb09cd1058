"""Trees in Newick text: ``((a:1,b:2)c:0.5,d);``."""

import re

import numpy as np

from cayleyklein._typing import Floats, Ints
from cayleyklein.exceptions import InvalidInputError


def parse(text: str) -> tuple[list[str], Ints, Floats]:
    """Return labels, parents and lengths of nodes, the root first; "" and NaN where missing."""
    labels: list[str] = [""]
    parents = [-1]
    lengths = [np.nan]
    here, at, ended = 0, 0, False
    after = ""  # the last punctuation: what the next word is
    # Blanks, comments, quoted labels, punctuation, labels.
    token_at = re.compile(r"\s+|\[[^\]]*\]|'(?:[^']|'')*'|[(),:;]|[^\s\[\](),:;']+").match
    while at < len(text):
        found = token_at(text, at)
        if found is None:
            raise _fault(text, at, "a quote or bracket that does not end")
        token = found.group()
        if token.isspace() or token[0] == "[":
            at = found.end()
            continue
        if ended:
            raise _fault(text, at, "text after the semicolon; pass one tree at a time")
        if token in ("(", ","):
            if token == "(" and after not in ("", "(", ","):
                raise _fault(text, at, "a bracket where a comma is expected")
            if token == "," and here == 0:
                raise _fault(text, at, "a comma outside all brackets")
            labels.append("")
            lengths.append(np.nan)
            parents.append(here if token == "(" else parents[here])
            here = len(labels) - 1
        elif token == ")":
            if here == 0:
                raise _fault(text, at, "a closing bracket without its opening one")
            here = parents[here]
        elif token == ";":
            ended = True
        elif token != ":":
            _read_word(text, at, token, after, labels, lengths, here)
        if token in "(),:;":
            after = token
        else:
            after = "length" if after == ":" else "label"
        at = found.end()
    if here != 0 or after == ":":
        raise _fault(text, len(text), "the end of the text inside brackets or before a length")
    if not text.strip():
        raise InvalidInputError("The Newick text is empty.")
    return labels, np.array(parents, dtype=np.intp), np.array(lengths)


def _read_word(
    text: str, at: int, token: str, after: str, labels: list[str], lengths: list[float], here: int
) -> None:
    if after == ":":
        try:
            lengths[here] = float(token)
        except ValueError:
            raise _fault(text, at, f"the length {token!r}, which is no number") from None
    elif after in ("label", "length"):
        raise _fault(text, at, f"the word {token!r} where punctuation is expected")
    elif token[0] == "'":
        labels[here] = token[1:-1].replace("''", "'")
    else:
        labels[here] = token.replace("_", " ")


def _fault(text: str, at: int, what: str) -> InvalidInputError:
    near = text[max(0, at - 20) : at + 20]
    return InvalidInputError(f"The Newick text has {what}, at character {at}: …{near}…")
