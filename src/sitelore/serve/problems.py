"""Error responses of the API: RFC 9457 problem details, and the exception that routes raise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"
_PREFIX = "urn:sitelore:problem:"


@dataclass(frozen=True, slots=True)
class ProblemType:
    """A type of problem with its status and fixed title."""

    code: str
    status: int
    title: str

    @property
    def uri(self) -> str:
        """The `type` URI."""
        return _PREFIX + self.code


BAD_JSON = ProblemType("bad-json", 400, "The body is not JSON")
AMBIGUOUS_BODY = ProblemType("ambiguous-body", 400, "The end of the body is ambiguous")
UNAUTHORIZED = ProblemType("unauthorized", 401, "A valid bearer token is needed")
BAD_SIGNATURE = ProblemType("bad-signature", 401, "The signature is not valid")
FORBIDDEN = ProblemType("forbidden", 403, "The token does not permit this")
TENANT_SUSPENDED = ProblemType("tenant-suspended", 403, "The tenant is suspended")
SIGNUP_CLOSED = ProblemType("signup-closed", 403, "Sign-up is closed")
CROSS_ORIGIN = ProblemType("cross-origin", 403, "Requests from other sites are refused")
LOGIN_EXPIRED = ProblemType("login-expired", 403, "The sign-in link is not valid any more")
NOT_FOUND = ProblemType("not-found", 404, "Not found")
RUN_NOT_FOUND = ProblemType("run-not-found", 404, "Run not found")
SITE_NOT_FOUND = ProblemType("site-not-found", 404, "Site not found")
CHANNEL_NOT_FOUND = ProblemType("channel-not-found", 404, "Channel not found")
PAGE_NOT_FOUND = ProblemType("page-not-found", 404, "Page not found")
MEDIA_NOT_FOUND = ProblemType("media-not-found", 404, "Media not found")
TENANT_NOT_FOUND = ProblemType("tenant-not-found", 404, "Tenant not found")
TOKEN_NOT_FOUND = ProblemType("token-not-found", 404, "Token not found")
USER_NOT_FOUND = ProblemType("user-not-found", 404, "User not found")
SITE_ACCESS_NOT_FOUND = ProblemType("site-access-not-found", 404, "No access to the site is stored")
FINDING_NOT_FOUND = ProblemType("finding-not-found", 404, "Finding not found")
REPOSITORY_NOT_FOUND = ProblemType("repository-not-found", 404, "The site has no connected repository")
FIX_NOT_FOUND = ProblemType("fix-not-found", 404, "Fix request not found")
WEBHOOK_NOT_FOUND = ProblemType("webhook-not-found", 404, "Webhook or delivery not found")
METHOD_NOT_ALLOWED = ProblemType("method-not-allowed", 405, "Method not allowed")
SLOW_BODY = ProblemType("slow-body", 408, "The body did not arrive in time")
ALREADY_ENDED = ProblemType("already-ended", 409, "The run has ended already")
CHANNEL_EXISTS = ProblemType("channel-exists", 409, "The website has a channel already")
CRAWL_ACTIVE = ProblemType("crawl-active", 409, "A crawl of the channel is active")
WEBHOOK_DISABLED = ProblemType("webhook-disabled", 409, "The webhook is disabled")
MEDIA_USED = ProblemType("media-used", 409, "Pages show the file")
CONFLICT = ProblemType("conflict", 409, "The request contradicts what is stored")
TOO_LARGE = ProblemType("too-large", 413, "The body is too large")
NOT_JSON = ProblemType("unsupported-media-type", 415, "The body must be application/json")
RANGE_NOT_SATISFIABLE = ProblemType("range-not-satisfiable", 416, "The file has no such bytes")
MISDIRECTED = ProblemType("misdirected", 421, "Misdirected request")
INVALID = ProblemType("invalid", 422, "The request is not valid")
ADDRESS_REFUSED = ProblemType("address-refused", 422, "The address may not be crawled")
KEY_REUSED = ProblemType("key-reused", 422, "The idempotency key was used for another request")
RATE_LIMITED = ProblemType("rate-limited", 429, "Too many requests")
INTERNAL = ProblemType("internal", 500, "Internal error")
FETCH_FAILED = ProblemType("fetch-failed", 502, "The page could not be fetched")
UNAVAILABLE = ProblemType("unavailable", 503, "Service unavailable")

KINDS = (
    BAD_JSON, UNAUTHORIZED, BAD_SIGNATURE, FORBIDDEN, TENANT_SUSPENDED, CROSS_ORIGIN, LOGIN_EXPIRED, NOT_FOUND, RUN_NOT_FOUND,
    SITE_NOT_FOUND, FINDING_NOT_FOUND, CHANNEL_NOT_FOUND, PAGE_NOT_FOUND, TENANT_NOT_FOUND, TOKEN_NOT_FOUND, USER_NOT_FOUND,
    WEBHOOK_NOT_FOUND, METHOD_NOT_ALLOWED, SLOW_BODY, ALREADY_ENDED, CHANNEL_EXISTS, CRAWL_ACTIVE, WEBHOOK_DISABLED, CONFLICT,
    TOO_LARGE, NOT_JSON, MISDIRECTED, INVALID, ADDRESS_REFUSED, KEY_REUSED, RATE_LIMITED, INTERNAL, UNAVAILABLE,
    SIGNUP_CLOSED, MEDIA_NOT_FOUND, MEDIA_USED, REPOSITORY_NOT_FOUND, FIX_NOT_FOUND, FETCH_FAILED, SITE_ACCESS_NOT_FOUND,
    RANGE_NOT_SATISFIABLE,
)  # fmt: skip


class FieldProblem(msgspec.Struct, frozen=True):
    """An error in one field of a request."""

    field: str
    """`body.settings.maxPages`, `query.limit`."""
    detail: str


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """RFC 9457 problem details; `errors` lists invalid fields."""

    type: str
    title: str
    status: int
    detail: str = ""
    instance: str = ""
    errors: tuple[FieldProblem, ...] = ()


class ApiProblem(Exception):
    """Raised to end a request with a problem response."""

    def __init__(
        self,
        kind: ProblemType,
        detail: str = "",
        errors: tuple[FieldProblem, ...] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail or kind.title)
        self.kind = kind
        self.detail = detail
        self.errors = errors
        self.headers = dict(headers or {})


def problem_response(problem: ApiProblem, path: str) -> Response:
    """The response for a problem."""
    kind = problem.kind
    body = Problem(kind.uri, kind.title, kind.status, problem.detail, path, problem.errors)
    return Response(msgspec.json.encode(body), kind.status, problem.headers, MEDIA_TYPE)
