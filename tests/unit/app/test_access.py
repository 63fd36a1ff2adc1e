"""Access of the operator: the file that the environment names, and its proxies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sitelore.app.access import AccessOptions, SiteOptions, build_access, read_access_file
from sitelore.app.settings import operator_access, operator_redaction
from sitelore.model.access import ClientCert, Cookie, SiteAccess
from sitelore.model.errors import BadConfig, UsageError

TOML = """
proxy = "http://ann:proxy-word@proxy.example:3128"
no_proxy = ["intranet.example"]
ca_file = "ca.pem"

[origins."https://a.example"]
auth = "ann:gate-word-1"
headers = {X-Team = "docs"}
cookie = "region=eu"
client_cert = "me.pem:me.key"

[origins."http://b.example:80/"]
bearer = "tok-en-4711"
"""


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def private(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


def test_a_file_holds_access_by_origin_and_the_way_to_all(tmp_path: Path) -> None:
    access = read_access_file(str(private(tmp_path / "access.toml", TOML)))
    a, b = access.origins["https://a.example"], access.origins["http://b.example"]
    assert dict(a.headers) == {"X-Team": "docs", "Authorization": "Basic YW5uOmdhdGUtd29yZC0x"}
    assert a.cookies == (Cookie("region", "eu"),)
    assert a.client_cert == ClientCert(str(tmp_path / "me.pem"), str(tmp_path / "me.key"))
    assert b.headers == (("Authorization", "Bearer tok-en-4711"),)
    assert access.seeds == SiteAccess()
    assert access.proxies.https == ("http://ann:proxy-word@proxy.example:3128",)
    assert (access.proxies.bypass, access.ca_file, access.insecure) == (("intranet.example",), str(tmp_path / "ca.pem"), False)


def test_json_is_read_as_well(tmp_path: Path) -> None:
    content = {"insecure": True, "origins": {"https://a.example": {"auth": "ann:gate-word-1"}}}
    access = read_access_file(str(private(tmp_path / "access.json", json.dumps(content))))
    assert access.insecure
    assert access.passwords == ("gate-word-1",)


@pytest.mark.parametrize(
    "text",
    [
        "auth = 'ann:secret-word'",  # not below an origin
        "[origins.'https://a.example']\nauth = 7",
        "[origins.'https://a.example/path']\nauth = 'ann:secret-word'",
        "[origins.'https://ann:secret-word@a.example']\nbearer = 'x'",
        "[origins.'https://a.example']\nauth = 'secret-word'",
        "proxy = 'ftp://ann:secret-word@p'",
        "= secret-word",
    ],
)
def test_a_mistake_in_a_file_names_the_file_and_no_secret(text: str, tmp_path: Path) -> None:
    path = private(tmp_path / "access.toml", text)
    with pytest.raises(BadConfig) as problem:
        read_access_file(str(path))
    assert str(path) in str(problem.value)
    assert "secret-word" not in str(problem.value)


def test_the_environment_names_the_file_and_its_secrets_are_redacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SITELORE_ACCESS", str(private(tmp_path / "access.toml", TOML)))
    assert set(operator_access().origins) == {"https://a.example", "http://b.example"}
    assert operator_redaction().secrets == ("YW5uOmdhdGUtd29yZC0x", "gate-word-1", "tok-en-4711")
    assert "gate-word-1" not in repr(operator_redaction())


def test_proxies_of_the_environment_are_chosen_by_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://secure.example:3128")
    monkeypatch.setenv("ALL_PROXY", "socks5://all.example")
    monkeypatch.setenv("NO_PROXY", "localhost, .example.org")
    proxies = operator_access().proxies
    assert (proxies.http, proxies.https) == (("socks5://all.example",), ("http://secure.example:3128",))
    assert proxies.bypass == ("localhost", ".example.org")
    assert proxies.bypass_loopback
    explicit = operator_access().with_other(build_access(AccessOptions(proxy=["http://mine.example"]))).proxies
    assert (explicit.http, explicit.https) == (("http://mine.example",), ("http://mine.example",))
    assert (explicit.bypass, explicit.bypass_loopback) == (("localhost", ".example.org"), False)


def test_a_cookie_header_becomes_cookies() -> None:
    access = build_access(AccessOptions(SiteOptions(headers=["Cookie: a=1; b=2", "X-A: 3"])))
    assert access.seeds.headers == (("X-A", "3"),)
    assert access.seeds.cookies == (Cookie("a", "1"), Cookie("b", "2"))


@pytest.mark.parametrize(
    "line", ["A:\tb\r\nC: d", "A: \x00", "Ä: x", ": x", "A", "Transfer-Encoding: chunked", "Proxy-Authorization: x"]
)
def test_a_header_that_could_change_the_request_is_refused(line: str) -> None:
    with pytest.raises(UsageError, match=r"^header: "):
        build_access(AccessOptions(SiteOptions(headers=[line])))
