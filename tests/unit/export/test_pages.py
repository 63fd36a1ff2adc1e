from __future__ import annotations

import io
import json

import pytest
from tests.unit.export.stored_run import StoredRun

from sitelore.export.llms_txt import write_llms_full, write_llms_txt
from sitelore.export.pages import crawl_status, write_jsonl
from sitelore.model.settings import LinkStyle
from sitelore.model.states import SkipReason, UrlState

CONTRACT = {
    "url",
    "final_url",
    "canonical_url",
    "status_code",
    "crawl_status",
    "title",
    "h1",
    "description",
    "lang",
    "markdown",
    "text",
    "word_count",
    "content_hash",
    "strategy",
    "depth",
    "links",
    "structured",
    "forms",
    "actions",
    "media",
    "etag",
    "last_modified",
    "fetched_at",
}


@pytest.mark.parametrize(
    ("style", "markdown"),
    [
        (LinkStyle.ABSOLUTE, "[b](http://example.com/b/c#d) ![i](http://example.com/i)"),
        (LinkStyle.RELATIVE, "[b](../b/c#d) ![i](http://example.com/i)"),
        (LinkStyle.TEXT, "b ![i](http://example.com/i)"),
        (LinkStyle.NONE, "b i"),
    ],
)
async def test_links_in_the_markdown_of_json_lines_are_written_in_the_chosen_style(
    style: LinkStyle, markdown: str, stored: StoredRun
) -> None:
    links = [{"url": "http://example.com/b/c"}]
    stored.page("http://example.com/a/x", markdown="[b](http://example.com/b/c#d) ![i](http://example.com/i)", links=links)
    sink = io.BytesIO()
    await write_jsonl(stored.rows, stored, sink, links=style)
    page = json.loads(sink.getvalue())
    assert page["markdown"] == markdown
    assert page["links"] == links, "they are data, and stay absolute"


@pytest.mark.parametrize(
    ("state", "status"),
    [
        (UrlState.VISITED, "OK"),
        (UrlState.NOT_MODIFIED, "OK"),
        (UrlState.ALIAS, "REDIRECT_ALIAS"),
        (UrlState.REDIRECT_301, "REDIRECT_ALIAS"),
        (UrlState.NOT_FOUND, "NOT_FOUND"),
        (UrlState.SOFT_404, "SOFT_404"),
        (UrlState.FORBIDDEN, "ERROR"),
        (UrlState.FAILED, "ERROR"),
        (UrlState.QUEUED, None),
        (UrlState.SKIPPED, None),
    ],
)
def test_every_state_has_its_crawl_status(state: UrlState, status: str | None, stored: StoredRun) -> None:
    assert crawl_status(stored.other("http://example.com/", state)) == status


async def test_jsonl_lists_kept_pages_only_with_everything_the_contract_names(stored: StoredRun) -> None:
    stored.page("http://example.com/b", h1="Hi")
    stored.page("http://example.com/a")
    stored.alias("http://example.com/c", "http://example.com/a")
    stored.other("http://example.com/d", UrlState.NOT_FOUND)
    sink = io.BytesIO()
    assert await write_jsonl(stored.rows, stored, sink) == 2
    first, second = (json.loads(line) for line in sink.getvalue().splitlines())
    assert first.keys() >= CONTRACT
    assert (first["url"], first["aliases"]) == ("http://example.com/a", ["http://example.com/c"])
    assert second["h1"] == "Hi"


async def test_a_page_left_alone_because_it_is_unchanged_is_still_a_page(stored: StoredRun) -> None:
    page = stored.page("http://example.com/a")
    stored.stored_rows.clear()
    unchanged = SkipReason.LASTMOD
    stored.other("http://example.com/a", UrlState.SKIPPED, skip_reason=unchanged, document=page.document)
    stored.other("http://example.com/b", UrlState.SKIPPED, skip_reason=SkipReason.ROBOTS, document=page.document)
    sink = io.BytesIO()
    assert await write_jsonl(stored.rows, stored, sink) == 1
    assert json.loads(sink.getvalue())["crawl_status"] == "OK"


async def test_many_pages_keep_their_order(stored: StoredRun) -> None:
    for number in range(50):
        stored.page(f"http://example.com/{number:03}", markdown=str(number))
    sink = io.BytesIO()
    await write_jsonl(stored.rows, stored, sink)
    assert [json.loads(line)["markdown"] for line in sink.getvalue().splitlines()] == [str(number) for number in range(50)]


async def test_llms_txt_names_the_site_and_lists_its_pages_by_section(stored: StoredRun) -> None:
    stored.page("http://example.com/", title="Example", description="All about\nexamples.")
    stored.page("http://example.com/docs/a", title="A [draft]", description="First")
    stored.page("http://example.com/docs-old/x", title="Old")
    stored.page("http://example.com/docs/b(1)", title="B")
    sink = io.BytesIO()
    assert await write_llms_txt(stored.rows, stored, "example.com", sink) == 4
    assert sink.getvalue().decode() == (
        "# Example\n\n> All about examples.\n"
        "\n## Pages\n\n- [Example](http://example.com/): All about examples.\n- [Old](http://example.com/docs-old/x)\n"
        "\n## Docs\n\n- [A \\[draft\\]](http://example.com/docs/a): First\n- [B](http://example.com/docs/b%281%29)\n"
    )


async def test_a_description_is_a_whole_sentence_of_the_page_and_no_notice(stored: StoredRun) -> None:
    long = " ".join(["word"] * 60)
    texts = {
        "": "Everything about the mills of the north and their keepers.",
        "a": "It grinds corn (i.e. wheat) and other grain by wind. More.",
        "b": f"{long.capitalize()}.",
        "c": "This page is licensed under the Mill Licence Version 2.\nThe keeper lives in the cottage beside the mill.",
    }
    for name, text in texts.items():
        stored.page(f"http://x.org/manual/{name}", title=f"Page {name}".strip(), text=text)
    sink = io.BytesIO()
    await write_llms_txt(stored.rows, stored, "x.org", sink)
    lines = sink.getvalue().decode().splitlines()
    assert lines[2] == "> Everything about the mills of the north and their keepers."
    descriptions = [line.partition(": ")[2] for line in lines if line.startswith("- [Page ")]
    assert descriptions == [
        "It grinds corn (i.e. wheat) and other grain by wind.",
        f"{' '.join(['Word', *['word'] * 39])} …",
        "The keeper lives in the cottage beside the mill.",
    ]


async def test_llms_txt_names_sections_by_their_folder_and_leaves_the_site_out_of_titles(stored: StoredRun) -> None:
    toc = "\n".join(f"- [Chapter {n}](http://x.org/manual/guide/{n})" for n in range(20))
    stored.page("http://x.org/manual/", title="Mill Manual", text="Welcome. The mill grinds corn by wind and by water.")
    stored.page("http://x.org/manual/guide/", title="The Guide | Mill Manual", markdown=toc, text="toc", word_count=45)
    for number in range(3):
        stored.page(f"http://x.org/manual/guide/{number}", title=f"Part {number} - sails | Mill Manual")
    stored.page("http://x.org/manual/api-notes/a", title="A | Mill Manual")
    stored.page(
        "http://x.org/manual/api-notes/b", title="B | Mill Manual", text="- Each sail turns at its own speed here. More."
    )
    stored.page("http://x.org/manual/tag/corn", title="Corn | Mill Manual")
    stored.page("http://x.org/manual/guide/list?page=2", title="Page 2 | Mill Manual")
    stored.page("http://x.org/manual/genindex.html", title="Index | Mill Manual")
    sink = io.BytesIO()
    assert await write_llms_txt(stored.rows, stored, "x.org", sink) == 6
    assert sink.getvalue().decode() == (
        "# Mill Manual\n\n> 6 pages of x.org.\n"
        "\n## Pages\n\n- [Mill Manual](http://x.org/manual/)\n"
        "\n## Api notes\n\n- [A](http://x.org/manual/api-notes/a)\n"
        "- [B](http://x.org/manual/api-notes/b): Each sail turns at its own speed here.\n"
        "\n## The Guide\n\n"
        + "".join(f"- [Part {number} - sails](http://x.org/manual/guide/{number})\n" for number in range(3))
    )


async def test_llms_full_txt_has_the_pages_in_the_order_of_the_list(stored: StoredRun) -> None:
    stored.page("http://x.org/b/2", title="Two", markdown="# Two\n\nSecond.")
    stored.page("http://x.org/b/1", title="One", markdown="# One\n\nFirst.")
    stored.page("http://x.org/", title="Home", markdown="Welcome.", description="All of it")
    sink = io.BytesIO()
    assert await write_llms_full(stored.rows, stored, "x.org", sink) == 3
    assert sink.getvalue().decode() == (
        "# Home\n\n> All of it\n"
        "\n---\n\n# Home\n\nSource: http://x.org/\n\nWelcome.\n"
        "\n---\n\n# One\n\nSource: http://x.org/b/1\n\nFirst.\n"
        "\n---\n\n# Two\n\nSource: http://x.org/b/2\n\nSecond.\n"
    )


async def test_llms_txt_leaves_out_noindex_pages(stored: StoredRun) -> None:
    page = stored.page("http://example.com/hidden")
    stored.stored_rows.clear()
    stored.other("http://example.com/hidden", UrlState.VISITED, document=page.document, noindex=True)
    sink = io.BytesIO()
    assert await write_llms_txt(stored.rows, stored, "example.com", sink) == 0
    assert b"hidden" not in sink.getvalue()
