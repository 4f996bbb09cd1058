"""The five data sets of the paper, shipped with the package."""

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from cayleyklein._validation import as_choice, require

UCI = "UCI Machine Learning Repository, CC BY 4.0, "
SOURCES = {  # in the order of the paper's table
    "wine": UCI + "Wine, Aeberhard and Forina (1992), doi:10.24432/C5PC7J",
    "sonar": UCI + "Connectionist Bench (Sonar, Mines vs. Rocks), Sejnowski and Gorman, "
    "doi:10.24432/C5T01Q",
    "vowel": UCI + "Connectionist Bench (Vowel Recognition), Deterding and Robinson, "
    "doi:10.24432/C58P4S",
    "balance": UCI + "Balance Scale, Siegler (1994), doi:10.24432/C5488X",
    "pima": "Pima Indians Diabetes, National Institute of Diabetes and Digestive and Kidney "
    "Diseases, given by V. Sigillito to the UCI Machine Learning Repository (1990)",
}


def _load(name: str, file: str, return_X_y: bool, as_frame: bool) -> Any:
    path = files("cayleyklein.datasets") / "data" / f"{file}.csv"
    with path.open(encoding="utf-8") as lines:
        cells = np.loadtxt(lines, dtype=str, delimiter=",", quotechar='"')
    columns = cells[0, :-1].tolist()
    data = cells[1:, :-1].astype(np.float64)
    names, target = np.unique(cells[1:, -1].tolist(), return_inverse=True)
    frame = None
    if as_frame:
        frame = require("pandas", "cli").DataFrame(data, columns=columns)
        frame["class"] = target
        data = frame[columns]
        target = frame["class"]
    if return_X_y:
        return data, target
    size = f"{len(data)} rows, {len(columns)} columns, {len(names)} classes"
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=columns,
        target_names=names,
        DESCR=f"{name}: {size}. Source: {SOURCES[name]}.",
    )


def _loader(name: str, n: int, d: int, classes: str) -> Callable[..., Any]:
    def load(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
        return _load(name, name, return_X_y, as_frame)

    load.__name__ = load.__qualname__ = f"load_{name}"
    load.__doc__ = f"""Return {name.capitalize()}: {n} rows, {d} columns, {classes}.

    Parameters
    ----------
    return_X_y, as_frame : bool, default=False
        Return (data, target) rather than a Bunch, and pandas objects.

    Examples
    --------
    >>> load_{name}().data.shape
    ({n}, {d})
    """
    return load


load_wine = _loader("wine", 178, 13, "3 cultivars")
load_sonar = _loader("sonar", 208, 60, "mines and rocks")
load_balance = _loader("balance", 625, 4, "3 classes: where a scale tips")
load_pima = _loader("pima", 768, 8, "with diabetes or without")


def load_vowel(*, return_X_y: bool = False, as_frame: bool = False, speakers: str = "train") -> Any:
    """Return Vowel: 10 columns, 11 vowels.

    Parameters
    ----------
    return_X_y, as_frame : bool, default=False
        Return (data, target) rather than a Bunch, and pandas objects.
    speakers : {"train", "all"}, default="train"
        528 rows of the training speakers, as in the paper, or all 990.

    Examples
    --------
    >>> load_vowel().data.shape, load_vowel(speakers="all").data.shape
    ((528, 10), (990, 10))
    """
    file = "vowel" if as_choice(speakers, "speakers", ("train", "all")) == "train" else "vowel990"
    return _load("vowel", file, return_X_y, as_frame)
