"""Everything that can be wrong with a request, as problem details (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"
_PREFIX = "urn:sitelore:problem:"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of problem: its code, its status, and its title, which is the same each time."""

    code: str
    status: int
    title: str

    @property
    def uri(self) -> str:
        """What identifies the kind in `type`."""
        return _PREFIX + self.code


BAD_JSON = Kind("bad-json", 400, "The body is not JSON")
UNAUTHORIZED = Kind("unauthorized", 401, "A valid bearer token is needed")
CROSS_ORIGIN = Kind("cross-origin", 403, "Requests from other sites are refused")
NOT_FOUND = Kind("not-found", 404, "There is nothing here")
RUN_NOT_FOUND = Kind("run-not-found", 404, "There is no such run")
SITE_NOT_FOUND = Kind("site-not-found", 404, "There is no such site")
METHOD_NOT_ALLOWED = Kind("method-not-allowed", 405, "This cannot be done here")
SLOW_BODY = Kind("slow-body", 408, "The body did not arrive in time")
ALREADY_ENDED = Kind("already-ended", 409, "The run has ended already")
TOO_LARGE = Kind("too-large", 413, "The body is too large")
NOT_JSON = Kind("unsupported-media-type", 415, "The body must be application/json")
MISDIRECTED = Kind("misdirected", 421, "This server does not answer under that name")
INVALID = Kind("invalid", 422, "The request is not valid")
ADDRESS_REFUSED = Kind("address-refused", 422, "The address is not open to crawls from here")
KEY_REUSED = Kind("key-reused", 422, "The idempotency key was used for another request")
INTERNAL = Kind("internal", 500, "Something went wrong on our side")
UNAVAILABLE = Kind("unavailable", 503, "The server cannot do that now")

KINDS = (
    BAD_JSON, UNAUTHORIZED, CROSS_ORIGIN, NOT_FOUND, RUN_NOT_FOUND, SITE_NOT_FOUND, METHOD_NOT_ALLOWED, SLOW_BODY,
    ALREADY_ENDED, TOO_LARGE, NOT_JSON, MISDIRECTED, INVALID, ADDRESS_REFUSED, KEY_REUSED, INTERNAL, UNAVAILABLE,
)  # fmt: skip


class FieldProblem(msgspec.Struct, frozen=True):
    """What is wrong with one field."""

    field: str
    """`body.settings.maxPages`, `query.limit`."""
    detail: str


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Problem details as RFC 9457 has them; `errors` names the fields, where fields are the problem."""

    type: str
    title: str
    status: int
    detail: str = ""
    instance: str = ""
    errors: tuple[FieldProblem, ...] = ()


class Refused(Exception):
    """Ends a request with a problem."""

    def __init__(
        self, kind: Kind, detail: str = "", errors: tuple[FieldProblem, ...] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail or kind.title)
        self.kind = kind
        self.detail = detail
        self.errors = errors
        self.headers = dict(headers or {})


def problem_response(problem: Refused, path: str) -> Response:
    """The answer to a request that was refused."""
    kind = problem.kind
    body = Problem(kind.uri, kind.title, kind.status, problem.detail, path, problem.errors)
    return Response(msgspec.json.encode(body), kind.status, problem.headers, MEDIA_TYPE)
