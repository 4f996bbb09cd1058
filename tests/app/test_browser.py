"""Where tests in a browser are required, a missing one is an error and not a skip."""

import pytest
from tests.app import browser


def test_a_missing_browser(monkeypatch):
    monkeypatch.setattr(browser, "missing", lambda: "there is none")
    monkeypatch.delenv("REQUIRE_BROWSER", raising=False)
    assert browser.reason_to_skip() == "there is none"
    monkeypatch.setenv("REQUIRE_BROWSER", "1")
    with pytest.raises(RuntimeError, match="there is none"):
        browser.reason_to_skip()
