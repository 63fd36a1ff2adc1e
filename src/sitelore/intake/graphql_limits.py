"""Limits on GraphQL queries: read-only, bounded in length, depth and cost; introspection only of the user's own sites.

The query is measured as written, not executed. A server may still refuse it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MAX_CHARS = 6000
MAX_DEPTH = 10
MAX_COST = 20_000
_DEFAULT_COUNT = 20
"""Assumed for lists without a count argument."""
_TOKEN = re.compile(r'"""(?:[^"]|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"|#[^\n]*|\.\.\.|[A-Za-z_]\w*|-?\d+|[{}():$\[\]!@=&|]')
_MAX_SPREADS = 100
_COUNT_ARGUMENTS = frozenset({"first", "last", "limit", "pagesize", "perpage", "take"})


def graphql_problem(query: str, *, own: bool) -> str:
    """Why a query must not be sent; empty when it may."""
    if len(query) > MAX_CHARS:
        return f"the query is {len(query)} characters long, {MAX_CHARS} are allowed"
    tokens = [token for token in _TOKEN.findall(query) if not token.startswith(("#", '"'))]
    if not tokens or tokens[0] not in {"{", "query", "fragment"}:
        return "only queries are sent, no mutations and no subscriptions"
    if {"mutation", "subscription"} & {token for at, token in enumerate(tokens) if at and tokens[at - 1] == "}"}:
        return "only queries are sent, no mutations and no subscriptions"
    if {"__schema", "__type"} & set(tokens) and not own:
        return "introspection is allowed only on your own sites (own: true)"
    parts = _parts(tokens)
    if parts is None:
        return "its braces do not match"
    depth, cost = _measure(parts)
    if depth > MAX_DEPTH:
        return f"the query is {depth} levels deep, {MAX_DEPTH} are allowed"
    return f"the query may bring {cost} objects, {MAX_COST} are allowed" if cost > MAX_COST else ""


@dataclass(slots=True)
class _Part:
    """An operation or a fragment: its depth and cost, without the fragments it uses."""

    depth: int = 0
    cost: int = 0
    spreads: list[tuple[int, int, str]] = field(default_factory=list)
    """Fragments used in it: depth, number of objects, name."""


def _parts(tokens: list[str]) -> dict[str, _Part] | None:  # noqa: C901 a scanner is most readable as one loop
    """Operations (by number) and fragments (by name) of a query; None when braces or brackets do not match."""
    parts: dict[str, _Part] = {}
    part, name = _Part(), ""
    counts = [1]
    brackets, pending = 0, 1
    for at, symbol in enumerate(tokens):
        following = tokens[at + 1] if at + 1 < len(tokens) else ""
        if symbol in {"(", ")"}:
            brackets += 1 if symbol == "(" else -1
        elif brackets:
            if symbol.lower() in _COUNT_ARGUMENTS and following == ":":
                pending = _count(tokens[at + 2] if at + 2 < len(tokens) else "")
        elif symbol == "{":
            if len(counts) == 1:
                part = parts.setdefault(name or f"{len(parts)}", _Part())
            counts.append(counts[-1] * pending)
            part.cost += counts[-1]
            part.depth, pending = max(part.depth, len(counts) - 1), 1
        elif symbol == "}":
            counts.pop()
            if not counts:
                return None
            name = "" if len(counts) == 1 else name
        elif symbol == "fragment" and len(counts) == 1:
            name = following
        elif symbol == "..." and following not in {"on", "{", "@"}:
            part.spreads.append((len(counts) - 1, counts[-1], following))
    return parts if len(counts) == 1 and not brackets else None


def _count(text: str) -> int:
    return max(1, int(text)) if text.isdecimal() and len(text) < 10 else _DEFAULT_COUNT


def _measure(parts: dict[str, _Part]) -> tuple[int, int]:
    """Depth and cost with every fragment inserted. A fragment that uses itself exceeds the depth limit."""
    known: dict[str, tuple[int, int]] = {}

    def measure(name: str, above: int) -> tuple[int, int]:
        if above > MAX_DEPTH + 1:
            return MAX_DEPTH + 1, 0
        if name not in known:
            part = parts.get(name, _Part())
            depth, cost = part.depth, part.cost
            for at, count, spread in part.spreads[:_MAX_SPREADS]:
                inner, price = measure(spread, above + at)
                depth, cost = max(depth, at + inner - 1), cost + count * price
            known[name] = depth, cost
        return known[name]

    measured = [measure(name, 0) for name in parts]
    return max(depth for depth, _ in measured), max(cost for _, cost in measured)
