"""What a route says of itself in the API's description: its answers, and the problems it may have."""

from __future__ import annotations

from typing import Any

import msgspec

from sitelore.serve import wire
from sitelore.serve.problems import MEDIA_TYPE, Kind, Problem

ANSWERS: tuple[type[msgspec.Struct], ...] = (
    wire.RunView, wire.RunSummary, wire.RunList, wire.UrlList, wire.Graph, wire.Started, wire.JobAnswer, wire.Health,
    wire.Found, wire.SiteList, wire.HeldPages, Problem,
)  # fmt: skip
_REF = "#/components/schemas/{name}"

Responses = dict[int | str, dict[str, Any]]


def reference(shape: type[msgspec.Struct]) -> dict[str, Any]:
    """A pointer to a shape in the description."""
    return {"$ref": _REF.format(name=shape.__name__)}


def shapes() -> dict[str, Any]:
    """The schemas of all answers, from the types that encode them."""
    _, components = msgspec.json.schema_components(ANSWERS, ref_template=_REF)
    return components


def answers(shape: type[msgspec.Struct], *problems: Kind, status: int = 200, text: str = "") -> Responses:
    """A JSON answer of this shape, or one of these problems."""
    good = {"description": text or (shape.__doc__ or "").partition("\n")[0], "content": _content("application/json", shape)}
    return {status: good, **problem_answers(*problems)}


def problem_answers(*kinds: Kind) -> Responses:
    """Problems by status. Two kinds of one status are told apart by `type`."""
    found: Responses = {}
    for kind in kinds:
        line = f"{kind.title} (`{kind.uri}`)."
        if kind.status in found:
            found[kind.status]["description"] += f" {line}"
        else:
            found[kind.status] = {"description": line, "content": _content(MEDIA_TYPE, Problem)}
    return found


def _content(media_type: str, shape: type[msgspec.Struct]) -> dict[str, Any]:
    return {media_type: {"schema": reference(shape)}}
