"""What a GraphQL query may ask for: reading alone, not too deep, not too much at once, and the schema only of our own sites.

The query is never run here; it is measured as it is written. A server may still find it too much: that is its answer then.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MAX_CHARS = 6000
MAX_DEPTH = 10
MAX_COST = 20_000
_USUAL_COUNT = 20
"""Taken for lists that say no number."""
_TOKEN = re.compile(r'"""(?:[^"]|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"|#[^\n]*|\.\.\.|[A-Za-z_]\w*|-?\d+|[{}():$\[\]!@=&|]')
_MAX_SPREADS = 100
_COUNTS = frozenset({"first", "last", "limit", "pagesize", "perpage", "take"})


def graphql_problem(query: str, *, own: bool) -> str:
    """Why a query may not be sent; empty when it may."""
    if len(query) > MAX_CHARS:
        return f"the query is {len(query)} characters long, {MAX_CHARS} are allowed"
    tokens = [token for token in _TOKEN.findall(query) if not token.startswith(("#", '"'))]
    if not tokens or tokens[0] not in {"{", "query", "fragment"}:
        return "only queries are sent, no mutations and no subscriptions"
    if {"mutation", "subscription"} & {token for at, token in enumerate(tokens) if at and tokens[at - 1] == "}"}:
        return "only queries are sent, no mutations and no subscriptions"
    if {"__schema", "__type"} & set(tokens) and not own:
        return "a schema is asked for only of sites of one's own (own: true)"
    parts = _parts(tokens)
    if parts is None:
        return "its braces do not match"
    depth, cost = _whole(parts)
    if depth > MAX_DEPTH:
        return f"the query is {depth} levels deep, {MAX_DEPTH} are allowed"
    return f"the query may bring {cost} objects, {MAX_COST} are allowed" if cost > MAX_COST else ""


@dataclass(slots=True)
class _Part:
    """An operation or a fragment: how deep it goes and how much it brings, without the fragments it names."""

    depth: int = 0
    cost: int = 0
    spreads: list[tuple[int, int, str]] = field(default_factory=list)
    """Fragments named in it: at which depth, for how many objects, which."""


def _parts(words: list[str]) -> dict[str, _Part] | None:  # noqa: C901 a scanner reads best in one loop
    """Operations (by number) and fragments (by name) of a query; None when braces or brackets do not match."""
    found: dict[str, _Part] = {}
    part, name = _Part(), ""
    counts = [1]
    brackets, pending = 0, 1
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        if word in {"(", ")"}:
            brackets += 1 if word == "(" else -1
        elif brackets:
            if word.lower() in _COUNTS and following == ":":
                pending = _count(words[at + 2] if at + 2 < len(words) else "")
        elif word == "{":
            if len(counts) == 1:
                part = found.setdefault(name or f"{len(found)}", _Part())
            counts.append(counts[-1] * pending)
            part.cost += counts[-1]
            part.depth, pending = max(part.depth, len(counts) - 1), 1
        elif word == "}":
            counts.pop()
            if not counts:
                return None
            name = "" if len(counts) == 1 else name
        elif word == "fragment" and len(counts) == 1:
            name = following
        elif word == "..." and following not in {"on", "{", "@"}:
            part.spreads.append((len(counts) - 1, counts[-1], following))
    return found if len(counts) == 1 and not brackets else None


def _count(said: str) -> int:
    return max(1, int(said)) if said.isdecimal() and len(said) < 10 else _USUAL_COUNT


def _whole(parts: dict[str, _Part]) -> tuple[int, int]:
    """Depth and cost with every fragment in its place. One that names itself is endlessly deep."""
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
