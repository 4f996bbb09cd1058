"""Answers to a page as bytes."""

import json
from typing import Any

import numpy as np


def pack_message(answer: Any) -> bytes:
    """Return the length of an answer's JSON, the JSON, and its arrays, as int8 or float32.

    In the JSON an array is its type, its first byte after the JSON, and its size.
    """
    arrays = bytearray()

    def keep(value: Any) -> Any:
        if isinstance(value, np.generic):
            return value.item()
        start = len(arrays)
        whole = value.dtype.kind in "iub"
        arrays.extend(np.ascontiguousarray(value, np.int8 if whole else np.float32).tobytes())
        arrays.extend(b"\0" * (-len(arrays) % 4))
        return {"$": "i" if whole else "f", "at": start, "n": int(value.size)}

    text = json.dumps(answer, default=keep).encode()
    text += b" " * (-len(text) % 4)
    return len(text).to_bytes(4, "little") + text + arrays
