"""Addresses are classified offline; nothing here connects anywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.fetch.raw_server import url_of

from sitelore.fetch.guard import AddressGuard
from sitelore.model.errors import UsageError


def test_every_address_of_the_corpus_is_classified_as_it_must_be(corpora: Path) -> None:
    cases = json.loads((corpora / "ssrf_addresses.json").read_text(encoding="utf-8"))
    guard = AddressGuard()
    assert [host for host in cases["must_block"] if guard.refuses(host) is None] == []
    assert [host for host in cases["must_allow"] if guard.refuses(host) is not None] == []


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
