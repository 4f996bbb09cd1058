"""Labels stand clear of each other, of marks and of lines, wherever there is room."""

import numpy as np
import pytest

from cayleyklein.plotting.labels import Label, LabelFrame, place_labels
from cayleyklein.plotting.shapes import WORD_HEIGHT, Shape

WHOLE = LabelFrame(np.array([[-1.0, -1.0], [1.0, 1.0]]), 600.0)


def boxes(words, frame=WHOLE):
    found = []
    for word in words:
        middle = frame.to_pixels(word.xy)[0] + word.shift[0]
        half = WORD_HEIGHT * np.array([0.25 * len(word.text[0]), 0.5])
        found.append((middle - half, middle + half))
    return found


def overlap(one, other):
    size = np.minimum(one[1], other[1]) - np.maximum(one[0], other[0])
    return float(np.maximum(size, 0).prod())


@pytest.mark.parametrize("width", [300.0, 600.0])
def test_labels_of_near_points_do_not_touch(width):
    frame = LabelFrame(WHOLE.window, width)
    places = np.random.default_rng(0).uniform(-0.3, 0.3, (9, 2))
    labels = [Label(*pair) for pair in zip("ABCDEFGHI", ["ink"] * 9, places[:, None], strict=True)]
    words = place_labels(labels, [Shape("marks", places, size=5.0)], frame)
    assert [word.text[0] for word in words] == list("ABCDEFGHI")
    found = boxes(words, frame)
    for i, box in enumerate(found):
        assert all(overlap(box, other) == 0 for other in found[:i])


def test_a_label_leaves_a_line_and_the_edge():
    line = Shape("line", np.array([[-1.0, 0.02], [1.0, 0.06]]), size=2.0)
    (word,) = place_labels([Label("a", "ink", np.zeros((1, 2)))], [line], WHOLE)
    (low, high), y = boxes([word])[0], WHOLE.to_pixels(line.xy)[:, 1]
    assert high[1] < y.min() or low[1] > y.max()
    corner = Label("long name", "ink", np.array([[0.98, 0.98]]))
    (low, high) = boxes(place_labels([corner], [], WHOLE))[0]
    assert (low >= 0).all()
    assert (high <= 600).all()


def test_the_best_place_is_taken_where_nothing_is_in_the_way():
    anchors = np.array([[0.2, 0.3], [-0.5, 0.5]])
    (word,) = place_labels([Label("x", "gold", anchors)], [], WHOLE)
    assert word.xy.tolist() == [[0.2, 0.3]]
    assert word.color == "gold"
    blocked = Shape("marks", anchors[:1], size=40.0)
    (word,) = place_labels([Label("x", "gold", anchors)], [blocked], WHOLE)
    assert word.xy.tolist() == [[-0.5, 0.5]]
    assert place_labels([Label("x", "ink", np.empty((0, 2)))], [], WHOLE) == []
