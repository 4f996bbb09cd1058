"""One server for all tests of the explorer."""

import pytest
from tests.app.browser import served


@pytest.fixture(scope="session")
def server_log(tmp_path_factory):
    return tmp_path_factory.mktemp("server") / "log"


@pytest.fixture(scope="session")
def address(server_log):
    pytest.importorskip("tornado")
    with server_log.open("w") as log, served(log) as at:
        yield at
