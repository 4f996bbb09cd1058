"""How far to trust a model of the learning page: odd rows, wrong labels, likely classes."""

from copy import copy
from typing import Any

from cayleyklein._typing import AnyArray, Floats, Ints
from cayleyklein.app import _state
from cayleyklein.exceptions import NotRepresentableError

LEVEL = 0.95  # of sets of classes and of intervals


def likely_words(model: Any, X: Floats, is_regression: bool) -> list[str]:
    """Return the set of classes of each row, or its interval, that holds the true one."""
    if is_regression:
        ends = zip(*model.predict_interval(X, LEVEL), strict=True)
        return [f"{_state.in_figures(low)} to {_state.in_figures(high)}" for low, high in ends]
    held = model.predict_set(X, LEVEL)
    return [" or ".join(map(str, model.classes_[one])) for one in held]


def strangeness_words(strangeness: float) -> str:
    """Say how unlike the training rows a row is."""
    how = "unlike"
    if strangeness <= 0.99:  # 5 % of new rows like the fitted ones exceed 0.95, and 1 % this
        how = "like" if strangeness <= 0.95 else "unusual among"
    share = f"{strangeness:.1%} of them are less unusual"
    return f"It is {how} the training rows: {share}."


def change_words(encoder: Any, model: Any, cells: Any) -> str:
    """Say what would have to change for a row, a table of one, to have another class."""
    of_cells = copy(model)  # it was fitted on encoded rows
    of_cells.encoder_ = encoder
    try:
        found = of_cells.counterfactual(cells)
    except NotRepresentableError:
        return "No change of its columns was found that gives it another class."
    changes = [
        f"{name} from {_in_words(before)} to {_in_words(after)}"
        for name, (before, after) in found.changes.items()
    ]
    *some, last = changes
    listed = f"{', '.join(some)} and {last}" if some else last
    how = "No smaller change exists" if found.is_exact else "The smallest change that was found"
    size = f"{_state.in_figures(found.size)} standard deviations"
    return f"It would be {found.prediction} with {listed}. {how}; it is {size}."


def _in_words(cell: Any) -> str:
    return _state.in_figures(cell) if isinstance(cell, float) else str(cell)[:40]


def suspicious_rows(model: Any, train: Ints, is_regression: bool) -> dict[str, Any]:
    """Return the training rows whose class or number looks wrong, by their numbers in the table."""
    found = model.suspicious()
    most = 20  # rows that are told

    def worded(targets: AnyArray) -> list[str]:
        targets = targets[:most]
        return [_state.in_figures(one) if is_regression else str(one) for one in targets]

    said = f"{len(found):,} of {_state.plural(len(train), 'training row')}"
    if len(found) > most:
        said += ", of which these look most wrong"
    numbers = train[found.rows[:most]].tolist()
    sure = [f"{one:.0%}" for one in found.sure[:most]]
    rows = zip(numbers, worded(found.given), worded(found.likely), sure, strict=True)
    return {"said": said, "rows": [list(row) for row in rows]}
