from __future__ import annotations

from pathlib import Path

import pytest

from sitelore.app.settings import operator_settings
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


def test_three_urls_make_an_app_on_servers_and_no_secret_shows(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_an_invalid_duration_gives_a_one_line_error(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SITELORE_LEASE_S", text)
    with pytest.raises(UsageError, match="SITELORE_LEASE_S"):
        operator_settings()


RULES = """
[[rule]]
name = "acme-token"
hint = 'acme_[0-9a-f]{4}'
exact = 'acme_[0-9a-f]{24}'
found = ["acme_0123456789abcdef01234567"]
"""


def test_rules_for_secrets_and_the_key_of_their_hashes_come_by_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(RULES)
    monkeypatch.setenv("SITELORE_SECRET_RULES", str(rules))
    monkeypatch.setenv("SITELORE_REDACTION_KEY", "a key of some length")
    settings = operator_settings()
    assert [rule.name for rule in settings.redaction.rules] == ["acme-token"]
    assert settings.redaction.key == b"a key of some length"
    assert "some length" not in repr(settings)


@pytest.mark.parametrize(
    ("rules", "key", "sentence"),
    [
        (None, "a key of some length", "cannot read"),
        (b"\xff\xfe", "", "is not UTF-8 text"),
        (b"[[rule]]\nname = 'x'", "", "'hint' is missing"),
        (RULES.encode(), "short", "SITELORE_REDACTION_KEY has fewer than 16 characters"),
    ],
)
def test_invalid_rules_give_a_one_line_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rules: bytes | None, key: str, sentence: str
) -> None:
    if rules is not None:
        (tmp_path / "rules.toml").write_bytes(rules)
    monkeypatch.setenv("SITELORE_SECRET_RULES", str(tmp_path / "rules.toml"))
    monkeypatch.setenv("SITELORE_REDACTION_KEY", key)
    with pytest.raises(UsageError, match=sentence) as refused:
        operator_settings()
    assert "short" not in str(refused.value).replace("a longer one", "")


def test_a_vector_store_is_named_with_its_key_and_the_key_never_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert operator_settings().vectors == ""
    monkeypatch.setenv("SITELORE_VECTORS", " qdrant:http://127.0.0.1:6333#docs ")
    monkeypatch.setenv("SITELORE_VECTORS_KEY", "pa55word")
    settings = operator_settings()
    assert (settings.vectors, settings.vectors_key) == ("qdrant:http://127.0.0.1:6333#docs", "pa55word")
    assert "pa55word" not in repr(settings)
    monkeypatch.setenv("SITELORE_VECTORS_KEY", "pa55\nword")
    with pytest.raises(UsageError, match="SITELORE_VECTORS_KEY has characters") as error:
        operator_settings()
    assert "pa55" not in str(error.value)
