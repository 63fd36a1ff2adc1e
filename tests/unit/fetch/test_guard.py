"""Addresses are classified offline; nothing here connects anywhere."""

from __future__ import annotations

import json

import pytest
from tests.support.corpora import corpus
from tests.unit.fetch.raw_server import url_of

from sitelore.fetch.guard import AddressGuard
from sitelore.model.errors import UsageError


def test_every_address_of_the_corpus_is_classified_as_it_must_be() -> None:
    cases = json.loads(corpus("ssrf_addresses.json").read_text(encoding="utf-8"))
    guard = AddressGuard()
    assert [host for host in cases["must_block"] if guard.refuses(host) is None] == []
    assert [host for host in cases["must_allow"] if guard.refuses(host) is not None] == []


BLOCKED = {
    "loopback": "127.0.0.1 127.255.255.254 127.1 127.0.1 2130706433 0x7f.0.0.1 0x7f000001 0x7F.1 0177.0.0.1 017700000001",
    "this host and its network": "0.0.0.0 0 0x0 0.1.2.3 0.0.0.0.",
    "private": "10.0.0.0 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 192.168.255.255 0xa.1 167772161 012.0.0.1",
    "shared by carriers (RFC 6598)": "100.64.0.1 100.127.255.255",
    "link-local, cloud metadata": "169.254.0.1 169.254.169.254 0xa9fea9fe 2852039166 169.254.169.254. 169.254.43518",
    "documentation, benchmarks": "192.0.2.1 198.51.100.7 203.0.113.9 198.18.0.1 198.19.255.255",
    "protocol assignments": "192.0.0.1 192.0.0.170",
    "multicast, reserved, broadcast": "224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 4294967295",
    "IPv6 loopback and unspecified": "[::1] [::] ::1 :: [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001]",
    "IPv6 private, link-local, site-local, multicast": "[fc00::1] [fd12:3456::1] [fe80::1] [febf::1] [fec0::1] [ff02::1]",
    "IPv4 mapped into IPv6": "[::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:10.1.2.3] [::ffff:0:0] [0:0:0:0:0:ffff:c0a8:1]",
    "IPv4 compatible": "[::127.0.0.1] [::7f00:1]",
    "NAT64": "[64:ff9b::127.0.0.1] [64:ff9b::a00:1] [64:ff9b::a9fe:a9fe] [64:ff9b:1::1]",
    "6to4": "[2002:7f00:1::] [2002:a00:1::1] [2002:a9fe:a9fe::]",
    "Teredo": "[2001::1] [2001:0:7f00:1::]",
    "IPv6 documentation, discard": "[2001:db8::1] [3fff::1] [100::1]",
    "local names": "localhost LOCALHOST localhost. x.localhost printer.local db.internal a.home.arpa",
    "other digits": "①②⑦.① \uff11\uff12\uff17.\uff11",
}
ALLOWED = {
    "public": "1.1.1.1 8.8.8.8 93.184.216.34 11.0.0.1 172.15.255.255 172.32.0.1 192.167.255.255 192.169.0.1 100.128.0.1",
    "public in other notations": "134744072 0x08080808 010.8.8.8 8.8.2056 8.8.8.8.",
    "IPv6": "[2606:4700::1111] [2a00:1450:4001::200e] [2400:cb00::1]",
    "public inside IPv6": "[::ffff:8.8.8.8] [64:ff9b::808:808] [2002:808:808::1]",
    "names that only look private": "10.0.0.1.example.com localhost.example.com internal.example local.example",
}


@pytest.mark.parametrize("kind", BLOCKED)
def test_every_spelling_of_an_address_that_is_not_public_is_refused(kind: str) -> None:
    assert [host for host in BLOCKED[kind].split() if AddressGuard().refuses(host) is None] == []


@pytest.mark.parametrize("kind", ALLOWED)
def test_addresses_at_the_edge_of_blocked_ranges_are_allowed(kind: str) -> None:
    guard = AddressGuard()
    assert {host: reason for host in ALLOWED[kind].split() if (reason := guard.refuses(host)) is not None} == {}


@pytest.mark.parametrize(
    "authority",
    ["example.com@127.0.0.1", "example.com:80@10.0.0.1", "a:b@[::1]", "8.8.8.8@2130706433", "user%40example.com@localhost",
     "127.0.0.1:80", "127.0.0.1.:443", "%31%32%37.0.0.1", "0x7f.1:8080", "LocalHost:3000"],
)  # fmt: skip
def test_the_host_after_user_and_before_port_decides(authority: str) -> None:
    for url in (
        f"http://{authority}/",
        f"https://{authority}/x?y",
        f"http://{authority}#@example.com",
        f"http:\\\\{authority}\\",
    ):
        assert AddressGuard().judge_url(url_of(url)) is not None, url


@pytest.mark.parametrize("authority", ["127.0.0.1@example.com", "localhost:80@example.com", "example.com:80"])
def test_a_private_address_as_user_or_in_the_path_does_not_matter(authority: str) -> None:
    for url in (f"http://{authority}/", f"http://{authority}/http://127.0.0.1/", f"http://{authority}/?to=http://localhost/"):
        assert AddressGuard().judge_url(url_of(url)) is None, url


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.9.8.7", "169.254.169.254", "0.0.0.0", "::1", "fd00::7", "::ffff:10.0.0.1", "64:ff9b::a00:1"]
)
def test_a_public_name_that_resolves_to_such_an_address_is_refused(address: str) -> None:
    reason = AddressGuard(["http://127.0.0.1:8000"]).judge_connect("innocent.example", 8000, address)
    assert reason is not None
    assert reason.startswith("innocent.example resolves to ")


@pytest.mark.parametrize(
    "host",
    ["①②⑦.⓪.⓪.①", "[0:0:0:0:0:ffff:7f00:1]", "2001:0:53aa:64c::1", "64:ff9b:1::1", "fec0::1", "100::1", "1::1", "2001:db8::1",
     "wiki.local", "metadata", "a.home.arpa", "0", "192.88.99.1", "2002:0a00:0001::1", "not a host"],
)  # fmt: skip
def test_other_spellings_of_private_addresses_are_refused_with_a_message(host: str) -> None:
    reason = AddressGuard().refuses(host)
    assert reason is not None
    assert reason.endswith(".")


@pytest.mark.parametrize(
    "host", ["example.com", "wiki", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:0808:0808::", "127.0.0.1.nip.io"]
)
def test_public_addresses_and_ordinary_names_are_not_refused_offline(host: str) -> None:
    assert AddressGuard().refuses(host) is None


@pytest.mark.parametrize(
    "url", ["http://127.1/", "http://0x7f000001:8000/a", "http://[::1]/", "http://localhost/", "http://a.internal/"]
)
def test_a_url_is_refused_by_its_text_alone(url: str) -> None:
    assert AddressGuard().judge_url(url_of(url)) is not None


@pytest.mark.parametrize("url", ["http://example.com/", "http://wiki/", "https://93.184.216.34/"])
def test_a_url_with_an_ordinary_name_is_checked_when_it_is_resolved(url: str) -> None:
    assert AddressGuard().judge_url(url_of(url)) is None


def test_a_seed_origin_is_allowed_and_its_other_ports_are_not() -> None:
    guard = AddressGuard(["http://localhost:8000", "http://127.0.0.1:9000/start"])
    assert guard.judge_url(url_of("http://localhost:8000/deep?x=1")) is None
    assert guard.judge_url(url_of("http://127.0.0.1:9000/")) is None
    assert guard.judge_connect("localhost", 8000, "127.0.0.1") is None
    for closed in ("http://localhost:8001/", "http://localhost/", "http://127.0.0.1:8000/", "http://[::1]:8000/"):
        assert guard.judge_url(url_of(closed)) is not None, closed


def test_an_exception_does_not_apply_to_another_name_with_the_same_address() -> None:
    guard = AddressGuard(["http://localhost:8000", "http://127.0.0.1:8000"])
    reason = guard.judge_connect("rebind.example", 8000, "127.0.0.1")
    assert reason == "rebind.example resolves to 127.0.0.1, a loopback address."


def test_a_single_label_host_is_checked_by_its_resolved_address() -> None:
    assert AddressGuard().judge_connect("wiki", 80, "10.1.2.3") is not None
    assert AddressGuard().judge_connect("wiki", 80, "93.184.216.34") is None
    assert AddressGuard(["http://wiki/"]).judge_connect("wiki", 80, "10.1.2.3") is None


def test_the_allowlist_takes_a_host_a_host_and_port_a_network_or_any() -> None:
    host = AddressGuard(allow_private=["wiki"])
    assert host.judge_connect("wiki", 8080, "10.0.0.1") is None
    assert host.judge_connect("blog", 8080, "10.0.0.1") is not None
    guard = AddressGuard(allow_private=["localhost:8000"])
    assert guard.judge_url(url_of("http://localhost:8000/")) is None
    assert guard.judge_url(url_of("http://localhost:8001/")) is not None
    network = AddressGuard(allow_private=["10.0.0.0/8", "127.0.0.1"])
    assert network.judge_connect("anything.example", 80, "10.9.9.9") is None
    assert network.judge_connect("anything.example", 80, "192.168.0.1") is not None
    assert network.judge_url(url_of("http://localhost/")) is None  # decided at connect time
    assert network.judge_connect("localhost", 80, "127.0.0.1") is None
    assert network.judge_connect("localhost", 80, "127.0.0.2") is not None
    anything = AddressGuard(allow_private=["any"])
    assert anything.judge_url(url_of("http://169.254.169.254/")) is None


def test_an_explicit_port_80_allows_port_80_alone() -> None:
    guard = AddressGuard(allow_private=["wiki:80"])
    assert guard.judge_connect("wiki", 80, "10.0.0.1") is None
    assert guard.judge_connect("wiki", 81, "10.0.0.1") is not None


def test_an_invalid_address_is_refused() -> None:
    assert AddressGuard().judge_connect("example.com", 80, "fe80::1%eth0") is not None
    assert AddressGuard().judge_connect("example.com", 80, "nonsense") is not None


@pytest.mark.parametrize("entry", ["", "http://wiki", "wiki/path", "user@wiki", "10.0.0.0/99"])
def test_a_nonsense_entry_is_a_usage_error(entry: str) -> None:
    with pytest.raises(UsageError):
        AddressGuard(allow_private=[entry])


def test_the_verdict_cache_is_bounded() -> None:
    guard = AddressGuard()
    for number in range(10_000):
        assert guard.judge_url(url_of(f"http://host{number}.example/")) is None
    assert len(guard._cache) <= 4096
