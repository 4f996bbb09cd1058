"""The five data sets of the paper, shipped with the package."""

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


def load_wine(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load Wine: 178 wines of 3 cultivars, described by 13 chemical measurements.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return the tuple (data, target) instead of a Bunch.
    as_frame : bool, default=False
        Whether to return pandas objects instead of arrays.

    Returns
    -------
    Bunch, or tuple (data, target)
        A Bunch has `data` (178, 13), `target` (178,), `frame`, `feature_names`, `target_names` and
        `DESCR`.

    Examples
    --------
    >>> from cayleyklein.datasets import load_wine
    >>> load_wine().data.shape
    (178, 13)
    """
    return _load("wine", "wine", return_X_y, as_frame)


def load_sonar(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load Sonar: 208 echoes from mines or rocks, each the energy in 60 frequency bands.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return the tuple (data, target) instead of a Bunch.
    as_frame : bool, default=False
        Whether to return pandas objects instead of arrays.

    Returns
    -------
    Bunch, or tuple (data, target)
        A Bunch has `data` (208, 60), `target` (208,), `frame`, `feature_names`, `target_names` and
        `DESCR`.

    Examples
    --------
    >>> from cayleyklein.datasets import load_sonar
    >>> load_sonar().data.shape
    (208, 60)
    """
    return _load("sonar", "sonar", return_X_y, as_frame)


def load_balance(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load Balance: 625 settings of a balance scale, by the side to which it tips.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return the tuple (data, target) instead of a Bunch.
    as_frame : bool, default=False
        Whether to return pandas objects instead of arrays.

    Returns
    -------
    Bunch, or tuple (data, target)
        A Bunch has `data` (625, 4), `target` (625,), `frame`, `feature_names`, `target_names` and
        `DESCR`.

    Examples
    --------
    >>> from cayleyklein.datasets import load_balance
    >>> load_balance().data.shape
    (625, 4)
    """
    return _load("balance", "balance", return_X_y, as_frame)


def load_pima(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load Pima: 768 women with or without diabetes, described by 8 measurements.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return the tuple (data, target) instead of a Bunch.
    as_frame : bool, default=False
        Whether to return pandas objects instead of arrays.

    Returns
    -------
    Bunch, or tuple (data, target)
        A Bunch has `data` (768, 8), `target` (768,), `frame`, `feature_names`, `target_names` and
        `DESCR`.

    Examples
    --------
    >>> from cayleyklein.datasets import load_pima
    >>> load_pima().data.shape
    (768, 8)
    """
    return _load("pima", "pima", return_X_y, as_frame)


def load_vowel(*, return_X_y: bool = False, as_frame: bool = False, speakers: str = "train") -> Any:
    """Load Vowel: utterances of 11 English vowels, described by 10 measurements of the sound.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return the tuple (data, target) instead of a Bunch.
    as_frame : bool, default=False
        Whether to return pandas objects instead of arrays.
    speakers : {"train", "all"}, default="train"
        Whether to return the 528 rows of the training speakers, as the paper uses, or all 990.

    Returns
    -------
    Bunch, or tuple (data, target)
        A Bunch has `data` (n, 10), `target` (n,), `frame`, `feature_names`, `target_names` and
        `DESCR`.

    Examples
    --------
    >>> from cayleyklein.datasets import load_vowel
    >>> load_vowel().data.shape, load_vowel(speakers="all").data.shape
    ((528, 10), (990, 10))
    """
    file = "vowel" if as_choice(speakers, "speakers", ("train", "all")) == "train" else "vowel990"
    return _load("vowel", file, return_X_y, as_frame)
