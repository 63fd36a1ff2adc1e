"""Parses the URLs that users type, such as seeds (start URLs), or explains in one sentence what to type instead.

A URL may contain credentials (`https://user:password@host/`). They are no part of a `Url`, and error messages leave them out.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from urllib.parse import unquote

from sitelore.model.errors import BadUrl
from sitelore.model.url import Url, whatwg

# `localhost:8000` and `example.com:8080/x` are hosts with a port; `mailto:a@b`, `C:\x` and `file:/x` are not.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?!\d{1,5}(?:[/?#]|$))")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_BARE = re.compile(r"(\[[^\]]*\]|[^/?#:@]+)(?::(\d+))?(?=[/?#]|$)")
_ADDRESS = re.compile(r"[0-9.]+|0[xX][0-9A-Fa-f]+|\[.*\]")
_NO_COLON = re.compile(r"(https?)//?(?=[^/])", re.IGNORECASE)
_CREDENTIALS = re.compile(r"[^\s/'\"@]*:[^\s/'\"@]*@")
_SIMILAR = 0.7
_FILE = re.compile(r"\.(?:x?html?|xml|txt|pdf|docx?|json|jsonl|ya?ml|csv)$", re.IGNORECASE)


def refuse_credentials(text: str) -> None:
    """Raise `BadUrl` for a URL with credentials: they would not be stored. The message does not repeat them."""
    if user_url_credentials(text) is not None:
        raise BadUrl("the URL contains credentials; set auth for the site instead (in the API: PUT /site-access).")


def parse_user_url(text: str) -> Url:
    """The URL meant by `text`. A host without scheme gets https, or http for local hosts and addresses. Raises BadUrl."""
    try:
        return _parse(text.strip())
    except BadUrl as problem:
        raise BadUrl(_CREDENTIALS.sub("…@", str(problem))) from None


def user_url_credentials(text: str) -> tuple[str, str, str] | None:
    """Origin, user and password of a URL that contains credentials; None when it contains none or is not valid."""
    url = Url.parse(text.strip())
    href = whatwg(text.strip())
    if url is None or href is None:
        return None
    authority = href.partition("://")[2].partition("/")[0]
    credentials, at, _ = authority.rpartition("@")
    user, _, password = credentials.partition(":")
    return (url.origin, unquote(user), unquote(password)) if at else None


def _parse(typed: str) -> Url:
    if not typed:
        raise BadUrl("no URL was given; use one such as https://example.com/.")
    if any(character.isspace() for character in typed):
        raise BadUrl(f"{typed!r} has a space in it; give one URL per argument, and write a space in a path as %20.")
    if not typed.isprintable():
        raise BadUrl(f"{typed!r} has a control character in it; type the URL again.")
    with_scheme = typed if _has_web_scheme(typed) else _with_scheme(typed)
    url = Url.parse(with_scheme)
    if url is None:
        raise BadUrl(f"{typed!r} is not a URL that can be fetched; check its host name and port.")
    return url


def _has_web_scheme(typed: str) -> bool:
    if _DRIVE.match(typed):
        raise _file_path(typed)
    match = _SCHEME.match(typed)
    if match is None:
        return False
    scheme = match[1].lower()
    if scheme == "file":
        raise _file_path(typed)
    if scheme not in {"http", "https"}:
        raise BadUrl(f"{typed!r} has the scheme {scheme}; {_supported_scheme(scheme, typed[match.end() :])}")
    if not typed[match.end() :].startswith("//"):
        raise BadUrl(f"{typed!r} has no // after {scheme}:; write {scheme}://{typed[match.end() :].lstrip('/')}.")
    return True


def _supported_scheme(scheme: str, rest: str) -> str:
    """What to type instead of a scheme that is not supported."""
    similar = get_close_matches(scheme, ("https", "http"), 1, _SIMILAR)
    if similar and rest.startswith("//"):
        return f"did you mean {similar[0]}:{rest}?"
    return "only http and https can be crawled."


def _with_scheme(typed: str) -> str:
    if (match := _NO_COLON.match(typed)) is not None:
        raise BadUrl(f"{typed!r} has no : after {match[1]}; did you mean {match[1]}://{typed[match.end() :]}?")
    typed = typed.removeprefix("//")
    if typed.startswith(("/", ".", "~")) or "\\" in typed:
        raise _file_path(typed)
    match = _BARE.match(typed)
    if match is None:
        raise BadUrl(f"{typed!r} is not a URL; type one such as https://example.com/.")
    host, port = match[1], match[2]
    is_local = "." not in host or host.endswith(".localhost") or _ADDRESS.fullmatch(host) is not None
    if port is None and host != "localhost" and (_FILE.search(host) or ("." not in host and _FILE.search(typed))):
        raise _file_path(typed)
    scheme = {"80": "http", "443": "https"}.get(port or "", "http" if is_local else "https")
    return f"{scheme}://{typed}"


def _file_path(typed: str) -> BadUrl:
    return BadUrl(
        f"{typed!r} is a file path, not a URL; read one file with `sitelore extract`, or serve the folder "
        "(python3 -m http.server) and crawl http://localhost:8000/."
    )
