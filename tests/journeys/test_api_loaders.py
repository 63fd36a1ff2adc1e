"""A site whose knowledge is behind an API: collections declared in the domain config are read like pages, politely."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.journey import crawl, crawl_settings, documents
from tests.support.serve import Answer, Pages, page, prose, serving

from sitelore.cli.domain_config import read_domain_config

SECRET = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
QUERY = (
    "query Faq($after: String) "
    "{ faq(first: 2, after: $after) { nodes { id question answer } pageInfo { endCursor hasNextPage } } }"
)


class Api:
    """Posts in parts of two with a page each, notes that only the list holds, and questions behind GraphQL."""

    def __init__(self) -> None:
        self.posts = {number: (f"Post {number}", "2024-05-06T00:00:00Z") for number in range(1, 6)}

    def __call__(self, target: str) -> Answer | None:
        parts = urlsplit(target)
        asked = {name: value[0] for name, value in parse_qs(parts.query).items()}
        if parts.path == "/":
            return page("Home", prose("home"))
        if parts.path == "/robots.txt":
            return Answer(body=b"User-agent: *\nDisallow: /api/posts/5", content_type="text/plain")
        if parts.path == "/api/posts":
            return self._part(int(asked.get("page", "1")))
        if parts.path.startswith("/api/posts/"):
            return self._post(int(parts.path.rpartition("/")[2]))
        if parts.path == "/api/notes":
            notes = [{"name": f"Note {at}", "body": f"Some {prose(f'note {at}')}\n\nMore."} for at in range(3)]
            return said([*notes, {"name": "Key", "body": f"It is {SECRET}."}])
        if parts.path == "/graphql":
            return self._faq(asked)
        return page(parts.path, prose(parts.path)) if parts.path.startswith("/blog/") else None

    def _part(self, number: int) -> Answer:
        listed = sorted(self.posts)[2 * number - 2 : 2 * number]
        items = [{"id": at, "changed": self.posts[at][1]} for at in listed]
        return said({"items": items, "next": f"/api/posts?page={number + 1}" if 2 * number < len(self.posts) else None})

    def _post(self, number: int) -> Answer | None:
        if number not in self.posts:
            return None
        title, changed = self.posts[number]
        text = f"<p>{prose(title)}</p><p style='display:none'>unseen</p><ul><li>one</li></ul>"
        return said(
            {"id": number, "title": {"rendered": f"{title} &amp; more"}, "body": text, "slug": f"p{number}", "changed": changed}
        )

    def _faq(self, asked: dict[str, str]) -> Answer:
        if "faq(first: 2" not in asked.get("query", ""):
            return said({"errors": [{"message": "no query"}]})
        after = json.loads(asked.get("variables", "{}")).get("after")
        ids = ["c", "d"] if after == "b" else ["a", "b"]
        nodes = [{"id": one, "question": f"Why {one}?", "answer": prose(f"answer {one}")} for one in ids]
        return said({"data": {"faq": {"nodes": nodes, "pageInfo": {"endCursor": ids[-1], "hasNextPage": after is None}}}})


def said(data: Any) -> Answer:
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


async def test_declared_collections_become_pages_and_are_kept_in_step(tmp_path: Path) -> None:
    api = Api()
    pages: Pages = api
    data = tmp_path / "data"
    with serving(pages) as web:
        declared = read_domain_config(config(web.origin, tmp_path))
        settings = crawl_settings(web.url("/"), overrides=declared, discover_sitemaps=False)
        journey = await crawl(data, settings)
        first = {hit.target for hit in web.hits}
        found = {url.removeprefix(web.origin): one for url, one in (await documents(data, journey)).items()}
        assert SECRET not in str(found)
        assert {url for url in found if url.startswith("/api/posts")} == {f"/api/posts/{number}" for number in range(1, 5)}
        post = found["/api/posts/1"]
        assert post["markdown"] == f"# [Post 1 & more]({web.url('/blog/p1')})\n\n{prose('Post 1')}\n\n- one"
        assert (post["title"], post["modified"], post["strategy"]) == ("Post 1 & more", "2024-05-06T00:00:00Z", "api")
        assert found["/api/notes"]["markdown"].startswith(f"## Note 0\n\nSome {prose('note 0')}\n\nMore.\n\n## Note 1")
        assert "REDACTED" in found["/api/notes"]["markdown"]
        asked = [one for url, one in found.items() if url.startswith("/graphql")]
        assert sorted(one["markdown"][:9] for one in asked) == ["## Why a?", "## Why c?"]
        assert "/blog/p1" in found
        assert "/api/posts/5" not in first
        assert journey.rows[web.url("/api/posts/5")].skip_reason == "robots"
        assert journey.rows[web.url("/api/posts/3")].parent == web.url("/api/posts?page=2")
        assert journey.sitemaps[web.url("/api/posts")].detail == "collection: 3 URLs"

        before = len(web.hits)
        api.posts[2] = ("Post 2 anew", "2034-05-06T00:00:00Z")
        again = await crawl(data, settings)
        asked_again = [hit.target for hit in web.hits[before:] if hit.target.startswith("/api/posts/")]
        assert asked_again == ["/api/posts/2"], "only what has changed is fetched"
        assert (await documents(data, again))[web.url("/api/posts/2")]["title"] == "Post 2 anew & more"
        notes = [hit for hit in web.hits[before:] if hit.target == "/api/notes"]
        assert [(hit.conditional, hit.status) for hit in notes] == [(True, 304)]
