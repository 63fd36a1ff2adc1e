"""Declared collections of an API: which records they list, where the next part is, and what may be requested for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sitelore.intake.graphql_limits import graphql_problem
from sitelore.intake.sitemap import read_collection
from sitelore.model.api_loader import collection_loader, filled, record_loader, start_url, values
from sitelore.model.response import Response
from sitelore.model.settings import Loader, Overrides
from sitelore.model.url import Url

POSTS = Loader("https://a.example/api/posts", record="/api/posts/{id}", text=("body",), updated="changed", next="next")


def answer(data: Any, url: str = POSTS.url, **headers: str) -> Response:
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    return Response(Url(url), 200, tuple(headers.items()), body)


def test_a_path_leads_through_objects_and_lists() -> None:
    data = {"data": {"edges": [{"node": {"id": 1}}, {"node": {"id": 2}}, {"x": 3}, 4]}}
    assert values(data, "data.edges.*.node.id") == [1, 2]
    assert values(data, "data.edges.1.node") == [{"id": 2}]
    assert values(data, "data.nothing.*") == []
    assert values(data, "") == [data]


def test_a_record_url_is_built_from_the_fields_of_the_record() -> None:
    assert filled("/p/{a.b}/{c}", {"a": {"b": "x y/z"}, "c": 7}, "https://a.example/q") == "https://a.example/p/x%20y%2Fz/7"
    assert filled("{link}", {"link": "https://b.example/x"}, "https://a.example/") == "https://b.example/x"
    assert filled("/p/{a}", {"a": None}, "https://a.example/") is None


def test_a_collection_lists_its_records_and_the_next_part() -> None:
    data = [{"id": 1, "changed": "2024-05-06T00:00:00Z"}, {"id": 2}, {"title": "no id"}, "junk"]
    part = read_collection(answer({"items": data, "next": "/api/posts?page=2"}), Loader(**_fields(POSTS, records="items")))
    assert [(str(entry.url), entry.lastmod) for entry in part.entries] == [
        ("https://a.example/api/posts/1", 1714953600.0),
        ("https://a.example/api/posts/2", None),
    ]
    assert [str(child.url) for child in part.children] == ["https://a.example/api/posts?page=2"]
    assert (part.kind, part.problem) == ("collection", "")


def _fields(loader: Loader, **changes: Any) -> dict[str, Any]:
    return {name: getattr(loader, name) for name in loader.__slots__} | changes


def test_a_link_header_names_the_next_part() -> None:
    plain = Loader(**_fields(POSTS, next=""))
    links = '<https://a.example/api/posts?page=1>; rel="prev", <https://a.example/api/posts?page=3>; rel="next"'
    part = read_collection(answer([{"id": 1}], link=links), plain)
    assert [str(child.url) for child in part.children] == ["https://a.example/api/posts?page=3"]


def test_an_empty_part_is_the_last_one() -> None:
    assert (
        read_collection(
            answer({"records": [], "next": "/api/posts?page=9"}), Loader(**_fields(POSTS, records="records"))
        ).children
        == ()
    )


@pytest.mark.parametrize("body", [b"", b"<html>", b"[" * 100_000, b'"text"', b"{}", b"[[1],[2]]", b'{"errors":[1]}'])
def test_an_answer_of_another_kind_lists_nothing(body: bytes) -> None:
    part = read_collection(answer(body), POSTS)
    assert part.entries == ()


def test_urls_are_recognised_as_collection_or_record() -> None:
    declared = (Overrides("a.example", loaders=(POSTS,)),)
    assert collection_loader(Url("https://a.example/api/posts?page=4"), declared) is POSTS
    assert record_loader(Url("https://a.example/api/posts/17"), declared) is POSTS
    assert record_loader(Url("https://a.example/api/posts/17/comments"), declared) is None
    assert collection_loader(Url("https://b.example/api/posts"), declared) is None


QUERY = "query Posts($after: String) { posts(first: 50, after: $after) { nodes { id title } pageInfo { endCursor } } }"


def test_a_graphql_query_is_sent_in_the_url_and_paginated_by_cursor() -> None:
    loader = Loader(
        "https://a.example/graphql",
        records="data.posts.nodes",
        record="/posts/{id}",
        text=("title",),
        next="data.posts.pageInfo.endCursor",
        more="data.posts.pageInfo.hasNextPage",
        cursor="after",
        query=QUERY,
    )
    start = start_url(loader)
    assert start is not None
    assert "query=query%20Posts" in start
    assert "sha256Hash" in start
    info: dict[str, Any] = {"endCursor": "xyz", "hasNextPage": True}
    data = {"data": {"posts": {"nodes": [{"id": "a"}], "pageInfo": info}}}
    part = read_collection(answer(data, str(start)), loader)
    assert "variables=%7B%22after%22%3A%22xyz%22%7D" in str(part.children[0].url)
    assert collection_loader(part.children[0].url, (Overrides("a.example", loaders=(loader,)),)) is loader
    info["hasNextPage"] = False
    assert read_collection(answer(data, str(start)), loader).children == ()
    hash_alone = start_url(Loader(**_fields(loader, persisted=True)))
    assert hash_alone is not None
    assert "query=" not in hash_alone
    refused = read_collection(answer({"errors": [{"message": "PersistedQueryNotFound"}]}, str(start)), loader)
    assert refused.problem == "api_error: PersistedQueryNotFound"


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        (QUERY, ""),
        ("{ a { b } }", ""),
        ("mutation { drop }", "only queries"),
        ("query A { a } mutation B { b }", "only queries"),
        ("{ __schema { types { name } } }", "introspection is allowed only on your own sites"),
        ("{ a" * 11 + "}" * 11, "the query is 11 levels deep"),
        ("{ a(first: 1000) { b(first: 1000) { c } } }", "the query may bring"),
        ("{ a(first: $n) { b(limit: $n) { c(last: $n) { d(take: $n) { e } } } } }", "the query may bring"),
        ("{ a ", "its braces do not match"),
        ('{ a(x: "}}}") { b } } # }', ""),
        ("{ a { ...F } } fragment F on T { b { c } }", ""),
        ("{ a { ...F } } fragment F on T { b { ...F } }", "the query is"),
        (
            "{ a { b { c { d { e { f { ...F } } } } } } } fragment F on T { g { h { i { j { k } } } } }",
            "the query is 11 levels deep",
        ),
        ("{ a(first: 500) { ...F } } fragment F on T { b(first: 500) { c } }", "the query may bring"),
        ("{ a { ... on T { b } } }", ""),
        ("", "only queries"),
        ("{" + "a " * 4000 + "}", "the query is 8002 characters long"),
    ],
)
def test_a_query_is_measured_before_it_is_sent(query: str, problem: str) -> None:
    part = graphql_problem(query, own=False)
    assert part.startswith(problem)
    assert bool(part) == bool(problem)


def test_introspection_is_allowed_on_own_sites() -> None:
    assert graphql_problem("{ __schema { types { name } } }", own=True) == ""
