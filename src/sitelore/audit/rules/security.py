"""Rules about security: encryption, published secrets and addresses, response headers."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import urlsplit

from sitelore.audit.page import AuditPage
from sitelore.audit.rule import AppliesTo, Group, Hit, Limits, Needs, RuleTable, listed
from sitelore.audit.site import SECURITY_HEADERS, Site
from sitelore.model.audit.findings import Severity
from sitelore.model.url import Url

TABLE = RuleTable()

_PRIVATE_NAMES = (".local", ".internal", ".localhost", ".lan", ".intranet")
_STAGING = re.compile(r"(?:^|[.-])(?:staging|stage|preview|dev|test|qa|uat)\d*[.-]", re.IGNORECASE)
_VERSION = re.compile(r"/\s*v?\d|\d+\.\d+")
_SESSION = re.compile(r"sess|sid\b|auth|token|login|remember", re.IGNORECASE)
PERSONAL_KINDS = frozenset({"card", "iban", "us-ssn", "de-tax-id", "fr-nir", "es-dni", "it-cf", "nl-bsn", "pl-pesel", "br-cpf"})
_CONTACTS = frozenset({"email", "phone"})
_PUBLIC_KEYS = frozenset({"google-key", "mapbox-token", "posthog-key"})
"""Rules that also match keys which are meant for browsers."""
_UNNAMED_SECRETS = frozenset(
    {
        "api-key-header", "assigned-secret", "authorization", "basic-auth", "bearer-token", "command-password",
        "connection-password", "curl-user", "jwt", "netrc-password", "private-key", "service-key", "url-parameter",
        "url-password", "xml-secret",
    }
)  # fmt: skip
"""Rules that recognise a secret by its surroundings: manuals have examples of them."""


@lru_cache(4_096)
def is_private_host(host: str) -> bool:
    """Whether a host name or address is reachable only within a computer or a network."""
    name = host.lower().strip("[]").rstrip(".")
    if name == "localhost" or name.endswith(_PRIVATE_NAMES):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return (address.is_private or address.is_loopback or address.is_unspecified) and not _is_example(address)


_EXAMPLE_NETS = tuple(map(ipaddress.ip_network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")))


def _is_example(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an address is reserved for documentation (RFC 5737, RFC 3849)."""
    return any(address in net for net in _EXAMPLE_NETS)


@TABLE.page(
    "mixed-active",
    Group.SECURITY,
    Severity.ERROR,
    identity=("element", "url"),
    title="Script, style, frame or form over http",
    explanation=(
        "The page is on https, but loads this over http. Browsers block it, so that something on the page does not work."
    ),
    fix="Use the https address, or remove the element.",
)
def _mixed_active(page: AuditPage, _: Limits) -> Iterator[Hit]:
    for each in page.facts.insecure:
        if each.is_active and each.tag != "form" and not is_private_host(urlsplit(each.url).hostname or ""):
            yield Hit({"element": each.tag, "url": each.url})


@TABLE.page(
    "mixed-passive",
    Group.SECURITY,
    Severity.WARNING,
    identity=("element", "url"),
    title="Image, audio or video over http",
    explanation="The page is on https, but loads this over http. Browsers warn of it or block it.",
    fix="Use the https address, or remove the element.",
)
def _mixed_passive(page: AuditPage, _: Limits) -> Iterator[Hit]:
    for each in page.facts.insecure:
        if not each.is_active:
            yield Hit({"element": each.tag, "url": each.url})


@TABLE.page(
    "page-over-http",
    Group.SECURITY,
    Severity.ERROR,
    needs=(),
    title="Page without encryption",
    explanation="The page is delivered over http. Others can read and change it on its way; browsers call it not secure.",
    fix="Redirect http to https for the whole site, and send Strict-Transport-Security.",
)
def _page_over_http(page: AuditPage, _: Limits) -> Iterator[Hit]:
    if page.url.scheme == "http" and not is_private_host(page.url.host):
        yield Hit({"url": str(page.url)})


@TABLE.page(
    "form-insecure",
    Group.SECURITY,
    Severity.ERROR,
    needs=(Needs.FACTS, Needs.DOCUMENT),
    identity=("form",),
    title="Form without encryption",
    explanation="What people enter into the form is sent over http, where others can read it.",
    fix="Send the form to an https address, from an https page.",
)
def _form_insecure(page: AuditPage, _: Limits) -> Iterator[Hit]:
    for each in page.facts.insecure:
        if each.tag == "form":
            yield Hit({"form": each.url, "action": each.url})
    if page.url.scheme == "http" and not is_private_host(page.url.host):
        for form in page.content.forms:
            yield Hit({"form": str(form.get("selector", "")), "action": str(form.get("action", ""))})


@TABLE.site(
    "private-address-published",
    Group.SECURITY,
    Severity.ERROR,
    (Needs.LINKS, Needs.DOCUMENT),
    identity=("target",),
    title="Address of an internal or test system",
    explanation=(
        "The page links or embeds an address that only works within a computer or network, or a test system of this site."
    ),
    fix="Use the public address.",
)
def _private_address_published(site: Site, _: Limits) -> Iterator[Hit]:
    known: dict[str, bool] = {}

    def is_internal(url: str) -> bool:
        authority = Url.trusted(url).authority if url.startswith(("http:", "https:")) else ""
        if authority not in known:
            known[authority] = bool(authority) and _is_internal(authority, site)
        return known[authority]

    public = {page.url: page for page in site.html_pages if not is_private_host(page.url.host)}
    if not public:
        return
    for link in site.graph.links_to(is_internal):
        # An address that the text shows is an instruction for readers, such as http://localhost:8000 in a manual.
        if link.source in public and Url.trusted(link.target).authority not in link.text:
            yield Hit({"target": link.target, "text": link.text}, link.source)
    for page in public.values():
        for url in (*(image.url for image in page.images), *page.files):
            if is_internal(url):
                yield Hit({"target": url, "text": ""}, page.url)


def _is_internal(authority: str, site: Site) -> bool:
    host = Url.trusted(f"https://{authority}/").host
    if is_private_host(host):
        return True
    base = site.start.url.host.removeprefix("www.") if site.start is not None else ""
    return bool(base) and host.endswith(f".{base}") and authority not in site.authorities and bool(_STAGING.search(host))


@TABLE.page(
    "secret-published",
    Group.SECURITY,
    Severity.ERROR,
    AppliesTo.KEPT,
    needs=(),
    identity=("kind",),
    title="Secret on a public page",
    explanation="The page contains what looks like a key, token or password. It was redacted in everything that is stored.",
    fix="Revoke the secret first, then remove it from the page. If it is an invented example, ignore this finding.",
)
def _secret_published(page: AuditPage, _: Limits) -> Iterator[Hit]:
    for kind, count in page.redactions.items():
        if kind not in PERSONAL_KINDS | _CONTACTS and count:
            severity = Severity.NOTICE if kind in _PUBLIC_KEYS else Severity.WARNING if kind in _UNNAMED_SECRETS else None
            yield Hit({"kind": kind, "count": count}, severity=severity)


@TABLE.page(
    "personal-data-published",
    Group.SECURITY,
    Severity.WARNING,
    AppliesTo.KEPT,
    needs=(),
    identity=("kind",),
    title="Personal data on a public page",
    explanation="The page contains what looks like the number of a payment card, a bank account or an identity document.",
    fix="Remove or mask it, unless it is meant for the public.",
)
def _personal_data_published(page: AuditPage, _: Limits) -> Iterator[Hit]:
    for kind, count in page.redactions.items():
        if kind in PERSONAL_KINDS and count:
            yield Hit({"kind": kind, "count": count})


@TABLE.site(
    "headers-missing",
    Group.SECURITY,
    Severity.NOTICE,
    (Needs.HEADERS, Needs.GRAPH),
    title="Security headers are missing",
    explanation="Responses lack headers that make browsers protect readers against common attacks. Reported once for the site.",
    fix="Set the headers in the configuration of the server.",
)
def _headers_missing(site: Site, _: Limits) -> Iterator[Hit]:
    known = [page for page in site.html_pages if page.security_headers is not None and not is_private_host(page.url.host)]
    counts: Counter[str] = Counter()
    for page in known:
        missing = set(SECURITY_HEADERS) - (page.security_headers or frozenset())
        counts.update(missing if page.url.scheme == "https" else missing - {"strict-transport-security"})
    # Once a header is on most pages, the others are exceptions of the server, not a missing configuration.
    headers = {name: counts[name] for name in SECURITY_HEADERS if counts[name] > len(known) / 2}
    if headers:
        yield Hit({"missing": headers, "pages": len(known)}, site.start_url)


@TABLE.site(
    "server-version-shown",
    Group.SECURITY,
    Severity.NOTICE,
    (Needs.HEADERS, Needs.GRAPH),
    identity=("value",),
    title="Version of the server is shown",
    explanation="A header names the version of the server's software, which helps attackers. Reported once for the site.",
    fix="Configure the server to leave the version out.",
)
def _server_version_shown(site: Site, _: Limits) -> Iterator[Hit]:
    values = Counter(value for page in site.html_pages for value in page.servers if not is_private_host(page.url.host))
    for value, count in sorted(values.items()):
        if _VERSION.search(value):
            yield Hit({"value": value, "pages": count}, site.start_url)


@TABLE.site(
    "cookie-flags",
    Group.SECURITY,
    Severity.WARNING,
    (Needs.HEADERS, Needs.GRAPH),
    identity=("cookie",),
    title="Cookie without protection",
    explanation="A cookie lacks Secure (on https), SameSite, or, for a session, HttpOnly, so that others may read or abuse it.",
    fix="Set the missing flags.",
)
def _cookie_flags(site: Site, _: Limits) -> Iterator[Hit]:
    pages: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for page in site.html_pages:
        for value in page.cookies:
            name, flags = value.split("=", 1) if "=" in value else ("", value)
            if missing := tuple(_missing_flags(name, flags.lower(), page.url.scheme)):
                pages.setdefault((name, missing), []).append(str(page.url))
    for (name, missing), urls in pages.items():
        yield Hit({"cookie": name, "missing": list(missing), "count": len(urls), **listed("pages", urls)}, site.start_url)


def _missing_flags(name: str, flags: str, scheme: str) -> Iterator[str]:
    if scheme == "https" and "secure" not in flags:
        yield "Secure"
    if "httponly" not in flags and _SESSION.search(name):
        yield "HttpOnly"
    if "samesite" not in flags:
        yield "SameSite"
