"""``cayleyklein info``."""

from __future__ import annotations

from collections import Counter

from cayleyklein.cli._console import Console, columns_of_text, with_console
from cayleyklein.cli._options import Model
from cayleyklein.cli._tables import load_table_model
from cayleyklein.tables import TableClassifier

__all__ = ["HELP", "command"]

HELP = """Say what a model is.

Its classes, what it does to which column, and the metric it learned.

Example:

\b
    cayleyklein info flowers.ckm
"""


@with_console
def command(console: Console, model: Model) -> None:
    """Describe a model."""
    fitted = load_table_model(model)
    counts = Counter(fitted.classes_[fitted.labels_].tolist())
    by_class = {name: counts[name] for name in fitted.classes_.tolist()}
    values = {
        "model": str(model),
        "target": getattr(fitted, "target_", None),
        "rows": len(fitted.row_numbers_),
        "classes": by_class,
        "neighbors": fitted.neighbors_.n_neighbors_,
        "columns": [column.to_dict() for column in fitted.encoder_.columns_],
        "learned": vars(fitted.learned_),
    }
    console.result(values, as_text(fitted, by_class, console.verbose))


def as_text(model: TableClassifier, counts: dict[str, int], verbose: bool) -> str:
    """Describe a model in words."""
    learned = model.learned_
    classes = ", ".join(f"{name} ({count:,})" for name, count in counts.items())
    n_used = sum(column.kind != "unused" for column in model.encoder_.columns_)
    facts = [
        ["predicts", f"{getattr(model, 'target_', 'classes')}: {classes}"],
        ["by", f"{model.neighbors_.n_neighbors_} nearest of {len(model.row_numbers_):,} rows"],
        ["metric", f"{learned.describe()} (asked for: {model.geometry})"],
        ["learned from", f"{learned.n_rows:,} rows in {learned.n_iter} iterations"],
        ["columns", f"{n_used}, as {model.encoder_.n_features_out_} numbers"],
    ]
    text = columns_of_text(facts, left=2)
    uses = "\n".join(f"  {column}" for column in model.encoder_.columns_)
    selection = f"\n\n{learned.selection}" if verbose and learned.selection else ""
    return f"{text}\n{uses}{selection}"
