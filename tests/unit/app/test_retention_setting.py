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


@pytest.mark.parametrize("text", ["soon", "90", "-1d", "0d", "10m"])
def test_an_invalid_retention_period_is_an_error(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SITELORE_RETENTION", text)
    with pytest.raises(UsageError, match=r"SITELORE_RETENTION.*use "):
        operator_settings()
