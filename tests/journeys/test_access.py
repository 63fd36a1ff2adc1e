"""Crawls of sites that need credentials: each way in works, secrets reach their origin alone, and none of them is stored."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.journeys.test_secrets import everything_in
from tests.support.crawls import run_cli
from tests.support.proxies import ECHO, Gate, Pages, serve_gate, serve_proxy, server_tls

import sitelore
from sitelore.model.errors import CrawlFailed

PASSWORD = "wonderful-gate-word"
TOKEN = "tok-4711-abcdefgh"
SESSION = "sess-0815-ijklmnop"
ENCODED = base64.b64encode(f"ann:{PASSWORD}".encode()).decode()
SECRETS = (PASSWORD, TOKEN, SESSION, ENCODED)
NO_PROXIES = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"), "")


def pages(other: str = "") -> Pages:
    """A site that repeats credentials, links to another origin and redirects there."""
    words = "The gate opens for those who know the word, and everything behind it is written down here. " * 8
    echo = f"<p>You sent: {ECHO.decode()}</p>"
    home = f"<title>Inside</title><main><h1>Inside</h1><p>{words}</p>{echo}<a href=/two>two</a><a href=/away>away</a>"
    return {
        "/": (200, {"Set-Cookie": "own=1; Path=/"}, f"{home}</main>".encode()),
        "/two": (200, {}, f"<title>Two</title><main><h1>Two</h1><p>Second page. {words}</p></main>".encode()),
        "/away": (302, {"Location": f"{other}/redirected"}, b"") if other else (404, {}, b""),
        "/linked": (200, {}, f"<title>L</title><main><h1>Linked</h1><p>Linked. {words}</p></main>".encode()),
        "/redirected": (
            200,
            {},
            f"<title>R</title><main><h1>Redirected</h1><p>Redirected. {words}</p><a href=/linked>l</a></main>".encode(),
        ),
    }


def netscape(folder: Path) -> Path:
    lines = [
        "# Netscape HTTP Cookie File",
        f"127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\t{SESSION}",
        f".unrelated.example\tTRUE\t/\tFALSE\t0\tother\tforeign-{SESSION}",
    ]
    path = folder / "cookies.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def storage_state(folder: Path) -> Path:
    cookie = {"name": "session", "value": SESSION, "domain": "127.0.0.1", "path": "/", "expires": -1, "httpOnly": True}
    path = folder / "state.json"
    path.write_text(json.dumps({"cookies": [{**cookie, "secure": False, "sameSite": "Lax"}], "origins": []}), encoding="utf-8")
    return path


def access_file(folder: Path, origin: str, text: str) -> Path:
    path = folder / "access.toml"
    path.write_text(f'[origins."{origin}"]\n{text}\n', encoding="utf-8")
    path.chmod(0o600)
    return path


def stored_secrets(folder: Path) -> set[tuple[str, str]]:
    return {(name, secret) for name, data in everything_in(folder) for secret in SECRETS if secret.encode() in data}


@pytest.fixture
def other() -> Iterator[Gate]:
    with serve_gate(Gate(pages())) as site:
        yield site


WAYS = {
    "auth": ("authorization", ENCODED),
    "bearer": ("authorization", f"Bearer {TOKEN}"),
    "header": ("x-key", TOKEN),
    "cookie": ("cookie", f"session={SESSION}"),
    "cookies": ("cookie", f"session={SESSION}"),
    "storage-state": ("cookie", f"session={SESSION}"),
    "url": ("authorization", ENCODED),
    "access": ("authorization", ENCODED),
    "environment": ("authorization", ENCODED),
}


def arguments(way: str, site: Gate, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Arguments and environment of a crawl that gets in by this way."""
    url = f"{site.origin}/"
    options = {
        "auth": ["--auth", f"ann:{PASSWORD}"],
        "bearer": ["--bearer", TOKEN],
        "header": ["--header", f"X-Key: {TOKEN}"],
        "cookie": ["--cookie", f"lang=en; session={SESSION}"],
        "cookies": ["--cookies", str(netscape(folder))],
        "storage-state": ["--storage-state", str(storage_state(folder))],
        "access": ["--access", str(access_file(folder, site.origin, f'auth = "ann:{PASSWORD}"'))],
    }
    if way == "url":
        url = url.replace("://", f"://ann:{PASSWORD}@")
    env = {"SITELORE_ACCESS": str(access_file(folder, site.origin, f'auth = "ann:{PASSWORD}"'))} if way == "environment" else {}
    return [url, *options.get(way, [])], {**NO_PROXIES, **env}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_opens_the_site_and_only_the_site(way: str, other: Gate, tmp_path: Path) -> None:
    with serve_gate(Gate(pages(other.origin), WAYS[way])) as site:
        data = tmp_path / "data"
        outside = [f"{site.origin}/away", "--allow-private", "127.0.0.1", "--delay", "0", "--render", "never"]
        formats = [word for name in ("md", "jsonl", "warc", "csv") for word in ("--output", name)]
        typed, env = arguments(way, site, tmp_path)
        done = run_cli("crawl", *typed, *outside, *formats, "--json", "--debug", "--data", str(data), env=env)
        assert done.code == 0, done.err
        assert done.summary["pages"] == 4
        name, value = WAYS[way]
        assert all(value in seen for seen in site.seen(name))
    targets = {target for target, _ in other.requests}
    assert {"/linked", "/redirected"} <= targets
    assert not any(secret in other.text() for secret in SECRETS)
    assert stored_secrets(data) == set()
    shown = run_cli("show", "latest", "--json", "--data", str(data))
    exported = run_cli("export", "latest", "--format", "json", "--data", str(data))
    for output in (done.out, done.err, shown.out, shown.err, exported.out):
        assert not any(secret in output for secret in SECRETS)


def test_without_credentials_the_site_stays_closed(tmp_path: Path) -> None:
    with serve_gate(Gate(pages(), ("authorization", ENCODED))) as site:
        done = run_cli("crawl", f"{site.origin}/", "--render", "never", "--data", str(tmp_path / "data"), env=NO_PROXIES)
    assert done.code == 1
    assert "401" in done.err


def test_a_resumed_run_uses_the_access_of_its_own_command(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with serve_gate(Gate(pages(), ("authorization", ENCODED))) as site:
        first = run_cli("crawl", f"{site.origin}/", "--auth", f"ann:{PASSWORD}", "--time-limit", "0s", "--data", data)
        assert first.code == 15, first.err
        done = run_cli("crawl", "--resume", "--auth", f"ann:{PASSWORD}", "--time-limit", "60s", "--json", "--data", data)
    assert done.code == 0, done.err
    assert done.summary["pages"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--auth", "ann"], "auth: invalid credentials (use USER:PASSWORD)"),
        (["--auth", f"ann:{PASSWORD}", "--bearer", TOKEN], "exclude each other"),
        (["--header", f"broken {TOKEN}"], "header: invalid header"),
        (["--header", "Host: elsewhere.example"], "header: Host cannot be set"),
        (["--cookie", f"{SESSION}"], "cookie: invalid cookies"),
        (["--cookies", "absent.txt"], "cookies: cannot read absent.txt: No such file or directory"),
        (["--storage-state", "absent.json"], "storage_state: cannot read absent.json: No such file or directory"),
        (["--proxy", f"ftp://ann:{PASSWORD}@proxy.example"], "proxy: invalid URL"),
        (["--ca-file", "absent.pem"], "ca_file: cannot use absent.pem: No such file or directory"),
        (["--client-cert", "absent.pem"], "client_cert: cannot use absent.pem: No such file or directory"),
        (["--access", "absent.toml"], "cannot read the access file absent.toml: No such file or directory"),
    ],
)
def test_a_mistake_is_explained_without_repeating_a_secret(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = run_cli("crawl", "http://127.0.0.1:9/", *arguments, "--data", str(tmp_path / "data"), cwd=tmp_path)
    assert done.code == 2
    assert message in done.err
    assert not any(secret in done.err for secret in SECRETS)


def test_credentials_of_an_invalid_url_are_not_repeated(tmp_path: Path) -> None:
    done = run_cli("crawl", f"ann:{PASSWORD}@host.example", "--data", str(tmp_path / "data"))
    assert done.code == 2
    assert PASSWORD not in done.err


def test_an_access_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = access_file(tmp_path, "https://a.example", f'auth = "ann:{PASSWORD}"')
    path.chmod(0o644)
    done = run_cli("crawl", "http://127.0.0.1:9/", "--access", str(path), "--data", str(tmp_path / "data"))
    assert done.code == 2
    assert f"chmod 600 {path}" in done.err


def test_an_unknown_name_in_an_access_file_is_an_error(tmp_path: Path) -> None:
    path = access_file(tmp_path, "https://a.example", f'password = "{PASSWORD}"')
    done = run_cli("crawl", "http://127.0.0.1:9/", "--access", str(path), "--data", str(tmp_path / "data"))
    assert done.code == 2
    assert "unknown field `password`" in done.err
    assert PASSWORD not in done.err


@pytest.mark.parametrize("scheme", ["http", "socks5"])
def test_a_site_is_crawled_through_the_proxy_of_the_command(scheme: str, tmp_path: Path) -> None:
    with serve_gate(Gate(pages())) as site, serve_proxy(scheme, f"ann:{PASSWORD}") as proxy:
        typed = ["crawl", f"{site.origin}/", "--proxy", proxy.url, "--delay", "0", "--json", "--data", str(tmp_path / "one")]
        done = run_cli(*typed, env=NO_PROXIES)
        assert done.code == 0, done.err
        assert done.summary["pages"] == 2
        assert len(proxy.targets) >= 1
        requests = len(proxy.targets)
        bypassed = run_cli(
            "crawl", f"{site.origin}/", "--data", str(tmp_path / "two"), env={**NO_PROXIES, "ALL_PROXY": proxy.url}
        )
        assert bypassed.code == 0, bypassed.err  # loopback is never proxied by the environment
        assert len(proxy.targets) == requests
    assert stored_secrets(tmp_path) == set()


def test_a_proxy_of_the_environment_is_used_for_other_hosts(tmp_path: Path) -> None:
    with serve_gate(Gate(pages())) as site, serve_proxy("http") as proxy:
        env = {**NO_PROXIES, "HTTP_PROXY": proxy.url}
        seed = f"http://only-the-proxy-knows.invalid:{site.port}/"
        done = run_cli("crawl", seed, "--delay", "0", "--json", "--data", str(tmp_path / "data"), env=env)
        assert done.code == 0, done.err
        assert done.summary["pages"] == 2
        without = run_cli("crawl", seed, "--data", str(tmp_path / "not"), env={**env, "NO_PROXY": ".invalid"})
        assert without.code == 1
    assert f"GET {seed}" in proxy.targets


def test_a_host_of_the_option_no_proxy_is_fetched_directly(tmp_path: Path) -> None:
    with serve_gate(Gate(pages())) as site, serve_proxy("http") as proxy:
        typed = ["crawl", f"{site.origin}/", "--proxy", proxy.url, "--no-proxy", "127.0.0.0/8", "--delay", "0"]
        done = run_cli(*typed, "--data", str(tmp_path / "data"), env=NO_PROXIES)
    assert done.code == 0, done.err
    assert proxy.targets == []


def test_the_configuration_file_gives_access_and_chooses_the_files(tmp_path: Path) -> None:
    with serve_gate(Gate(pages(), ("authorization", ENCODED))) as site:
        (tmp_path / "sitelore.toml").write_text(
            f'[crawl]\ndelay = 0\nrender = "never"\n[[site]]\nurl = "{site.origin}/"\nauth = "env:GATE_AUTH"\n'
            f'headers = {{X-Key = "env:GATE_KEY"}}\noutput = ["jsonl"]\nout = "files"\nindex = false\n'
        )
        env = {**NO_PROXIES, "GATE_AUTH": f"ann:{PASSWORD}", "GATE_KEY": TOKEN}
        done = run_cli("crawl", "--json", cwd=tmp_path, env=env)
        shown = run_cli("config", f"{site.origin}/", cwd=tmp_path, env=env)
    assert done.code == 0, done.err
    assert done.summary["pages"] == 2
    assert site.seen("x-key") == {TOKEN}
    written = [path.name for path in (tmp_path / "files").iterdir() if not path.name.startswith(".")]
    assert written == ["pages.jsonl"]
    assert "env:GATE_AUTH" in shown.out
    assert stored_secrets(tmp_path) == set()
    assert not any(secret in text for secret in SECRETS for text in (done.out, done.err, shown.out))


def test_a_site_with_an_own_authority_needs_its_file_or_the_option_insecure(
    certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    with serve_gate(Gate(pages()), server_tls(certificate)) as site:
        crawl = ["crawl", f"{site.origin}/", "--delay", "0", "--render", "never"]
        refused = run_cli(*crawl, "--data", str(tmp_path / "one"))
        trusted = run_cli(*crawl, "--ca-file", str(certificate[0]), "--data", str(tmp_path / "two"))
        insecure = run_cli(*crawl, "--insecure", "--data", str(tmp_path / "three"))
    assert (refused.code, trusted.code, insecure.code) == (1, 0, 0)
    assert "certificate is not valid" in refused.err
    assert "not verified" not in trusted.err
    assert insecure.err.count("certificates are not verified") == 1


def test_a_client_certificate_is_sent_to_the_site_and_not_elsewhere(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    pair = f"{certificate[0]}:{certificate[1]}"
    with (
        serve_gate(Gate(pages()), server_tls(certificate, client_ca=certificate[0])) as elsewhere,
        serve_gate(Gate(pages(elsewhere.origin)), server_tls(certificate, client_ca=certificate[0])) as site,
    ):
        outside = [f"{site.origin}/away", "--allow-private", "127.0.0.1", "--delay", "0", "--render", "never"]
        crawl = ["crawl", f"{site.origin}/", "--ca-file", str(certificate[0]), *outside]
        refused = run_cli(*crawl, "--data", str(tmp_path / "one"))
        done = run_cli(*crawl, "--client-cert", pair, "--json", "--data", str(tmp_path / "two"))
    assert refused.code == 1
    assert done.code == 0, done.err
    assert done.summary["pages"] == 2
    assert elsewhere.requests == []


@pytest.mark.parametrize(
    ("arguments", "way"),
    [
        ({"auth": ("ann", PASSWORD)}, "auth"),
        ({"auth": f"ann:{PASSWORD}"}, "auth"),
        ({"bearer": TOKEN}, "bearer"),
        ({"headers": {"X-Key": TOKEN}}, "header"),
        ({"cookies": {"session": SESSION}}, "cookie"),
        ({"cookies": f"session={SESSION}"}, "cookie"),
    ],
)
def test_the_python_api_takes_the_same_names(arguments: dict[str, object], way: str) -> None:
    with serve_gate(Gate(pages(), WAYS[way])) as site:
        crawled = sitelore.crawl_sync(f"{site.origin}/", render="never", **arguments)
        assert {page.title for page in crawled} == {"Inside", "Two"}
        assert not any(secret in repr(crawled) for secret in SECRETS)
        with pytest.raises(CrawlFailed):
            sitelore.crawl_sync(f"{site.origin}/", render="never")


def test_the_python_api_takes_files_proxies_and_certificates(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    with (
        serve_gate(Gate(pages(), WAYS["cookie"]), server_tls(certificate, client_ca=certificate[0])) as site,
        serve_proxy("socks5", f"ann:{PASSWORD}") as proxy,
    ):
        for cookies in ({"cookies": netscape(tmp_path)}, {"storage_state": storage_state(tmp_path)}):
            crawled = sitelore.crawl_sync(
                f"{site.origin}/", render="never", proxy=proxy.url, ca_file=certificate[0], client_cert=certificate, **cookies
            )
            assert {page.title for page in crawled} == {"Inside", "Two"}
    assert proxy.targets


def test_a_wrong_argument_of_the_python_api_is_a_value_error() -> None:
    with pytest.raises(ValueError, match=r"^invalid access: proxy: invalid URL"):
        sitelore.crawl_sync("http://127.0.0.1:9/", proxy=f"ftp://{PASSWORD}@x")


def test_accept_language_is_sent_to_every_host_and_stored_with_the_run(other: Gate, tmp_path: Path) -> None:
    with serve_gate(Gate(pages(other.origin))) as site:
        outside = [f"{site.origin}/away", "--allow-private", "127.0.0.1", "--delay", "0"]
        data = str(tmp_path / "data")
        done = run_cli("crawl", f"{site.origin}/", *outside, "--accept-language", "de, en;q=0.5", "--data", data)
        assert done.code == 0, done.err
        assert site.seen("accept-language") == other.seen("accept-language") == {"de, en;q=0.5"}
        assert "de, en;q=0.5" in run_cli("show", "latest", "--json", "--data", data).out
