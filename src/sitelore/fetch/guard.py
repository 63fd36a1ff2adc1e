"""Which addresses a crawl may talk to.

A page can link anywhere, and a name can resolve to anything, so a crawler that follows blindly is a way into the
network it runs in. Refused are all addresses that are not part of the public internet, and names that mean "here".
Open are the origins a person typed as seeds and what the operator's allowlist names; nothing a site sends opens anything.

The judgement is passed twice: by the URL alone (`judge_url`), and for every resolved address when a connection is
about to be made (`judge_connect`), so that a name that changes its address between the two gains nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from sitelore.model.errors import UsageError
from sitelore.model.url import Url

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# The IANA special-purpose registries, written out: what `ipaddress` calls private differs between Python versions.
_V4 = tuple(
    (IPv4Network(network), name)
    for network, name in (
        ("0.0.0.0/8", "an unspecified"),
        ("10.0.0.0/8", "a private"),
        ("100.64.0.0/10", "a carrier-grade NAT"),
        ("127.0.0.0/8", "a loopback"),
        ("169.254.0.0/16", "a link-local"),
        ("172.16.0.0/12", "a private"),
        ("192.0.0.0/24", "a protocol assignment"),
        ("192.0.2.0/24", "a documentation"),
        ("192.88.99.0/24", "a reserved"),
        ("192.168.0.0/16", "a private"),
        ("198.18.0.0/15", "a benchmarking"),
        ("198.51.100.0/24", "a documentation"),
        ("203.0.113.0/24", "a documentation"),
        ("224.0.0.0/4", "a multicast"),
        ("240.0.0.0/4", "a reserved"),
    )
)
_V6 = tuple(
    (IPv6Network(network), name)
    for network, name in (
        ("::/128", "an unspecified"),
        ("::1/128", "a loopback"),
        ("::/96", "an IPv4-compatible"),
        ("64:ff9b:1::/48", "a local NAT64"),
        ("100::/64", "a discard-only"),
        ("2001::/32", "a Teredo"),
        ("2001::/23", "a protocol assignment"),
        ("2001:db8::/32", "a documentation"),
        ("3fff::/20", "a documentation"),
        ("fc00::/7", "a unique local"),
        ("fe80::/10", "a link-local"),
        ("fec0::/10", "a site-local"),
        ("ff00::/8", "a multicast"),
    )
)
# Addresses that carry an IPv4 address: (network, bits to the right of it).
_CARRIERS = (
    (IPv6Network("::ffff:0:0/96"), 0),
    (IPv6Network("64:ff9b::/96"), 0),
    (IPv6Network("2002::/16"), 80),
)
_GLOBAL_V6 = IPv6Network("2000::/3")

_LOCAL_NAMES = frozenset({"localhost", "localdomain", "local", "internal", "home.arpa", "metadata", "instance-data"})
_LOCAL_SUFFIXES = (".localhost", ".localdomain", ".local", ".internal", ".home.arpa")
_REMEMBERED = 4096


class AddressGuard:
    """Judges addresses. `open_origins` are seed origins as typed; `allow_private` takes HOST, HOST:PORT, CIDR and `any`."""

    def __init__(self, open_origins: Iterable[str] = (), allow_private: Iterable[str] = ()) -> None:
        self._doors: set[tuple[str, int]] = set()
        self._hosts: set[str] = set()
        self._networks: list[Network] = []
        self._anything = False
        self._verdicts: dict[str, str | None] = {}
        for origin in open_origins:
            url = Url.parse(origin)
            if url is None:
                raise UsageError(f"“{origin}” is not an http(s) origin.")
            self._doors.add((url.host, url.port))
        for entry in allow_private:
            self._allow(entry.strip())

    def refuses(self, address: str) -> str | None:
        """Why this host, in any spelling a URL may use, is off limits; None when it is part of the public internet.

        The class alone is judged, whatever is open. A name that does not mean "here" is judged by what it resolves to.
        """
        host = _plain_host(address)
        if host is None:
            return f"“{address}” is not a host."
        literal = _literal(host)
        if literal is None:
            return _why_not_name(host)
        kind = _kind(literal)
        return f"{literal} is {kind}." if kind else None

    def judge_url(self, url: Url) -> str | None:
        """Why this URL must not be fetched, from its text alone: literal addresses and local names. Offline and quick."""
        origin = url.origin
        if origin in self._verdicts:
            return self._verdicts[origin]
        if len(self._verdicts) >= _REMEMBERED:
            self._verdicts.clear()
        host = url.host
        literal = _literal(host)
        reason = self.judge_connect(host, url.port, host) if literal else self._judge_name(host, url.port)
        self._verdicts[origin] = reason
        return reason

    def judge_connect(self, host: str, port: int, ip: str) -> str | None:
        """Why a connection to `ip`, made for `host`:`port` of a URL, must not be opened.

        What is open was opened under a name: another name that leads to the same address is refused.
        """
        address = _literal(ip)
        if address is None:
            return f"“{ip}” is not an address."
        if self._is_open(host, port) or any(address in network for network in self._networks):
            return None
        kind = _kind(address)
        if _literal(host) is None:
            return _why_not_name(host) or (f"{host} resolves to {address}, {kind}." if kind else None)
        return f"{address} is {kind}." if kind else None

    def _judge_name(self, host: str, port: int) -> str | None:
        # With networks opened, what a local name resolves to decides, at connect time.
        if self._is_open(host, port) or self._networks:
            return None
        return _why_not_name(host)

    def _is_open(self, host: str, port: int) -> bool:
        return self._anything or (host, port) in self._doors or host in self._hosts

    def _allow(self, entry: str) -> None:
        if entry == "any":
            self._anything = True
            return
        try:
            self._networks.append(ip_network(entry.strip("[]"), strict=False))
        except ValueError:
            pass
        else:
            return
        url = Url.parse(f"http://{entry}/")
        if url is None or not entry or url.target != "/" or "@" in entry:
            raise UsageError(f"“{entry}” is not HOST, HOST:PORT, a CIDR network or “any”.")
        if url.authority == url.host and not entry.endswith(":80"):
            self._hosts.add(url.host)
        else:
            self._doors.add((url.host, url.port))


def _plain_host(address: str) -> str | None:
    """A host as `Url` writes it, from any spelling: 127.1, 0x7f000001, LOCALHOST., ::1 with or without brackets."""
    text = address.strip()
    if text.count(":") > 1 and not text.startswith("["):
        text = f"[{text}]"
    url = Url.parse(f"http://{text}/")
    return url.host if url else None


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        return None


def _why_not_name(host: str) -> str | None:
    if host in _LOCAL_NAMES or host.endswith(_LOCAL_SUFFIXES):
        return f"{host} is a local name."
    return None


def _kind(address: Address) -> str | None:
    """What keeps an address out of the public internet, as in “127.0.0.1, a loopback address”."""
    if isinstance(address, IPv4Address):
        return next((f"{name} address" for network, name in _V4 if address in network), None)
    for v6, shift in _CARRIERS:
        if address in v6:
            inner = IPv4Address(int(address) >> shift & 0xFFFFFFFF)
            kind = _kind(inner)
            return f"an address that carries {inner}, {kind}" if kind else None
    for v6, name in _V6:
        if address in v6:
            return f"{name} address"
    return None if address in _GLOBAL_V6 else "a reserved address"
