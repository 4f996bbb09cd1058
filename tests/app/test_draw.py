"""Colours and markers: classes are told apart by everyone, and marks stand out."""

import itertools

import numpy as np
import pytest

from cayleyklein.app._state import plural
from cayleyklein.plotting.shapes import MARKERS, PALETTE, class_look

# Machado, Oliveira and Fernandes (2009), full deuteranopia, on linear RGB
DEUTERANOPIA = np.array(
    [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ]
)
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(color):
    c = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    t = TO_XYZ @ np.clip(rgb, 0, 1) / [0.9505, 1.0, 1.089]
    f = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(a, b):
    high, low = sorted((float(TO_XYZ[1] @ linear(c)) for c in (a, b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", PALETTE)
def test_marks_stand_out_from_the_paper(theme):
    palette = PALETTE[theme]
    for name, color in palette.items():
        if name != "paper":
            assert contrast(color, palette["paper"]) >= 3, name


@pytest.mark.parametrize("theme", PALETTE)
@pytest.mark.parametrize("seen", [np.eye(3), DEUTERANOPIA], ids=["all cones", "deuteranopia"])
@pytest.mark.parametrize("n", [11, 20])
def test_classes_are_told_apart(theme, seen, n):
    for i, j in itertools.combinations(range(n), 2):
        if class_look(i)[1] != class_look(j)[1]:
            continue
        a, b = (lab(seen @ linear(PALETTE[theme][class_look(c)[0]])) for c in (i, j))
        assert np.linalg.norm(a - b) > 10, (i, j)


def test_regions_of_one_colour_differ_in_strength():
    assert len({class_look(i)[::2] for i in range(20)}) == 20
    assert len(MARKERS) == 8


@pytest.mark.parametrize("theme", PALETTE)
def test_no_geometry_has_the_colour_of_a_class(theme):
    palette = PALETTE[theme]
    classes = [name for name in palette if name.startswith("class")]
    for tone in ("elliptic", "flat", "hyperbolic", "learned", "gold"):
        for name in classes:
            gap = lab(linear(palette[tone])) - lab(linear(palette[name]))
            assert np.linalg.norm(gap) > 15, (tone, name)


def test_singular_and_plural():
    assert [plural(n, "point") for n in (0, 1, 2)] == ["0 points", "1 point", "2 points"]
    assert (plural(1, "class"), plural(3, "class")) == ("1 class", "3 classes")
