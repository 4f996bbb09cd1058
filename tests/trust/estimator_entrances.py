"""The entrances of the estimators: learners, neighbours, classifiers, and those of tables."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from tests.trust.entrances import Entrance
from tests.trust.kinds import (
    REFUSED,
    SAME,
    WORKS,
    choice,
    count,
    flag,
    ignored,
    jobs,
    labels,
    points,
    real,
    rows,
    seed,
    table,
    targets,
    thing,
    weights,
)
from tests.trust.values import DISC, QUERIES, TABLE, TARGETS, WEIGHTS, X, Y, fitted

from cayleyklein import (
    MMC,
    CurvedKNeighborsClassifier,
    CurvedKNeighborsRegressor,
    CurvedLMNN,
    CurvedNeighbors,
)
from cayleyklein.tables import TableClassifier, TableEncoder

PAIRS = np.stack([X[:4], X[8:12]], axis=1)

training_rows = partial(rows, one_row=REFUSED, duplicated=REFUSED)
first_rows = partial(training_rows, one_column_more=WORKS, one_column_less=WORKS)
query = partial(rows, QUERIES, outside=WORKS)
new_table = partial(table, a_column_less=WORKS, columns_in_another_order=WORKS)


def owner(name: str) -> Any:
    return lambda: fitted(name)


# -- parameters, which `fit` looks at -------------------------------------------------------


def of(kind: Any, *data: Any, **fixed: Any) -> Any:
    """Return what makes an estimator and fits it."""
    return lambda **given: kind(**(fixed | given)).fit(*data)


columns = {
    "kinds": thing({"length": "number"}, NONE=WORKS),
    "drop": thing(["width"]),
}

PARAMETERS = [
    Entrance("learning.CurvedLMNN", {
        "n_neighbors": count(3), "geometry": choice("elliptic"), "push": real(0.5, -0.1, 1.1),
        "margin": real(0.1, 0.0, -1.0), "init": choice("identity", an_array="skip", a_list="skip"),
        "n_init": count(1), "n_targets": count(2), "solver": choice("lbfgs"), "max_iter": count(3),
        "tol": real(1e-5, -1.0), "learning_rate": real(0.1, 0.0, -1.0, NONE=WORKS),
        "impostor_interval": count(10), "max_impostors": count(50, NONE=WORKS),
        "n_passes": count(1),
        "n_components": count(2, 3, NONE=WORKS), "alpha": real(0.5, -0.1, 1.1, NONE=WORKS),
        "memory_budget": real(1e9, 0.0, -1.0), "subsample": count(8, 1, NONE=WORKS),
        "random_state": seed(), "n_jobs": jobs(),
        "warm_start": flag(), "callback": thing(lambda progress: None, NONE=WORKS),
        "verbose": flag(),
    }, call=of(CurvedLMNN, X, Y)),
    Entrance("learning.MMC", {
        "max_iter": count(100), "tol": real(1e-2, -1.0), "n_components": count(2, 3, NONE=WORKS),
    }, call=of(MMC, X, Y)),
    Entrance("learning.CurvedKNeighborsClassifier", {
        "n_neighbors": count(3), "geometry": choice("elliptic"),
        "learner": thing(None, NONE=SAME), "metric": thing(None, NONE=SAME),
        "weights": choice("distance"), "algorithm": choice("brute"), "outside": choice("extend"),
        "random_state": seed(), "n_jobs": jobs(),
    }, call=of(CurvedKNeighborsClassifier, X, Y)),
    Entrance("neighbors.CurvedNeighbors", {
        "metric": thing(DISC, NONE=WORKS), "n_neighbors": count(2),
        "radius": real(1.0, -1.0, inf=WORKS), "algorithm": choice("brute"),
        "outside": choice("extend"), "n_jobs": jobs(),
    }, call=of(CurvedNeighbors, X)),
    Entrance("neighbors.CurvedKNeighborsRegressor", {
        "metric": thing(DISC, NONE=WORKS), "n_neighbors": count(2), "weights": choice("distance"),
        "radius": real(1.0, -1.0, inf=WORKS), "algorithm": choice("brute"),
        "outside": choice("extend"), "n_jobs": jobs(),
    }, call=of(CurvedKNeighborsRegressor, X, TARGETS)),
    Entrance("tables.TableEncoder", {
        "max_categories": count(20), **columns,
    }, call=of(TableEncoder, TABLE)),
    Entrance("tables.TableClassifier", {
        "n_neighbors": count(3, len(Y)), "geometry": choice("elliptic"),
        "weights": choice("distance"),
        "max_categories": count(20), **columns, "learn_rows": count(5000), "random_state": seed(),
        "n_jobs": jobs(), "callback": thing(lambda progress: None, NONE=WORKS),
    }, call=of(TableClassifier, TABLE, Y), also_named=("neighbours",)),
]  # fmt: skip

# -- methods --------------------------------------------------------------------------------


def learner_entrances(kind: str, name: str) -> list[Entrance]:
    path = f"learning.{kind}"
    return [
        Entrance(f"{path}.fit", {
            "X": first_rows(X), "y": labels(Y), "sample_weight": weights(WEIGHTS),
        }, owner(name)),
        Entrance(f"{path}.fit_transform", {"X": first_rows(X), "y": labels(Y)}, owner(name)),
        Entrance(f"{path}.transform", {"X": rows(QUERIES)}, owner(name)),
        Entrance(f"{path}.get_feature_names_out", {"input_features": ignored()}, owner(name)),
        Entrance(f"{path}.pair_distance", {
            "pairs": points(PAIRS, one_column_more=REFUSED),
        }, owner(name)),
        Entrance(f"{path}.pair_score", {"pairs": points(PAIRS)}, owner(name)),
    ]  # fmt: skip


def neighbor_entrances(kind: str, name: str) -> list[Entrance]:
    k = count(2, len(X) + 1, NONE=WORKS)
    radius = real(0.5, -1.0, NONE=WORKS, inf=WORKS)
    return [
        Entrance(f"{kind}.kneighbors", {
            "X": query(NONE=WORKS), "n_neighbors": k, "return_distance": flag(True),
        }, owner(name)),
        Entrance(f"{kind}.kneighbors_graph", {
            "X": query(NONE=WORKS), "n_neighbors": k, "mode": choice("distance"),
        }, owner(name)),
        Entrance(f"{kind}.radius_neighbors", {
            "X": query(NONE=WORKS), "radius": radius, "return_distance": flag(True),
            "sort_results": flag(),
        }, owner(name)),
        Entrance(f"{kind}.radius_neighbors_graph", {
            "X": query(NONE=WORKS), "radius": radius, "mode": choice("distance"),
            "sort_results": flag(),
        }, owner(name)),
    ]  # fmt: skip


labelled = partial(training_rows, outside=REFUSED)

METHODS = [
    *learner_entrances("CurvedLMNN", "lmnn"),
    *learner_entrances("MMC", "mmc"),
    *neighbor_entrances("neighbors.CurvedNeighbors", "neighbors"),
    *neighbor_entrances("neighbors.CurvedKNeighborsRegressor", "regressor"),
    *neighbor_entrances("learning.CurvedKNeighborsClassifier", "classifier"),
    Entrance("neighbors.CurvedNeighbors.fit", {
        "X": rows(X, outside=REFUSED), "y": ignored(),
    }, owner("neighbors")),
    Entrance("neighbors.CurvedNeighbors.partial_fit", {
        "X": rows(X, outside=REFUSED), "y": ignored(),
    }, owner("neighbors")),
    *(
        Entrance(f"neighbors.CurvedKNeighborsRegressor.{name}", {
            "X": labelled(X), "y": targets(TARGETS),
        }, owner("regressor"))
        for name in ("fit", "partial_fit")
    ),
    Entrance("neighbors.CurvedKNeighborsRegressor.predict", {
        "X": query(NONE=WORKS),
    }, owner("regressor")),
    Entrance("neighbors.CurvedKNeighborsRegressor.score", {
        "X": training_rows(X, outside=WORKS, NONE=WORKS), "y": targets(TARGETS),
        "sample_weight": weights(WEIGHTS),
    }, owner("regressor")),
    Entrance("learning.CurvedKNeighborsClassifier.fit", {
        "X": labelled(X), "y": labels(Y, one_class=WORKS),
    }, owner("classifier")),
    Entrance("learning.CurvedKNeighborsClassifier.partial_fit", {
        "X": labelled(X), "y": labels(Y, one_class=WORKS, **{"int64_near_2^63": REFUSED}),
        "classes": labels(
            np.unique(Y), NONE=WORKS, one_label_more=SAME, **{"int64_near_2^63": REFUSED}
        ),
    }, owner("classifier")),
    Entrance("learning.CurvedKNeighborsClassifier.predict", {
        "X": query(NONE=WORKS),
    }, owner("classifier")),
    Entrance("learning.CurvedKNeighborsClassifier.predict_proba", {
        "X": query(NONE=WORKS),
    }, owner("classifier")),
    Entrance("learning.CurvedKNeighborsClassifier.score", {
        "X": training_rows(X, outside=WORKS, NONE=WORKS),
        "y": labels(Y, one_class=WORKS, **{"int64_near_2^63": REFUSED}),
        "sample_weight": weights(WEIGHTS),
    }, owner("classifier")),
    Entrance("tables.TableEncoder.fit", {"table": new_table(TABLE), "y": ignored()},
        owner("encoder")),
    Entrance("tables.TableEncoder.fit_transform", {
        "X": new_table(TABLE), "y": ignored(),
    }, owner("encoder"), also_named=("table",)),
    Entrance("tables.TableEncoder.transform", {"table": table(TABLE)}, owner("encoder")),
    Entrance("tables.TableEncoder.unseen", {"table": table(TABLE)}, owner("encoder")),
    Entrance("tables.TableEncoder.get_feature_names_out", {"input_features": ignored()},
        owner("encoder")),
    Entrance("tables.TableEncoder.check_columns", {
        "names": thing(list(TABLE.columns)),
    }, owner("encoder")),
    Entrance("tables.TableClassifier.fit", {"table": new_table(TABLE), "y": labels(Y)},
        owner("table")),
    Entrance("tables.TableClassifier.predict", {"table": table(TABLE)}, owner("table")),
    Entrance("tables.TableClassifier.predict_proba", {"table": table(TABLE)}, owner("table")),
    Entrance("tables.TableClassifier.kneighbors", {
        "table": table(TABLE), "n_neighbors": count(2, len(X) + 1, NONE=WORKS),
    }, owner("table")),
    Entrance("tables.TableClassifier.score", {
        "table": table(TABLE), "y": labels(Y, one_class=WORKS, **{"int64_near_2^63": REFUSED}),
        "sample_weight": weights(WEIGHTS),
    }, owner("table")),
]  # fmt: skip
