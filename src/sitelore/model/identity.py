"""When two URLs are one page: the forms that identity may take after a fetch. None of them is ever fetched.

`identity` applies what a site's settings ask for. `normalize` is the strongest form that is still safe to compare by: two
URLs with one normal form differ in nothing that servers are known to tell apart. `resolve` is what a browser makes of a link.
"""

from __future__ import annotations

import re

from sitelore.model.settings import Identity, QueryForm, SlashForm
from sitelore.model.url import Url, whatwg

_SLASHES = re.compile(r"/{2,}")
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
# What WHATWG leaves as it is in a query or path, though RFC 3986 allows it in neither.
_UNSAFE = re.compile(r"""[\[\]"<>^`{|}\\]""")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d+(?:[/?#]|$))")
_LOCAL = re.compile(r"(file|ftp):(//[^/?#]*)?", re.IGNORECASE)


def identity(url: Url, options: Identity) -> str:
    """The page that `url` is, as the site's own options see it."""
    origin, path, query = url.origin, url.path, url.query
    # Only where both default ports meant the same door: a port of its own speaks one protocol.
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
    """The normal form of `raw`, None when it is no address. A missing scheme is http; `file:` and `ftp:` pass too.

    Beyond the frontier key: runs of slashes are one, query parameters are sorted by name, those without a name are gone, an
    empty value is no value, and every character outside RFC 3986 is escaped.
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
    """The address that the link `raw` has on the page `base`, fragment and all; None when it has none."""
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
    """`file:/a`, `file:///a` and `ftp://host/a`: dot segments and double slashes go, the way the root is written stays."""
    parsed = whatwg(f"http://host{_SLASHES.sub('/', text[local.end() :]) or '/'}")
    if parsed is None:
        return None
    return f"{local[0].lower()}{parsed.removeprefix('http://host').partition('#')[0]}"
