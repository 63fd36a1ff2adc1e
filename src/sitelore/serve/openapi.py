"""The description of the API (OpenAPI 3.1), served at `/openapi.json`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from sitelore.serve import problems
from sitelore.serve.described import problem_answers, shapes
from sitelore.serve.doors import OPEN_PATHS
from sitelore.serve.problems import MEDIA_TYPE

_EVERYWHERE = (problems.INVALID, problems.INTERNAL, problems.UNAVAILABLE)
_WITH_BODY = (problems.BAD_JSON, problems.SLOW_BODY, problems.TOO_LARGE, problems.NOT_JSON)


def describe(app: FastAPI, *, with_tokens: bool) -> dict[str, Any]:
    """Every route with every answer it may give."""
    described = get_openapi(
        title="Sitelore",
        version=version("sitelore"),
        description="Turns websites into clean, current, searchable knowledge.",
        routes=app.routes,
    )
    components = described.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas.update(shapes())
    if with_tokens:
        components["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            _complete(path, method, operation, with_tokens=with_tokens)
    return described


def _complete(path: str, method: str, operation: dict[str, Any], *, with_tokens: bool) -> None:
    """Add what all routes have: who may ask, and the problems that stand at the doors."""
    kinds = [*_EVERYWHERE]
    if method == "post":
        kinds += _WITH_BODY
    if not with_tokens:
        kinds += [problems.MISDIRECTED, problems.CROSS_ORIGIN]
    elif path not in OPEN_PATHS:
        kinds.append(problems.UNAUTHORIZED)
        operation["security"] = [{"bearer": []}]
    responses: dict[str, Any] = operation["responses"]
    if MEDIA_TYPE not in responses.get("422", {}).get("content", {MEDIA_TYPE: None}):
        del responses["422"]  # the framework's own words for it
    for status, answer in problem_answers(*kinds).items():
        stands = responses.get(str(status))
        if stands is None:
            responses[str(status)] = answer
        elif answer["description"] not in stands["description"]:
            stands["description"] += f" {answer['description']}"
    operation["responses"] = dict(sorted(responses.items()))
