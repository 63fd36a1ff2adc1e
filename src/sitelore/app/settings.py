"""Settings of the operator, read from environment variables. Settings of one crawl are in `model/settings.py`."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from sitelore.fetch.browser.chromium import BrowserExecutable, find_browser
from sitelore.model.access import NO_ACCESS, Access, Proxies
from sitelore.model.errors import UsageError
from sitelore.model.settings import BUILT_IN_ALONE, Redaction, parse_duration

_MAX_READERS = 64
_MAX_DEFAULT_READERS = 4
_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_MAX_SITES = 256
_MAX_CONCURRENCY = 4096
_MIN_TOKEN_CHARS = 16
_MIN_KEY_CHARS = 32
_MIN_S, _MAX_S = 0.05, 86_400.0
_MIN_RETENTION_S = 3600.0
_BLOB_CREDENTIALS = {"key_id": "AWS_ACCESS_KEY_ID", "secret": "AWS_SECRET_ACCESS_KEY", "region": "AWS_REGION"}


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """Read from `SITELORE_*` variables."""

    readers: int = 1
    """`SITELORE_READERS`: extraction processes; without it, `default_readers`."""
    tokens: tuple[str, ...] = field(default=(), repr=False)
    """`SITELORE_TOKENS`: bearer tokens for the API; without any, it listens on loopback only."""
    rate_limits: str = ""
    """`SITELORE_RATE_LIMITS`: changes of the default limits of the API (`model/platform/rate_limits.py`), or `off`."""
    open_signup: bool = False
    """`SITELORE_OPEN_SIGNUP`: whether anyone may register a tenant (1) or not (0, the default)."""
    allow_private: tuple[str, ...] = ()
    """`SITELORE_ALLOW_PRIVATE`: private addresses that crawls of the API may reach: HOST, HOST:PORT, CIDR, `any`."""
    sites_at_once: int = 4
    """`SITELORE_SITES_AT_ONCE`: sites that one process crawls at the same time."""
    database_url: str = field(default="", repr=False)
    """`SITELORE_DATABASE_URL`: Postgres. Requires Redis and blobs too; many processes can then share the work."""
    redis_url: str = field(default="", repr=False)
    """`SITELORE_REDIS_URL`: Redis or Valkey, for rate limits, notifications and events."""
    blobs_url: str = field(default="", repr=False)
    """`SITELORE_BLOBS_URL`: `s3://bucket/prefix?endpoint=…` or `file:///directory`."""
    blobs_secrets: dict[str, str] = field(default_factory=dict, repr=False)
    """`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, where the URL does not contain them."""
    concurrency: int = 64
    """`SITELORE_CONCURRENCY`: concurrent requests of one worker process, over all its runs."""
    lease_s: float = 60.0
    """`SITELORE_LEASE_S`: how long a URL stays leased to a worker that has died."""
    patience_s: float = 300.0
    """`SITELORE_PATIENCE_S`: how long to retry while the database or the blob store is unavailable."""
    start_s: float = 60.0
    """`SITELORE_START_S`: how long a worker or a server waits for the services at its start."""
    upkeep_s: float = 1.0
    """`SITELORE_UPKEEP_S`: seconds between two maintenance cycles."""
    embeddings: str = ""
    """`SITELORE_EMBEDDINGS`: the embedding model (`index/embeddings/factory.py`); empty: the local model, if installed."""
    embeddings_key: str = field(default="", repr=False)
    """`SITELORE_EMBEDDINGS_KEY`: the API key of the embedding endpoint."""
    model: str = field(default="", repr=False)
    """`SITELORE_MODEL`: the language model that may suggest words for fixes (`app/audit/suggestions.py`); empty: none."""
    model_key: str = field(default="", repr=False)
    """`SITELORE_MODEL_KEY`: the API key of its endpoint."""
    reranker: str = ""
    """`SITELORE_RERANKER`: the model that re-ranks the best results (`index/embeddings/factory.py`); empty: none."""
    reranker_key: str = field(default="", repr=False)
    """`SITELORE_RERANKER_KEY`: the API key of its endpoint."""
    vectors: str = field(default="", repr=False)
    """`SITELORE_VECTORS`: the vector store (`store/vectors/qdrant.py`); empty or `database`: the database."""
    vectors_key: str = field(default="", repr=False)
    """`SITELORE_VECTORS_KEY`: the API key of the vector store."""
    secrets_keys: tuple[str, ...] = field(default=(), repr=False)
    """`SITELORE_SECRETS_KEY`: encrypts stored secrets of webhooks; further keys, after the first, only decrypt."""
    backups: Path | None = None
    """`SITELORE_BACKUPS`: a directory with backups, which the operator is shown."""
    retention_s: float = 0.0
    """`SITELORE_RETENTION`: ended runs and versions of pages that are older are deleted; 0: everything is kept."""

    search_log_s: float = 0.0
    """`SITELORE_SEARCH_LOG`: how long search queries are kept for audits; 0: none are recorded."""

    redaction: Redaction = BUILT_IN_ALONE
    """`SITELORE_SECRET_RULES`, a file of additional rules for secrets, and `SITELORE_REDACTION_KEY`."""
    access: Access = field(default=NO_ACCESS, repr=False)
    """`SITELORE_ACCESS`, a file with access to sites; `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`."""

    @property
    def is_scaled(self) -> bool:
        """Whether Postgres, Redis and an object store are configured."""
        return bool(self.database_url)


def installed_browser(*, has_window: bool = False) -> BrowserExecutable | None:
    """The browser named by `SITELORE_BROWSER`, or the first one found in the usual places."""
    name, downloads = os.environ.get("SITELORE_BROWSER", "").strip(), os.environ.get("PLAYWRIGHT_BROWSERS_PATH", "").strip()
    return find_browser(name, downloads, has_window=has_window)


def has_display() -> bool:
    """Whether a program of this process can open a window."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def operator_settings() -> OperatorSettings:
    """Read the settings from the environment."""
    urls = {name: os.environ.get(f"SITELORE_{name.upper()}", "").strip() for name in ("database_url", "redis_url", "blobs_url")}
    if any(urls.values()) and not all(urls.values()):
        missing = ", ".join(f"SITELORE_{name.upper()}" for name, url in urls.items() if not url)
        raise UsageError(
            f"SITELORE_DATABASE_URL, SITELORE_REDIS_URL and SITELORE_BLOBS_URL must be set together; missing: {missing}"
        )
    if urls["database_url"] and not urls["database_url"].startswith(("postgresql://", "postgres://", "postgresql+")):
        raise UsageError("SITELORE_DATABASE_URL: only Postgres is supported (use postgresql://user:password@host/database)")
    return OperatorSettings(
        **urls,
        blobs_secrets={name: text for name, variable in _BLOB_CREDENTIALS.items() if (text := os.environ.get(variable, ""))},
        concurrency=_number("SITELORE_CONCURRENCY", 64, _MAX_CONCURRENCY),
        lease_s=_seconds("SITELORE_LEASE_S", 60.0),
        patience_s=_seconds("SITELORE_PATIENCE_S", 300.0),
        start_s=_seconds("SITELORE_START_S", 60.0),
        upkeep_s=_seconds("SITELORE_UPKEEP_S", 1.0),
        readers=_number("SITELORE_READERS", default_readers(), _MAX_READERS),
        tokens=_tokens(),
        rate_limits=os.environ.get("SITELORE_RATE_LIMITS", "").strip(),
        open_signup=_switch("SITELORE_OPEN_SIGNUP"),
        allow_private=_words("SITELORE_ALLOW_PRIVATE"),
        sites_at_once=_number("SITELORE_SITES_AT_ONCE", 4, _MAX_SITES),
        embeddings=os.environ.get("SITELORE_EMBEDDINGS", "").strip(),
        embeddings_key=_key("SITELORE_EMBEDDINGS_KEY"),
        model=os.environ.get("SITELORE_MODEL", "").strip(),
        model_key=_key("SITELORE_MODEL_KEY"),
        reranker=os.environ.get("SITELORE_RERANKER", "").strip(),
        reranker_key=_key("SITELORE_RERANKER_KEY"),
        vectors=os.environ.get("SITELORE_VECTORS", "").strip(),
        vectors_key=_key("SITELORE_VECTORS_KEY"),
        secrets_keys=_secrets_keys(),
        backups=Path(folder) if (folder := os.environ.get("SITELORE_BACKUPS", "").strip()) else None,
        retention_s=_retention("SITELORE_RETENTION", "keep everything"),
        search_log_s=_retention("SITELORE_SEARCH_LOG", "record nothing"),
        redaction=operator_redaction(),
        access=operator_access(),
    )


def environment_value(name: str) -> str:
    """A variable that the user names in a configuration file or that names such a file; empty if it is not set."""
    return os.environ.get(name, "").strip()


def environment_sources() -> list[str]:
    """The names of the variables that are set and configure the program; their values may be secret."""
    proxies = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}
    names = (name for name, value in os.environ.items() if value.strip())
    return sorted(name for name in names if name.startswith("SITELORE_") or name.upper() in proxies)


def process_environment() -> dict[str, str]:
    """The environment for programs that this process starts."""
    return dict(os.environ)


def default_readers(quota_file: Path = _CGROUP_QUOTA) -> int:
    """As many extraction processes as there are CPUs for this process, 1 to 4: the crawl itself takes a fraction of one CPU.

    Counts the CPUs of the affinity mask and, in a container, of the cgroup's quota.
    """
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):  # no cgroup, or `max`: no quota
        quota, period = map(int, quota_file.read_text(encoding="ascii").split())
        cpus = min(cpus, quota // period)
    return max(1, min(cpus, _MAX_DEFAULT_READERS))


def operator_access() -> Access:
    """The operator's access to sites: the file that `SITELORE_ACCESS` names, and the proxies of the environment."""
    proxies = Proxies(
        http=_proxy("http_proxy"),
        https=_proxy("https_proxy"),
        bypass=tuple((os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or "").replace(",", " ").split()),
        bypass_loopback=True,
    )
    access = Access(proxies=proxies)
    name = os.environ.get("SITELORE_ACCESS", "").strip()
    if not name:
        return access
    from sitelore.app.access import read_access_file  # noqa: PLC0415 needed only for a file

    return access.with_other(read_access_file(name))


def _proxy(name: str) -> tuple[str, ...]:
    """The proxy of an environment variable in lower or upper case, or that for all URLs."""
    values = (os.environ.get(variable, "").strip() for variable in (name, name.upper(), "all_proxy", "ALL_PROXY"))
    return tuple(value for value in values if value)[:1]


def operator_redaction() -> Redaction:
    """The operator's redaction rules, the key of the hashes that mark equal secrets, and the secrets of their access.

    Key and secrets are never shown.
    """
    return replace(_redaction_rules(), secrets=operator_access().secrets())


def _redaction_rules() -> Redaction:
    name, key = os.environ.get("SITELORE_SECRET_RULES", "").strip(), os.environ.get("SITELORE_REDACTION_KEY", "").encode()
    if key and len(key) < _MIN_TOKEN_CHARS:
        raise UsageError(f"SITELORE_REDACTION_KEY has fewer than {_MIN_TOKEN_CHARS} characters; use a longer one")
    if not name:
        return Redaction(key=key)
    from sitelore.extract.redaction.redactor import checked_rules  # noqa: PLC0415 needed only for additional rules

    try:
        text = Path(name).read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise UsageError(f"SITELORE_SECRET_RULES: cannot read {name}: {problem.strerror}") from problem
    except UnicodeDecodeError:
        raise UsageError(f"SITELORE_SECRET_RULES: {name} is not UTF-8 text") from None
    return Redaction(rules=checked_rules(text, name), key=key)


def _number(name: str, default: int, maximum: int) -> int:
    text = os.environ.get(name, str(default))
    if not text.isdecimal() or not 1 <= int(text) <= maximum:
        raise UsageError(f"invalid {name} {text!r} (use a number from 1 to {maximum})")
    return int(text)


def _seconds(name: str, default: float) -> float:
    text = os.environ.get(name, str(default))
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not _MIN_S <= seconds <= _MAX_S:
        raise UsageError(f"invalid {name} {text!r} (use a number of seconds from {_MIN_S} to {_MAX_S:.0f})")
    return seconds


def _retention(name: str, when_empty: str) -> float:
    text = os.environ.get(name, "").strip()
    retention_s = parse_duration(text, name) if text else 0.0
    if text and retention_s < _MIN_RETENTION_S:
        raise UsageError(f"invalid {name} {text!r} (use at least 1h, or leave it empty to {when_empty})")
    return retention_s


def _switch(name: str) -> bool:
    text = os.environ.get(name, "").strip() or "0"
    if text not in {"0", "1"}:
        raise UsageError(f"invalid {name} {text!r} (use 1 or 0)")
    return text == "1"


def _words(name: str) -> tuple[str, ...]:
    return tuple(os.environ.get(name, "").replace(",", " ").split())


def _tokens() -> tuple[str, ...]:
    """Bearer tokens. An error message never contains one."""
    tokens = _words("SITELORE_TOKENS")
    if any(len(token) < _MIN_TOKEN_CHARS or not token.isascii() or not token.isprintable() for token in tokens):
        raise UsageError(
            f"SITELORE_TOKENS has a token of fewer than {_MIN_TOKEN_CHARS} plain ASCII characters; use a longer one"
        )
    return tokens


def _secrets_keys() -> tuple[str, ...]:
    """Keys of stored secrets. An error message never contains one."""
    keys = _words("SITELORE_SECRETS_KEY")
    if any(len(key) < _MIN_KEY_CHARS for key in keys):
        raise UsageError(
            f"SITELORE_SECRETS_KEY has a key of fewer than {_MIN_KEY_CHARS} characters; make one with `openssl rand -hex 32`"
        )
    return keys


def _key(name: str) -> str:
    """An API key. An error message never contains it."""
    key = os.environ.get(name, "").strip()
    if not key.isascii() or any(not "!" <= sign <= "~" for sign in key):
        raise UsageError(f"{name} has characters that are not allowed in an HTTP header; use printable ASCII without spaces")
    return key
