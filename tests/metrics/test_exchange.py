"""A metric as JSON comes back exactly, and a reader with Python's math alone measures the same."""

import json
import math

import numpy as np
import pytest

from cayleyklein import CurvedMetric, FormMetric, MixedMetric, ProductMetric
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.metrics import SphereMetric, metric_from_json, metric_to_json

RNG = np.random.default_rng(0)


def part(curvature):
    return CurvedMetric(
        factor=0.3 * RNG.normal(size=(2, 3)), center=RNG.normal(size=3), curvature=curvature
    )


METRICS = {
    "elliptic": part(0.7),
    "flat": part(0.0),
    "hyperbolic": part(-0.1),
    "product": ProductMetric([part(0.5), part(0.0)], [0.3, 1.7]),
    "mixed": MixedMetric([part(0.5), part(-0.1)], [0.25, 0.75]),
}


def by_the_formulas(text, x, y):
    """The distance as a reader in another language would compute it."""
    told = json.loads(text)
    distances = []
    for each in told["parts"]:
        z, w = (
            [
                sum(a * (p - c) for a, p, c in zip(line, row, each["centre"], strict=True))
                for line in each["factor"]
            ]
            for row in (x, y)
        )
        K = each["K"]
        if K == 0:
            distances.append(math.dist(z, w))
            continue
        pairs = ((z, w), (z, z), (w, w))
        zw, zz, ww = (1 + K * sum(map(math.prod, zip(*pair, strict=True))) for pair in pairs)
        cosine = zw / math.sqrt(zz * ww)
        angle = math.acos(abs(cosine)) if K > 0 else math.acosh(cosine)
        distances.append(angle / math.sqrt(abs(K)))
    if told["kind"] == "ProductMetric":
        total = 0.0
        for each, d, unit in zip(told["parts"], distances, told["units"], strict=True):
            root = math.sqrt(each["K"])
            chord = 2 / root * math.sin(root * d / 2) if root else d
            total += (chord / unit) ** 2
        return math.sqrt(total)
    if told["kind"] == "MixedMetric":
        return sum(w * d for w, d in zip(told["weights"], distances, strict=True))
    return distances[0]


@pytest.mark.parametrize("name", METRICS)
def test_it_comes_back_and_others_can_read_it(name):
    metric = METRICS[name]
    text = metric_to_json(metric)
    again = metric_from_json(text)
    assert type(again) is type(metric)
    rows = np.random.default_rng(1).normal(size=(5, 3))
    np.testing.assert_array_equal(again.pairwise(rows), metric.pairwise(rows))
    found = by_the_formulas(text, rows[0].tolist(), rows[1].tolist())
    assert found == pytest.approx(metric(rows[0], rows[1]), rel=1e-9)


def test_a_form_comes_back():
    metric = FormMetric(np.diag([1.0, 1.0, -1.0]))
    again = metric_from_json(metric_to_json(metric))
    rows = [[0.1, 0.2], [-0.3, 0.4]]
    np.testing.assert_array_equal(again.pairwise(rows), metric.pairwise(rows))


def test_a_sphere_comes_back():
    metric = SphereMetric(curvature=0.3)
    again = metric_from_json(metric_to_json(metric))
    assert again([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]) == metric([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "other", "version": 1}'])
def test_other_texts_are_refused(text):
    with pytest.raises(InvalidInputError, match="no metric"):
        metric_from_json(text)
    with pytest.raises(InvalidInputError, match="Expected a metric"):
        metric_to_json(text)
