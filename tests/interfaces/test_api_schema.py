"""The OpenAPI schema is valid, and a thousand fuzzed requests get responses that conform to it."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS
from tests.interfaces.api import Api, idle_app, serving_api
from tests.support.crawls import crawl, crawl_settings
from tests.support.http_server import page, prose, redirect, serve_site, site

from sitelore.model.platform.rate_limits import parse_rate_limits
from sitelore.model.url import Url
from sitelore.serve.app import application
from sitelore.serve.context import ApiSettings
from sitelore.serve.openapi import openapi_document
from sitelore.serve.security.middleware import OPEN_PATHS, PUBLIC_PATHS

pytestmark = pytest.mark.alone("a thousand requests in one test, which would starve the tests beside it")

EXAMPLES = 65
_NO_CONTEXT: Any = None


def description(*, with_tokens: bool) -> dict[str, Any]:
    app = application(_NO_CONTEXT, ApiSettings(), asyncio.Event())
    return openapi_document(app, with_tokens=with_tokens)


TOKEN = "operator-token-of-the-schema-test"
REJECTED = ["400", "401", "403", "404", "405", "408", "409", "413", "415", "422", "429"]
"""How a server may answer an invalid request; 413 where it is also too large."""
_CONFIG = schemathesis.Config.from_dict({"checks": {"negative_data_rejection": {"expected-statuses": REJECTED}}})
schema = schemathesis.openapi.from_dict(description(with_tokens=False), config=_CONFIG)  # every request has the token
# A valid shape may still name an address that is not open, or use a key twice.
# `Allow` of `…/fixes/pull-request` also names the methods of `…/fixes/{fix_id}`, which has the same shape.
UNCHECKED: list[Any] = CHECKS.get_by_names(["positive_data_acceptance", "allow_header_conformance"])
UNCHECKED_SCALARS: list[Any] = [*UNCHECKED, *CHECKS.get_by_names(["negative_data_rejection"])]
"""In a query string an array of one value equals the value alone, so a value instead of an array is not an invalid request."""
ARRAYS = {
    parameter["name"]
    for operations in description(with_tokens=True)["paths"].values()
    for operation in operations.values()
    for parameter in operation.get("parameters", ())
    if any(kind.get("type") == "array" for kind in (parameter["schema"], *parameter["schema"].get("anyOf", ())))
}
"""Parameters that are arrays."""


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """A server, a page that it may fetch, a completed run, and the request counts of this process before the test."""

    api: Api
    page: str
    run: str
    before: Counter[str]


def answered(api: Api) -> Counter[str]:
    """Requests by status, as the server counts them."""
    return Counter({status: int(count) for status, count in _REQUESTS.findall(api.call("GET", "/metrics").body.decode())})


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    """A server without workers on a data directory with one finished crawl."""
    data: Path = tmp_path_factory.mktemp("fuzzed")
    pages = {
        "/": page("Home", prose("home"), links=("/a", "/b", "/moved", "/gone", "http://elsewhere.invalid/")),
        "/a": page("A", prose("a"), links=("/b",)),
        "/b": page("B", prose("b")),
        "/moved": redirect("/a"),
    }
    server_settings = ApiSettings(
        tokens=(TOKEN,), allow_private=("127.0.0.1",), rate_limits=parse_rate_limits("off", ""), poll_s=0.05
    )
    with serve_site(site(pages)) as http_server:
        run = asyncio.run(crawl(data, crawl_settings(http_server.url("/")))).run
        with serving_api(partial(idle_app, data), server_settings) as api:
            yield Fuzzed(api, http_server.url("/a"), run.id, answered(api))


_numbers = itertools.count()
_REQUESTS = re.compile(r'sitelore_http_requests_total\{status="(\d+)"\} (\d+)\.0')


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_no_request_brings_the_server_down_or_an_answer_that_is_not_described(
    case: schemathesis.Case[Any], fuzzed: Fuzzed
) -> None:
    for name in ("run_id", "job_id"):
        if name in case.path_parameters and next(_numbers) % 4:
            case.path_parameters[name] = fuzzed.run  # or hardly a request would get past “no such run”
    if case.path == "/scrape" and isinstance(case.body, dict) and _is_valid_url(case.body.get("url")):
        case.body["url"] = fuzzed.page  # fetched at once: no address but that of the test's own server
    headers = {"Authorization": f"Bearer {TOKEN}"}
    response = case.call(base_url=f"http://127.0.0.1:{fuzzed.api.port}", headers=headers, timeout=20)
    has_scalar = any(not isinstance(value, list) for name, value in (case.query or {}).items() if name in ARRAYS)
    case.validate_response(response, excluded_checks=UNCHECKED_SCALARS if has_scalar else UNCHECKED)


def _is_valid_url(value: object) -> bool:
    return isinstance(value, str) and len(value) <= 8192 and Url.parse(value) is not None


def test_a_thousand_requests_were_sent_and_none_failed(fuzzed: Fuzzed) -> None:
    by_status = answered(fuzzed.api)
    by_status.subtract(fuzzed.before)
    print("\nfuzzed requests by status:", dict(sorted((+by_status).items())))
    assert by_status.total() >= 1000
    assert not [status for status in +by_status if status >= "500"]


@pytest.mark.parametrize("with_tokens", [True, False])
def test_every_route_describes_its_problems(with_tokens: bool) -> None:
    described = description(with_tokens=with_tokens)
    assert described["openapi"].startswith("3.1")
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            answers = operation["responses"]
            expected = {"500", "503"} | ({"400", "408", "413", "415"} if method == "post" else set())
            expected |= {"404"} if "{" in path else set()
            if path not in OPEN_PATHS:
                expected |= {"403", "429"}
            if path not in PUBLIC_PATHS:
                expected |= {"401"} if with_tokens else {"401", "421"}
            assert expected <= set(answers), (path, method)
            for status, answer in answers.items():
                assert answer["description"], (path, method, status)
                if status >= "400":
                    assert list(answer["content"]) == ["application/problem+json"]
            assert operation["summary"]
            assert operation["description"]
            assert operation.get("security") == ([{"bearer": []}] if with_tokens and "401" in answers else None)
    assert "HTTPValidationError" not in described["components"]["schemas"]
