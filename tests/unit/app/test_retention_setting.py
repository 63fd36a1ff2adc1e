from __future__ import annotations

import pytest

from sitelore.app.settings import operator_settings
from sitelore.model.errors import UsageError


@pytest.mark.parametrize(
    ("text", "seconds"), [("", 0.0), (" ", 0.0), ("90d", 90 * 86_400.0), ("1d12h", 129_600.0), ("1h", 3600.0)]
)
def test_the_retention_period_is_read_as_a_duration(monkeypatch: pytest.MonkeyPatch, text: str, seconds: float) -> None:
    monkeypatch.setenv("SITELORE_RETENTION", text)
    assert operator_settings().retention_s == seconds


def test_no_searches_are_recorded_unless_the_operator_says_how_long_they_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SITELORE_SEARCH_LOG", raising=False)
    assert operator_settings().search_log_s == 0.0
    monkeypatch.setenv("SITELORE_SEARCH_LOG", "30d")
    assert operator_settings().search_log_s == 30 * 86_400.0
    monkeypatch.setenv("SITELORE_SEARCH_LOG", "1m")
    with pytest.raises(UsageError, match=r"SITELORE_SEARCH_LOG.*record nothing"):
        operator_settings()


@pytest.mark.parametrize("text", ["soon", "90", "-1d", "0d", "10m"])
def test_an_invalid_retention_period_is_an_error(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SITELORE_RETENTION", text)
    with pytest.raises(UsageError, match=r"SITELORE_RETENTION.*use "):
        operator_settings()
