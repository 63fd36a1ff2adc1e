"""Sessions of the dashboard: one-time logins, expiry, and the check of requests that change something."""

from __future__ import annotations

from typing import Any

import pytest

from sitelore.serve.problems import ApiProblem
from sitelore.serve.sessions import IDLE_S, LOGIN_S, MAX_AGE_S, MAX_SESSIONS, Session, Sessions, cookie_header, is_public


class FakeClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def request(session: Session | None, method: str = "GET", path: str = "/crawl-runs", **headers: str) -> Any:
    sent = {"host": "127.0.0.1:8080", **{name.replace("_", "-"): value for name, value in headers.items()}}
    if session is not None:
        sent["cookie"] = f"other=1; sitelore_session_8080={session.id}"
    return {
        "type": "http",
        "scheme": "http",
        "method": method,
        "path": path,
        "server": ("127.0.0.1", 8080),
        "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
    }


def authorized(sessions: Sessions, scope: Any) -> bytes | None:
    return sessions.authorize(scope, dict(scope["headers"])).get(b"authorization")


def test_a_login_works_once() -> None:
    sessions = Sessions("secret")
    code = sessions.new_login()
    assert sessions.sign_in(code).authorization == b"Bearer secret"
    with pytest.raises(ApiProblem, match="10 minutes"):
        sessions.sign_in(code)
    with pytest.raises(ApiProblem):
        sessions.sign_in("a guess")


def test_a_login_expires() -> None:
    clock = FakeClock()
    sessions = Sessions("secret", clock)
    code = sessions.new_login()
    clock.now += LOGIN_S
    with pytest.raises(ApiProblem):
        sessions.sign_in(code)


def test_the_cookie_stands_for_the_token() -> None:
    sessions = Sessions()
    session = sessions.open(b"Bearer mine")
    assert authorized(sessions, request(session)) == b"Bearer mine"
    assert authorized(sessions, request(None)) is None


def test_a_token_that_is_sent_counts_more_than_the_cookie() -> None:
    sessions = Sessions()
    session = sessions.open(b"Bearer mine")
    assert authorized(sessions, request(session, authorization="Bearer other")) == b"Bearer other"


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
def test_a_change_needs_our_origin_and_the_csrf_token(headers: dict[str, str]) -> None:
    sessions = Sessions()
    session = sessions.open(b"Bearer mine")
    sent = {name: session.csrf if value == "right" else value for name, value in headers.items()}
    with pytest.raises(ApiProblem) as refused:
        authorized(sessions, request(session, "POST", **sent))
    assert refused.value.kind.code == "cross-origin"


def test_a_change_from_our_own_page_is_permitted() -> None:
    sessions = Sessions()
    session = sessions.open(b"Bearer mine")
    scope = request(session, "POST", origin="https://127.0.0.1:8080", x_csrf_token=session.csrf)
    assert authorized(sessions, scope) == b"Bearer mine"


@pytest.mark.parametrize("step_s", [IDLE_S + 1, IDLE_S - 1])
def test_a_session_ends_when_it_is_idle_and_when_it_is_old(step_s: float) -> None:
    clock = FakeClock()
    sessions = Sessions("", clock)
    session = sessions.open(b"Bearer mine")
    end = clock.now + MAX_AGE_S
    uses = 0
    while clock.now + step_s <= end:
        clock.now += step_s
        if authorized(sessions, request(session)) is None:
            break
        uses += 1
    assert uses == (0 if step_s > IDLE_S else int(MAX_AGE_S // step_s))
    clock.now = end + 1
    assert authorized(sessions, request(session)) is None


def test_signing_out_ends_the_session() -> None:
    sessions = Sessions()
    session = sessions.open(b"Bearer mine")
    sessions.close(session)
    assert authorized(sessions, request(session)) is None


def test_the_number_of_sessions_is_limited() -> None:
    sessions = Sessions()
    first = sessions.open(b"Bearer mine")
    second = sessions.open(b"Bearer mine")
    for _ in range(MAX_SESSIONS - 2):
        sessions.open(b"Bearer mine")
    assert authorized(sessions, request(first)) is not None  # the second was used longest ago now
    sessions.open(b"Bearer mine")
    assert authorized(sessions, request(first)) is not None
    assert authorized(sessions, request(second)) is None


def test_a_malformed_cookie_is_no_session() -> None:
    sessions = Sessions()
    scope = request(None, cookie="=;;\xff; sitelore_session_8080=")
    assert authorized(sessions, scope) is None


def test_only_the_files_of_the_dashboard_and_the_login_are_public() -> None:
    assert all(map(is_public, ("/", "/ui", "/ui/", "/ui/runs/1", "/session/code")))
    assert not any(map(is_public, ("/session", "/uix", "/crawl-runs", "/crawl-runs/ui/", "/demo", "//")))


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites() -> None:
    scope = request(None)
    assert cookie_header(scope, "abc") == "sitelore_session_8080=abc; Path=/; HttpOnly; SameSite=Strict"
    assert cookie_header({**scope, "scheme": "https"}, "abc").endswith("; Secure")
    assert "Max-Age=0" in cookie_header(scope, "")
