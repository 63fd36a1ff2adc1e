"""OpenAPI 3.1 description of the API, served at `/openapi.json`, and the response declarations that routes use."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from sitelore.serve import problems
from sitelore.serve.problems import MEDIA_TYPE, Problem, ProblemType
from sitelore.serve.security.middleware import OPEN_PATHS, PUBLIC_PATHS

_EVERYWHERE = (problems.INVALID, problems.INTERNAL, problems.UNAVAILABLE)
_LIMITED = (problems.FORBIDDEN, problems.TENANT_SUSPENDED, problems.RATE_LIMITED)
_WITH_BODY = (problems.BAD_JSON, problems.SLOW_BODY, problems.TOO_LARGE, problems.NOT_JSON)


def openapi_document(app: FastAPI, *, with_tokens: bool) -> dict[str, Any]:
    """The OpenAPI document: every route with every response."""
    described = get_openapi(
        title="Sitelore",
        version=version("sitelore"),
        description="Turns websites into clean, current, searchable knowledge.",
        routes=app.routes,
    )
    components = described.setdefault("components", {})
    definitions = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        definitions.pop(name, None)
    definitions.update(response_schemas())
    if with_tokens:
        components["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            _complete(path, method, operation, with_tokens=with_tokens)
    return described


def _complete(path: str, method: str, operation: dict[str, Any], *, with_tokens: bool) -> None:
    """Add what all routes share: authentication, and the problems that the middleware may answer with."""
    kinds = [*_EVERYWHERE]
    if method in {"post", "patch", "put"}:
        kinds += _WITH_BODY
    if path not in OPEN_PATHS:
        kinds += _LIMITED
    if not with_tokens:
        kinds += [problems.MISDIRECTED, problems.CROSS_ORIGIN]
    if path not in PUBLIC_PATHS:
        kinds.append(problems.UNAUTHORIZED)  # a server without tokens needs one as soon as the first is created
        if with_tokens:
            operation["security"] = [{"bearer": []}]
    responses: dict[str, Any] = operation["responses"]
    if MEDIA_TYPE not in responses.get("422", {}).get("content", {MEDIA_TYPE: None}):
        del responses["422"]  # the framework's own validation error, which we never send
    for status, answer in problem_answers(*kinds).items():
        declared = responses.get(str(status))
        if declared is None:
            responses[str(status)] = answer
        elif answer["description"] not in declared["description"]:
            declared["description"] += f" {answer['description']}"
    operation["responses"] = dict(sorted(responses.items()))


_REF = "#/components/schemas/{name}"

Responses = dict[int | str, dict[str, Any]]


DECLARED: set[type[msgspec.Struct]] = {Problem}
"""The types of all responses that routes declare."""


def reference(schema: type[msgspec.Struct]) -> dict[str, Any]:
    """A `$ref` to the schema of a response, which the document has then."""
    DECLARED.add(schema)
    return {"$ref": _REF.format(name=schema.__name__)}


def response_schemas() -> dict[str, Any]:
    """Schemas of all responses, generated from the types that encode them."""
    _, components = msgspec.json.schema_components(sorted(DECLARED, key=lambda schema: schema.__name__), ref_template=_REF)
    return components


def answers(schema: type[msgspec.Struct], *problems: ProblemType, status: int = 200, text: str = "") -> Responses:
    """Response declarations: JSON of this schema, or one of these problems."""
    good = {"description": text or (schema.__doc__ or "").partition("\n")[0], "content": _content("application/json", schema)}
    return {status: good, **problem_answers(*problems)}


def empty_answer(text: str, *problems: ProblemType) -> Responses:
    """Response declarations: 204 without a body, or one of these problems."""
    return {204: {"description": text}, **problem_answers(*problems)}


def problem_answers(*kinds: ProblemType) -> Responses:
    """Response declarations of problems, by status. Two kinds with one status differ in `type`."""
    by_status: Responses = {}
    for kind in kinds:
        line = f"{kind.title} (`{kind.uri}`)."
        if kind.status in by_status:
            by_status[kind.status]["description"] += f" {line}"
        else:
            by_status[kind.status] = {"description": line, "content": _content(MEDIA_TYPE, Problem)}
    return by_status


def _content(media_type: str, schema: type[msgspec.Struct]) -> dict[str, Any]:
    return {media_type: {"schema": reference(schema)}}
