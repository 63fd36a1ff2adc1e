"""Address guard: decides which addresses a crawl may connect to (protection against SSRF).

A page can link anywhere and a name can resolve to anything, so a crawler without a guard gives sites access to the network
it runs in. The guard refuses every address outside the public internet, and local host names. Exceptions are the origins
that a person typed as seeds and the entries of the operator's allowlist; nothing that a site sends adds an exception.

Every URL is checked twice: by its text (`judge_url`), and by each resolved address right before connecting
(`judge_connect`), so DNS rebinding gains nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from sitelore.model.errors import UsageError
from sitelore.model.url import Url

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# The IANA special-purpose registries, written out: `ipaddress.is_private` differs between Python versions.
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
# IPv6 addresses that embed an IPv4 address: (network, bits to the right of it).
_EMBEDDING = (
    (IPv6Network("::ffff:0:0/96"), 0),
    (IPv6Network("64:ff9b::/96"), 0),
    (IPv6Network("2002::/16"), 80),
)
_GLOBAL_V6 = IPv6Network("2000::/3")

_LOCAL_NAMES = frozenset({"localhost", "localdomain", "local", "internal", "home.arpa", "metadata", "instance-data"})
_LOCAL_SUFFIXES = (".localhost", ".localdomain", ".local", ".internal", ".home.arpa")
_MAX_CACHED_VERDICTS = 4096


class AddressGuard:
    """Checks addresses. `open_origins` are seed origins as typed; `allow_private` takes HOST, HOST:PORT, CIDR and `any`."""

    def __init__(self, open_origins: Iterable[str] = (), allow_private: Iterable[str] = ()) -> None:
        self._allowed_ports: set[tuple[str, int]] = set()
        self._allowed_hosts: set[str] = set()
        self._allowed_networks: list[Network] = []
        self._allow_any = False
        self._cache: dict[str, str | None] = {}
        for origin in open_origins:
            url = Url.parse(origin)
            if url is None:
                raise UsageError(f"“{origin}” is not an http(s) origin.")
            self._allowed_ports.add((url.host, url.port))
        for entry in allow_private:
            self._add_exception(entry.strip())

    def refuses(self, address: str) -> str | None:
        """Why this host, in any spelling a URL may use, is not public; None when it is, or when it is a name to resolve.

        Exceptions do not count here.
        """
        host = _normalize_host(address)
        if host is None:
            return f"“{address}” is not a host."
        literal = _literal(host)
        if literal is None:
            return _local_name_reason(host)
        special = _special_class(literal)
        return f"{literal} is {special}." if special else None

    def judge_url(self, url: Url) -> str | None:
        """Why this URL must not be fetched, by its text alone: literal addresses and local names. Makes no DNS lookup."""
        origin = url.origin
        if origin in self._cache:
            return self._cache[origin]
        if len(self._cache) >= _MAX_CACHED_VERDICTS:
            self._cache.clear()
        host = url.host
        literal = _literal(host)
        reason = self.judge_connect(host, url.port, host) if literal else self._judge_name(host, url.port)
        self._cache[origin] = reason
        return reason

    def judge_connect(self, host: str, port: int, ip: str) -> str | None:
        """Why a connection to `ip` for a URL with `host` and `port` must not be opened; None when it may.

        An exception applies to the name it was made for: another name that resolves to the same address is refused.
        """
        address = _literal(ip)
        if address is None:
            return f"“{ip}” is not an address."
        if self._is_allowed(host, port) or any(address in network for network in self._allowed_networks):
            return None
        special = _special_class(address)
        if _literal(host) is None:
            return _local_name_reason(host) or (f"{host} resolves to {address}, {special}." if special else None)
        return f"{address} is {special}." if special else None

    def is_exempt(self, host: str, port: int) -> bool:
        """Whether this host may have any address, because a person named it."""
        return self._is_allowed(host, port)

    def _judge_name(self, host: str, port: int) -> str | None:
        # With allowed networks, the resolved address decides at connect time.
        if self._is_allowed(host, port) or self._allowed_networks:
            return None
        return _local_name_reason(host)

    def _is_allowed(self, host: str, port: int) -> bool:
        return self._allow_any or (host, port) in self._allowed_ports or host in self._allowed_hosts

    def _add_exception(self, entry: str) -> None:
        if entry == "any":
            self._allow_any = True
            return
        try:
            self._allowed_networks.append(ip_network(entry.strip("[]"), strict=False))
        except ValueError:
            pass
        else:
            return
        url = Url.parse(f"http://{entry}/")
        if url is None or not entry or url.target != "/" or "@" in entry:
            raise UsageError(f"“{entry}” is not HOST, HOST:PORT, a CIDR network or “any”.")
        if url.authority == url.host and not entry.endswith(":80"):
            self._allowed_hosts.add(url.host)
        else:
            self._allowed_ports.add((url.host, url.port))


def _normalize_host(address: str) -> str | None:
    """A host in the form of `Url`, from any spelling: 127.1, 0x7f000001, LOCALHOST., ::1 with or without brackets."""
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


def _local_name_reason(host: str) -> str | None:
    if host in _LOCAL_NAMES or host.endswith(_LOCAL_SUFFIXES):
        return f"{host} is a local name."
    return None


def _special_class(address: Address) -> str | None:
    """The special-purpose class of an address, as in “127.0.0.1, a loopback address”; None when it is public."""
    if isinstance(address, IPv4Address):
        return next((f"{name} address" for network, name in _V4 if address in network), None)
    for v6, shift in _EMBEDDING:
        if address in v6:
            inner = IPv4Address(int(address) >> shift & 0xFFFFFFFF)
            special = _special_class(inner)
            return f"an address that embeds {inner}, {special}" if special else None
    for v6, name in _V6:
        if address in v6:
            return f"{name} address"
    return None if address in _GLOBAL_V6 else "a reserved address"
