from __future__ import annotations

import pytest

from sitelore.deploy.settings import operator_settings
from sitelore.model.errors import UsageError

SERVERS = {
    "SITELORE_DATABASE_URL": "postgresql://me:pa55word@db/sitelore",
    "SITELORE_REDIS_URL": "redis://:pa55word@cache/0",
    "SITELORE_BLOBS_URL": "s3://bucket",
}


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*SERVERS, "SITELORE_LEASE_S", "SITELORE_READERS"):
        monkeypatch.delenv(name, raising=False)


def test_without_servers_everything_is_in_one_directory() -> None:
    assert not operator_settings().is_scaled


def test_three_urls_make_a_house_on_servers_and_no_secret_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, url in SERVERS.items():
        monkeypatch.setenv(name, url)
    monkeypatch.setenv("SITELORE_LEASE_S", "7.5")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "pa55word")
    settings = operator_settings()
    assert settings.is_scaled
    assert settings.lease_s == 7.5
    assert settings.blobs_secrets["secret"] == "pa55word"
    assert "pa55word" not in repr(settings)


@pytest.mark.parametrize("missing", SERVERS)
def test_a_url_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    for name, url in SERVERS.items():
        if name != missing:
            monkeypatch.setenv(name, url)
    with pytest.raises(UsageError, match=missing) as problem:
        operator_settings()
    assert "pa55word" not in str(problem.value)


@pytest.mark.parametrize("text", ["", "soon", "0", "-1", "nan", "inf", "1e9"])
def test_a_length_of_time_that_is_none_is_one_sentence(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SITELORE_LEASE_S", text)
    with pytest.raises(UsageError, match="SITELORE_LEASE_S"):
        operator_settings()
