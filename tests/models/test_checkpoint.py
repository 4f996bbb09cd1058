import numpy as np
import pytest
from sklearn.datasets import load_iris

from cayleyklein import CurvedLMNN
from cayleyklein.exceptions import InvalidInputError
from cayleyklein.models import Checkpoint

X, Y = load_iris(return_X_y=True)


def fit(**parameters):
    return CurvedLMNN(
        geometry="elliptic", margin=0.1, n_init=1, n_passes=1, random_state=0, **parameters
    )


class PowerCut(Exception):
    pass


def test_a_fit_goes_on_from_the_last_iterate(tmp_path):
    path = tmp_path / "last.npz"
    keep, seen = Checkpoint(path), []

    def watch(progress):
        keep(progress)
        seen.append(progress)
        if progress.iteration == 4:
            raise PowerCut

    with pytest.raises(PowerCut):
        fit(callback=watch).fit(X, Y)
    last = Checkpoint.load(path)
    np.testing.assert_array_equal(last.factor, seen[-1].frame.factor)
    np.testing.assert_array_equal(last.center, seen[-1].frame.center)
    resumed = fit(init=last).fit(X, Y)
    assert resumed.loss_history_[0] < seen[0].loss
    assert resumed.metric_ != last


def test_only_every_so_many_iterations_are_written(tmp_path):
    path = tmp_path / "last.npz"
    frames = []
    keep = Checkpoint(path, every=3)

    def watch(progress):
        keep(progress)
        frames.append(progress.frame)
        return len(frames) == 5

    fit(callback=watch).fit(X, Y)
    np.testing.assert_array_equal(Checkpoint.load(path).factor, frames[2].factor)
    assert [file.name for file in tmp_path.iterdir()] == ["last.npz"]


def test_a_path_that_cannot_be_written_is_refused_before_any_work(tmp_path):
    with pytest.raises(FileNotFoundError, match="no directory"):
        Checkpoint(tmp_path / "missing" / "last.npz")
    with pytest.raises(InvalidInputError, match="every"):
        Checkpoint(tmp_path / "last.npz", every=0)


@pytest.mark.parametrize("content", [b"", b"no archive at all"])
def test_another_file_is_no_checkpoint(tmp_path, content):
    path = tmp_path / "last.npz"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match="no checkpoint"):
        Checkpoint.load(path)
    np.savez(path, factor=np.eye(2))
    with pytest.raises(InvalidInputError, match="no checkpoint"):
        Checkpoint.load(path)
