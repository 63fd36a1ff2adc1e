"""Sessions of the dashboard: one-time logins, expiry, the check of requests that change something, failed sign-ins."""

from __future__ import annotations

from typing import Any

import pytest

from sitelore.model.platform.rate_limits import RateLimit
from sitelore.platform.accounts.authentication import MAX_ENTRIES, LocalSessionStore
from sitelore.platform.accounts.rate_limits import LocalRateLimiter
from sitelore.serve.problems import ApiProblem
from sitelore.serve.security.failed_logins import FailedLogins
from sitelore.serve.security.sessions import (
    IDLE_S,
    LOGIN_S,
    MAX_AGE_S,
    Session,
    Sessions,
    check_sender,
    cookie_header,
    is_public,
)


class FakeClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def request(session: Session | None, method: str = "GET", path: str = "/crawl-runs", **headers: str) -> Any:
    sent = {"host": "127.0.0.1:8080", **{name.replace("_", "-"): value for name, value in headers.items()}}
    if session is not None:
        sent["cookie"] = f"other=1; sitelore_session_8080={session.cookie}"
    return {
        "type": "http",
        "scheme": "http",
        "method": method,
        "path": path,
        "server": ("127.0.0.1", 8080),
        "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
    }


async def token_of(sessions: Sessions, scope: Any) -> str | None:
    session = await sessions.session_of(scope)
    if session is None:
        return None
    check_sender(scope, dict(scope["headers"]), session)
    return session.token_id


async def test_a_login_works_once() -> None:
    sessions = Sessions()
    code = await sessions.new_login("mine")
    assert (await sessions.sign_in(code)).token_id == "mine"
    with pytest.raises(ApiProblem, match="10 minutes"):
        await sessions.sign_in(code)
    with pytest.raises(ApiProblem):
        await sessions.sign_in("a guess")


async def test_a_login_expires() -> None:
    clock = FakeClock()
    sessions = Sessions(LocalSessionStore(clock), clock)
    code = await sessions.new_login("mine")
    clock.now += LOGIN_S
    with pytest.raises(ApiProblem):
        await sessions.sign_in(code)


async def test_the_cookie_stands_for_the_token() -> None:
    sessions = Sessions()
    session = await sessions.open("mine")
    assert await token_of(sessions, request(session)) == "mine"
    assert await token_of(sessions, request(None)) is None


async def test_what_is_stored_opens_no_session() -> None:
    class Recorder(LocalSessionStore):
        stored = b""

        async def put(self, key: str, value: bytes, ttl_s: float) -> None:
            self.stored += key.encode() + value
            await super().put(key, value, ttl_s)

    store = Recorder()
    sessions = Sessions(store)
    session, code = await sessions.open("mine"), await sessions.new_login("mine")
    assert session.cookie.encode() not in store.stored
    assert code.encode() not in store.stored


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://127.0.0.1:8080"},
        {"origin": "http://evil.example", "x_csrf_token": "right"},
        {"origin": "null", "x_csrf_token": "right"},
        {"origin": "http://127.0.0.1:8080", "x_csrf_token": "wrong"},
        {"x_csrf_token": "right"},
    ],
)
async def test_a_change_needs_our_origin_and_the_csrf_token(headers: dict[str, str]) -> None:
    sessions = Sessions()
    session = await sessions.open("mine")
    sent = {name: session.csrf if value == "right" else value for name, value in headers.items()}
    with pytest.raises(ApiProblem) as refused:
        await token_of(sessions, request(session, "POST", **sent))
    assert refused.value.kind.code == "cross-origin"


async def test_a_change_from_our_own_page_is_permitted() -> None:
    sessions = Sessions()
    session = await sessions.open("mine")
    scope = request(session, "POST", origin="https://127.0.0.1:8080", x_csrf_token=session.csrf)
    assert await token_of(sessions, scope) == "mine"


@pytest.mark.parametrize("step_s", [IDLE_S + 1, IDLE_S - 1])
async def test_a_session_ends_when_it_is_idle_and_when_it_is_old(step_s: float) -> None:
    clock = FakeClock()
    sessions = Sessions(LocalSessionStore(clock), clock)
    session = await sessions.open("mine")
    end = clock.now + MAX_AGE_S
    uses = 0
    while clock.now + step_s <= end:
        clock.now += step_s
        if await token_of(sessions, request(session)) is None:
            break
        uses += 1
    assert uses == (0 if step_s > IDLE_S else int(MAX_AGE_S // step_s))
    clock.now = end + 1
    assert await token_of(sessions, request(session)) is None


async def test_signing_out_ends_the_session() -> None:
    sessions = Sessions()
    session = await sessions.open("mine")
    await sessions.close(session)
    assert await token_of(sessions, request(session)) is None


async def test_the_number_of_sessions_is_limited() -> None:
    sessions = Sessions()
    first = await sessions.open("mine")
    second = await sessions.open("mine")
    for _ in range(MAX_ENTRIES - 2):
        await sessions.open("mine")
    assert await token_of(sessions, request(first)) is not None  # the second was used longest ago now
    await sessions.open("mine")
    assert await token_of(sessions, request(first)) is not None
    assert await token_of(sessions, request(second)) is None


async def test_a_malformed_cookie_is_no_session() -> None:
    sessions = Sessions()
    scope = request(None, cookie="=;;\xff; sitelore_session_8080=")
    assert await token_of(sessions, scope) is None


async def test_servers_behind_one_proxy_use_one_cookie() -> None:
    sessions = Sessions()
    scope = request(await sessions.open("mine"))
    assert await token_of(sessions, {**scope, "server": ("10.1.2.3", 9999)}) == "mine"


LIMIT = RateLimit(3, 60.0)


async def test_an_address_with_too_many_failures_is_refused_for_a_while_but_not_its_valid_tokens() -> None:
    clock = FakeClock()
    failures = FailedLogins(LocalRateLimiter(clock), LIMIT, clock)
    failures.succeeded(b"valid")
    for _ in range(LIMIT.requests):
        failures.check("192.0.2.1", b"guess")
        await failures.failed("192.0.2.1")
    with pytest.raises(ApiProblem) as refused:
        await failures.failed("192.0.2.1")
    assert (refused.value.kind.code, refused.value.headers["Retry-After"]) == ("rate-limited", "20")
    with pytest.raises(ApiProblem):
        failures.check("192.0.2.1", b"right, but never seen")
    failures.check("192.0.2.1", b"valid")
    failures.check("192.0.2.2", b"guess")
    clock.now += 20.0
    failures.check("192.0.2.1", b"right, but never seen")


def test_only_the_files_of_the_dashboard_and_the_login_are_public() -> None:
    assert all(map(is_public, ("/", "/ui", "/ui/", "/ui/runs/1", "/session/code")))
    assert not any(map(is_public, ("/session", "/uix", "/crawl-runs", "/crawl-runs/ui/", "/demo", "//")))


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites() -> None:
    scope = request(None)
    assert cookie_header(scope, "abc") == "sitelore_session_8080=abc; Path=/; HttpOnly; SameSite=Strict"
    assert cookie_header({**scope, "scheme": "https"}, "abc").endswith("; Secure")
    assert "Max-Age=0" in cookie_header(scope, "")
