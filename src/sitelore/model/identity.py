"""URL forms that decide whether two URLs are one page. They are compared, never fetched.

`identity` applies the options of a site's settings. `normalize` is the strongest form that is safe to compare by: URLs with one
normal form differ in nothing that servers are known to distinguish. `resolve` resolves a link like a browser.
"""

from __future__ import annotations

import re

from sitelore.model.settings import Identity, QueryForm, SlashForm
from sitelore.model.url import Url, whatwg

_SLASHES = re.compile(r"/{2,}")
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
# Left unchanged by WHATWG in a query or path, though RFC 3986 allows it in neither.
_UNSAFE = re.compile(r"""[\[\]"<>^`{|}\\]""")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d+(?:[/?#]|$))")
_LOCAL = re.compile(r"(file|ftp):(//[^/?#]*)?", re.IGNORECASE)


def identity(url: Url, options: Identity) -> str:
    """The form of `url` under the site's identity options."""
    origin, path, query = url.origin, url.path, url.query
    # Only for the default ports: a server on an explicit port speaks one protocol.
    if options.force_https and url.scheme == "http" and url.port == 80:
        origin = f"https://{url.host}"
    if options.slash is SlashForm.ADD and not path.endswith("/") and "." not in path.rpartition("/")[2]:
        path += "/"
    elif options.slash is SlashForm.STRIP and path != "/":
        path = path.rstrip("/") or "/"
    if options.query is QueryForm.DROP:
        query = ""
    elif options.query is QueryForm.SORT and "&" in query:
        query = "&".join(sorted(query.split("&"), key=_name))
    return f"{origin}{path}?{query}" if query else origin + path


def normalize(raw: str) -> str | None:
    """The normal form of `raw`; None when it is not a URL. A missing scheme is http; `file:` and `ftp:` are accepted.

    In addition to the frontier key: repeated slashes are collapsed, query parameters are sorted by name, those without a name
    are dropped, an empty value equals no value, and every character outside RFC 3986 is escaped.
    """
    text = raw.strip()
    if not text:
        return None
    local = _LOCAL.match(text)
    if local is not None:
        return _normal_file(text, local)
    if _SCHEME.match(text) is None:
        text = f"http://{text}"
    url = Url.parse(text)
    if url is None:
        return None
    path = _SLASHES.sub("/", _escaped(url.path))
    query = _normal_query(url.query)
    normal = Url.parse(f"{url.origin}{path}?{query}" if query else url.origin + path)
    return None if normal is None else str(normal)


def resolve(base: str, raw: str) -> str | None:
    """The URL of the link `raw` on the page `base`, with its fragment; None when it cannot be resolved."""
    return whatwg(raw, base or None)


def _name(parameter: str) -> str:
    return parameter.partition("=")[0]


def _escaped(text: str) -> str:
    text = _BARE_PERCENT.sub("%25", text)
    return _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", text)


def _normal_query(query: str) -> str:
    kept = []
    for parameter in _escaped(query).split("&"):
        name, equals, value = parameter.partition("=")
        if name:
            kept.append(f"{name}={value}" if equals and value else name)
    return "&".join(sorted(kept, key=_name))


def _normal_file(text: str, local: re.Match[str]) -> str | None:
    """`file:/a`, `file:///a` and `ftp://host/a`: dot segments and repeated slashes go, the form of the root stays."""
    parsed = whatwg(f"http://host{_SLASHES.sub('/', text[local.end() :]) or '/'}")
    if parsed is None:
        return None
    return f"{local[0].lower()}{parsed.removeprefix('http://host').partition('#')[0]}"
