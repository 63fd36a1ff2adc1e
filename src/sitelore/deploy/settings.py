"""What the operator decides by environment, as opposed to what a person asks of one crawl (`model/settings.py`)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from sitelore.fetch.browser.chromium import BrowserExecutable, find_browser
from sitelore.model.errors import UsageError
from sitelore.model.redaction import BUILT_IN_ALONE, Redaction

_MAX_READERS = 64
_MAX_SITES = 256
_MAX_CONCURRENCY = 4096
_TOKEN_CHARS = 16
_LEAST_S, _MOST_S = 0.05, 86_400.0
_SECRETS = {"key_id": "AWS_ACCESS_KEY_ID", "secret": "AWS_SECRET_ACCESS_KEY", "region": "AWS_REGION"}


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """Read from `SITELORE_*` variables."""

    readers: int = 1
    """`SITELORE_READERS`: processes that read documents."""
    tokens: tuple[str, ...] = field(default=(), repr=False)
    """`SITELORE_TOKENS`: bearer tokens that open the API; without any it is for this machine alone."""
    allow_private: tuple[str, ...] = ()
    """`SITELORE_ALLOW_PRIVATE`: private addresses that crawls started by the API may reach: HOST, HOST:PORT, CIDR, `any`."""
    sites_at_once: int = 4
    """`SITELORE_SITES_AT_ONCE`: sites that one process crawls side by side."""
    database_url: str = field(default="", repr=False)
    """`SITELORE_DATABASE_URL`: Postgres. With it, Redis and blobs are needed too, and many processes may work together."""
    redis_url: str = field(default="", repr=False)
    """`SITELORE_REDIS_URL`: Redis or Valkey, for pace, signals and events."""
    blobs_url: str = field(default="", repr=False)
    """`SITELORE_BLOBS_URL`: `s3://bucket/prefix?endpoint=…` or `file:///directory`."""
    blobs_secrets: dict[str, str] = field(default_factory=dict, repr=False)
    """`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, where the URL does not say them."""
    concurrency: int = 64
    """`SITELORE_CONCURRENCY`: requests that one worker process has under way, over all its runs."""
    lease_s: float = 60.0
    """`SITELORE_LEASE_S`: how long a URL stays with a worker that is not heard of."""
    patience_s: float = 300.0
    """`SITELORE_PATIENCE_S`: how long a database or a blob store that is away is waited for."""
    start_s: float = 60.0
    """`SITELORE_START_S`: how long a worker or a server that is started waits for the other servers to come up."""
    upkeep_s: float = 1.0
    """`SITELORE_UPKEEP_S`: between two maintenance cycles."""
    embeddings: str = ""
    """`SITELORE_EMBEDDINGS`: who makes vectors (`index/embedding.py`); nothing: the local model where it is installed."""
    embeddings_key: str = field(default="", repr=False)
    """`SITELORE_EMBEDDINGS_KEY`: what an endpoint wants to see."""
    vectors: str = field(default="", repr=False)
    """`SITELORE_VECTORS`: who compares vectors (`store/qdrant_rest.py`); nothing, or `database`: the database."""
    vectors_key: str = field(default="", repr=False)
    """`SITELORE_VECTORS_KEY`: what a vector store wants to see."""

    redaction: Redaction = BUILT_IN_ALONE
    """`SITELORE_SECRET_RULES`, a file of rules for secrets on top of the built-in ones, and `SITELORE_REDACTION_KEY`."""

    @property
    def is_scaled(self) -> bool:
        """Whether the house is built on servers."""
        return bool(self.database_url)


def house_browser() -> BrowserExecutable | None:
    """The browser of this machine: `SITELORE_BROWSER` names it, else it is looked for in the usual places."""
    return find_browser(os.environ.get("SITELORE_BROWSER", "").strip(), os.environ.get("PLAYWRIGHT_BROWSERS_PATH", "").strip())


def operator_settings() -> OperatorSettings:
    """The environment as it is now."""
    urls = {name: os.environ.get(f"SITELORE_{name.upper()}", "").strip() for name in ("database_url", "redis_url", "blobs_url")}
    if any(urls.values()) and not all(urls.values()):
        missing = ", ".join(f"SITELORE_{name.upper()}" for name, url in urls.items() if not url)
        raise UsageError(f"to work on servers, SITELORE_DATABASE_URL, _REDIS_URL and _BLOBS_URL are needed; missing: {missing}")
    return OperatorSettings(
        **urls,
        blobs_secrets={name: text for name, variable in _SECRETS.items() if (text := os.environ.get(variable, ""))},
        concurrency=_number("SITELORE_CONCURRENCY", 64, _MAX_CONCURRENCY),
        lease_s=_seconds("SITELORE_LEASE_S", 60.0),
        patience_s=_seconds("SITELORE_PATIENCE_S", 300.0),
        start_s=_seconds("SITELORE_START_S", 60.0),
        upkeep_s=_seconds("SITELORE_UPKEEP_S", 1.0),
        readers=_number("SITELORE_READERS", 1, _MAX_READERS),
        tokens=_tokens(),
        allow_private=_words("SITELORE_ALLOW_PRIVATE"),
        sites_at_once=_number("SITELORE_SITES_AT_ONCE", 4, _MAX_SITES),
        embeddings=os.environ.get("SITELORE_EMBEDDINGS", "").strip(),
        embeddings_key=_key("SITELORE_EMBEDDINGS_KEY"),
        vectors=os.environ.get("SITELORE_VECTORS", "").strip(),
        vectors_key=_key("SITELORE_VECTORS_KEY"),
        redaction=operator_redaction(),
    )


def operator_redaction() -> Redaction:
    """What the operator adds to redaction: own rules, and the key by which equal secrets can be told. It is never shown."""
    name, key = os.environ.get("SITELORE_SECRET_RULES", "").strip(), os.environ.get("SITELORE_REDACTION_KEY", "").encode()
    if key and len(key) < _TOKEN_CHARS:
        raise UsageError(f"SITELORE_REDACTION_KEY has fewer than {_TOKEN_CHARS} characters; make a longer one")
    if not name:
        return Redaction(key=key)
    from sitelore.extract.redaction.secret_rules import checked_rules  # noqa: PLC0415 few have rules of their own

    try:
        text = Path(name).read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise UsageError(f"SITELORE_SECRET_RULES: cannot read {name}: {problem.strerror}") from problem
    except UnicodeDecodeError:
        raise UsageError(f"SITELORE_SECRET_RULES: {name} is not UTF-8 text") from None
    return Redaction(rules=checked_rules(text, name), key=key)


def _number(name: str, default: int, most: int) -> int:
    text = os.environ.get(name, str(default))
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise UsageError(f"{name} is {text!r}; it takes a number from 1 to {most}")
    return int(text)


def _seconds(name: str, default: float) -> float:
    text = os.environ.get(name, str(default))
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not _LEAST_S <= seconds <= _MOST_S:
        raise UsageError(f"{name} is {text!r}; it takes a number of seconds from {_LEAST_S} to {_MOST_S:.0f}")
    return seconds


def _words(name: str) -> tuple[str, ...]:
    return tuple(os.environ.get(name, "").replace(",", " ").split())


def _tokens() -> tuple[str, ...]:
    """Never shown, not even when one is wrong."""
    tokens = _words("SITELORE_TOKENS")
    if any(len(token) < _TOKEN_CHARS or not token.isascii() or not token.isprintable() for token in tokens):
        raise UsageError(f"SITELORE_TOKENS has a token of fewer than {_TOKEN_CHARS} plain ASCII characters; make a longer one")
    return tokens


def _key(name: str) -> str:
    """Never shown, not even when it is wrong."""
    key = os.environ.get(name, "").strip()
    if not key.isascii() or any(not "!" <= sign <= "~" for sign in key):
        raise UsageError(f"{name} has characters that no header can carry")
    return key
