"""A site with content behind an API: collections of the domain config are fetched politely and become pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.crawls import crawl, crawl_settings, documents
from tests.support.http_server import Answer, Pages, page, prose, serve_site

from sitelore.app.config.domain_rules import read_domain_config

SECRET = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
QUERY = (
    "query Faq($after: String) "
    "{ faq(first: 2, after: $after) { nodes { id question answer } pageInfo { endCursor hasNextPage } } }"
)


class Api:
    """Posts in batches of two with a page each, notes that only the list contains, and questions behind GraphQL."""

    def __init__(self) -> None:
        self.posts = {number: (f"Post {number}", "2024-05-06T00:00:00Z") for number in range(1, 6)}

    def __call__(self, target: str) -> Answer | None:
        parts = urlsplit(target)
        parameters = {name: value[0] for name, value in parse_qs(parts.query).items()}
        if parts.path == "/":
            return page("Home", prose("home"))
        if parts.path == "/robots.txt":
            return Answer(body=b"User-agent: *\nDisallow: /api/posts/5", content_type="text/plain")
        if parts.path == "/api/posts":
            return self._part(int(parameters.get("page", "1")))
        if parts.path.startswith("/api/posts/"):
            return self._post(int(parts.path.rpartition("/")[2]))
        if parts.path == "/api/notes":
            notes = [{"name": f"Note {at}", "body": f"Some {prose(f'note {at}')}\n\nMore."} for at in range(3)]
            return json_answer([*notes, {"name": "Key", "body": f"It is {SECRET}."}])
        if parts.path == "/graphql":
            return self._faq(parameters)
        return page(parts.path, prose(parts.path)) if parts.path.startswith("/blog/") else None

    def _part(self, number: int) -> Answer:
        listed = sorted(self.posts)[2 * number - 2 : 2 * number]
        items = [{"id": at, "changed": self.posts[at][1]} for at in listed]
        return json_answer({"items": items, "next": f"/api/posts?page={number + 1}" if 2 * number < len(self.posts) else None})

    def _post(self, number: int) -> Answer | None:
        if number not in self.posts:
            return None
        title, changed = self.posts[number]
        text = f"<p>{prose(title)}</p><p style='display:none'>unseen</p><ul><li>one</li></ul>"
        return json_answer(
            {"id": number, "title": {"rendered": f"{title} &amp; more"}, "body": text, "slug": f"p{number}", "changed": changed}
        )

    def _faq(self, parameters: dict[str, str]) -> Answer:
        if "faq(first: 2" not in parameters.get("query", ""):
            return json_answer({"errors": [{"message": "no query"}]})
        after = json.loads(parameters.get("variables", "{}")).get("after")
        ids = ["c", "d"] if after == "b" else ["a", "b"]
        nodes = [{"id": id_, "question": f"Why {id_}?", "answer": prose(f"answer {id_}")} for id_ in ids]
        return json_answer(
            {"data": {"faq": {"nodes": nodes, "pageInfo": {"endCursor": ids[-1], "hasNextPage": after is None}}}}
        )


def json_answer(data: Any) -> Answer:
    return Answer(body=json.dumps(data).encode(), content_type="application/json")


def config(origin: str, path: Path) -> Path:
    posts = {
        "url": f"{origin}/api/posts", "records": "items", "record": "/api/posts/{id}", "page": "/blog/{slug}",
        "title": "title.rendered", "text": ["body"], "updated": "changed", "next": "next",
    }  # fmt: skip
    notes = {"url": f"{origin}/api/notes", "title": "name", "text": "body"}
    faq = {
        "url": f"{origin}/graphql", "query": QUERY, "records": "data.faq.nodes", "title": "question", "text": "answer",
        "next": "data.faq.pageInfo.endCursor", "more": "data.faq.pageInfo.hasNextPage", "cursor": "after",
    }  # fmt: skip
    file = path / "site.json"
    file.write_text(json.dumps({"domain": "127.0.0.1", "loaders": [posts, notes, faq]}))
    return file


async def test_declared_collections_become_pages_and_follow_changes(tmp_path: Path) -> None:
    api = Api()
    pages: Pages = api
    data = tmp_path / "data"
    with serve_site(pages) as http_server:
        declared = read_domain_config(config(http_server.origin, tmp_path))
        settings = crawl_settings(http_server.url("/"), overrides=declared, discover_sitemaps=False)
        result = await crawl(data, settings)
        first = {hit.target for hit in http_server.hits}
        by_path = {url.removeprefix(http_server.origin): document for url, document in (await documents(data, result)).items()}
        assert SECRET not in str(by_path)
        assert {url for url in by_path if url.startswith("/api/posts")} == {f"/api/posts/{number}" for number in range(1, 5)}
        post = by_path["/api/posts/1"]
        assert post["markdown"] == f"# [Post 1 & more]({http_server.url('/blog/p1')})\n\n{prose('Post 1')}\n\n- one"
        assert (post["title"], post["modified"], post["strategy"]) == ("Post 1 & more", "2024-05-06T00:00:00Z", "api")
        assert by_path["/api/notes"]["markdown"].startswith(f"## Note 0\n\nSome {prose('note 0')}\n\nMore.\n\n## Note 1")
        assert "REDACTED" in by_path["/api/notes"]["markdown"]
        questions = [document for url, document in by_path.items() if url.startswith("/graphql")]
        assert sorted(document["markdown"][:9] for document in questions) == ["## Why a?", "## Why c?"]
        assert "/blog/p1" in by_path
        assert "/api/posts/5" not in first
        assert result.rows[http_server.url("/api/posts/5")].skip_reason == "robots"
        assert result.rows[http_server.url("/api/posts/3")].parent == http_server.url("/api/posts?page=2")
        assert result.sitemaps[http_server.url("/api/posts")].detail == "collection: 3 URLs"

        before = len(http_server.hits)
        api.posts[2] = ("Post 2 anew", "2034-05-06T00:00:00Z")
        again = await crawl(data, settings)
        refetched = [hit.target for hit in http_server.hits[before:] if hit.target.startswith("/api/posts/")]
        assert refetched == ["/api/posts/2"], "only changed items are fetched"
        assert (await documents(data, again))[http_server.url("/api/posts/2")]["title"] == "Post 2 anew & more"
        notes = [hit for hit in http_server.hits[before:] if hit.target == "/api/notes"]
        assert [(hit.conditional, hit.status) for hit in notes] == [(True, 304)]
