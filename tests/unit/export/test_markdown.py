from __future__ import annotations

import errno
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml
from tests.unit.export.stored_run import StoredRun

from sitelore.export.files import atomic_file
from sitelore.export.markdown import write_markdown
from sitelore.model.errors import CorruptData, DiskFull, StorageError
from sitelore.model.settings import LinkStyle
from sitelore.model.states import UrlState


def front_and_body(path: Path) -> tuple[dict[str, Any], str]:
    _, front, body = path.read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(front), body


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*.md")}


async def test_a_page_with_several_urls_becomes_one_file(stored: StoredRun, tmp_path: Path) -> None:
    stored.page("http://example.com/", markdown="# Home")
    stored.alias("http://example.com/index.php", "http://example.com/")
    stored.alias("http://example.com/old", "http://example.com/")
    result = await write_markdown(stored.rows, stored, tmp_path, "example.com")
    assert tree(tmp_path) == {"example.com/index.md"}
    front, body = front_and_body(tmp_path / "example.com/index.md")
    assert front["aliases"] == ["http://example.com/index.php", "http://example.com/old"]
    assert body == "\n# Home\n"
    assert (result.pages, result.markdown_chars) == (1, 6)


async def test_front_matter_holds_the_facts_that_people_use_and_nothing_else(stored: StoredRun, tmp_path: Path) -> None:
    facts = {
        "description": "Says hi",
        "lang": "en",
        "published": "2024-05",
        "modified": "2024-05-06T07:08:09+02:00",
        "author": "Ann",
        "canonical_url": "http://example.com/a",
    }
    stored.page("http://example.com/a", h1="Hi", site_name="Example", links=[{"url": "http://example.com/b"}], **facts)
    stored.alias("http://example.com/old", "http://example.com/a")
    await write_markdown(stored.rows, stored, tmp_path, "example.com")
    front, _ = front_and_body(tmp_path / "example.com/a.md")
    assert front == {
        "url": "http://example.com/a",
        "title": "Hello",
        "description": "Says hi",
        "lang": "en",
        "published": "2024-05",
        "modified": "2024-05-06T07:08:09+02:00",
        "author": "Ann",
        "canonical": "http://example.com/a",
        "status": 200,
        "depth": 1,
        "words": 2,
        "content_hash": "c0ffee",
        "fetched_at": "2023-11-14T22:13:20Z",
        "aliases": ["http://example.com/old"],
    }


async def test_the_file_starts_with_the_title_once(stored: StoredRun, tmp_path: Path) -> None:
    stored.page("http://example.com/a", title="Tea & *more*", markdown="# Tea & \\*more\\*\n\nText.")
    await write_markdown(stored.rows, stored, tmp_path, "example.com")
    _, body = front_and_body(tmp_path / "example.com/a.md")
    assert body == "\n# Tea & \\*more\\*\n\nText.\n"


async def test_facts_that_a_page_does_not_state_are_left_out_of_front_matter(stored: StoredRun, tmp_path: Path) -> None:
    stored.page("http://example.com/a", title="", description="", lang="", author="")
    await write_markdown(stored.rows, stored, tmp_path, "example.com")
    front, _ = front_and_body(tmp_path / "example.com/a.md")
    assert list(front) == ["url", "status", "depth", "words", "content_hash", "fetched_at"]


@pytest.mark.parametrize(
    "title", ["a: b\n---\nx: 1", 'say "hi" \\ #no', "- [x]", "\u2028line\x85\ufeff", "\x00\x7f", "😀 &a *b !!c", "yes"]
)
async def test_no_title_breaks_the_front_matter(title: str, stored: StoredRun, tmp_path: Path) -> None:
    stored.page("http://example.com/a", title=title, description=title, author=title)
    await write_markdown(stored.rows, stored, tmp_path, "example.com")
    front, _ = front_and_body(tmp_path / "example.com/a.md")
    assert (front["title"], front["description"], front["author"]) == (title, title, title)


async def test_relative_links_lead_to_the_files_of_exported_pages(stored: StoredRun, tmp_path: Path) -> None:
    links = {
        "http://example.com/b/c#part": "b/c.md#part",
        "http://example.com/": "index.md",
        "http://example.com/old": "b/c.md",
        "http://example.com/a#top": "#top",
        "http://example.com/f(1)?x=2": "f%281%29-x-2-",
        "http://example.com/not-crawled": "http://example.com/not-crawled",
        "http://docs.example.com/": "../docs.example.com/index.md",
        "https://elsewhere.example/": "https://elsewhere.example/",
    }
    for url in ("http://example.com/", "http://example.com/b/c", "http://example.com/f(1)?x=2", "http://docs.example.com/"):
        stored.page(url, markdown="# Page\n\n[up](http://example.com/a)")
    stored.alias("http://example.com/old", "http://example.com/b/c")
    stored.page("http://example.com/a", markdown="\n\n".join(f"[link](<{url}>)" for url in links))
    await write_markdown(stored.rows, stored, tmp_path, "example.com", links=LinkStyle.RELATIVE)
    _, body = front_and_body(tmp_path / "example.com/a.md")
    for line, (url, written) in zip(body.strip().split("\n\n"), links.items(), strict=True):
        assert line.startswith(f"[link](<{written}"), url
        target = unquote(line.removeprefix("[link](<").removesuffix(">)").partition("#")[0])
        assert "://" in target or (tmp_path / "example.com" / target).exists(), url
    _, body = front_and_body(tmp_path / "example.com/b/c.md")
    assert body == "\n# Page\n\n[up](../a.md)\n"


async def test_links_can_be_written_as_text(stored: StoredRun, tmp_path: Path) -> None:
    stored.page("http://example.com/a", markdown="# Hi\n\n[b](http://example.com/b) ![i](http://example.com/i)")
    for style, body in ((LinkStyle.TEXT, "b ![i](http://example.com/i)"), (LinkStyle.NONE, "b i")):
        await write_markdown(stored.rows, stored, tmp_path, "example.com", links=style)
        assert front_and_body(tmp_path / "example.com/a.md")[1] == f"\n# Hi\n\n{body}\n"


async def test_only_files_of_deleted_pages_are_removed(stored: StoredRun, tmp_path: Path) -> None:
    for path in ("a", "b/c", "d"):
        stored.page(f"http://example.com/{path}")
    await write_markdown(stored.rows, stored, tmp_path, "example.com")
    (tmp_path / "example.com/notes.md").write_text("mine")
    stored.stored_rows = [row for row in stored.stored_rows if row.url.endswith("/a")]
    result = await write_markdown(stored.rows, stored, tmp_path, "example.com")
    assert result.removed == 2
    assert tree(tmp_path) == {"example.com/a.md", "example.com/notes.md"}
    assert not (tmp_path / "example.com/b").exists()


async def test_another_site_in_the_same_folder_is_left_alone(stored: StoredRun, tmp_path: Path) -> None:
    stored.page("http://one.example/a")
    await write_markdown(stored.rows, stored, tmp_path, "one.example")
    stored.stored_rows.clear()
    stored.page("http://two.example/a")
    await write_markdown(stored.rows, stored, tmp_path, "two.example")
    assert tree(tmp_path) == {"one.example/a.md", "two.example/a.md"}


async def test_a_run_without_any_page_removes_nothing(stored: StoredRun, tmp_path: Path) -> None:
    stored.page("http://example.com/a")
    await write_markdown(stored.rows, stored, tmp_path, "example.com")
    stored.stored_rows.clear()
    stored.other("http://example.com/", UrlState.FAILED, error="dns_error: no such host")
    await write_markdown(stored.rows, stored, tmp_path, "example.com")
    assert tree(tmp_path) == {"example.com/a.md"}
    stored.page("http://example.com/b")
    await write_markdown(stored.rows, stored, tmp_path, "example.com")
    assert tree(tmp_path) == {"example.com/b.md"}, "what was spared is still known as ours"


async def test_a_list_that_someone_edited_cannot_remove_files_elsewhere(stored: StoredRun, tmp_path: Path) -> None:
    folder, outside = tmp_path / "out", tmp_path / "precious.md"
    outside.write_text("mine")
    stored.page("http://example.com/a")
    await write_markdown(stored.rows, stored, folder, "example.com")
    [listing] = (folder / ".sitelore").glob("*.txt")
    (folder / "link").symlink_to(tmp_path)
    listing.write_text(f"../precious.md\n{outside}\nlink/precious.md\n")
    await write_markdown(stored.rows, stored, folder, "example.com")
    assert outside.read_text() == "mine"


async def test_files_that_an_interrupted_export_wrote_are_still_ours(stored: StoredRun, tmp_path: Path) -> None:
    stored.page("http://example.com/a")
    lost = stored.page("http://example.com/b")
    assert lost.document is not None
    kept = stored.kept.pop(lost.document)
    with pytest.raises(CorruptData, match=r"document of http://example.com/b is missing"):
        await write_markdown(stored.rows, stored, tmp_path, "example.com")
    stored.kept[lost.document] = kept
    stored.page("http://example.com/c")
    stored.stored_rows = stored.stored_rows[2:]
    await write_markdown(stored.rows, stored, tmp_path, "example.com")
    assert tree(tmp_path) == {"example.com/c.md"}


async def test_a_folder_that_cannot_be_written_gives_a_one_line_error(stored: StoredRun, tmp_path: Path) -> None:
    stored.page("http://example.com/a")
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write"):
        await write_markdown(stored.rows, stored, tmp_path / "file", "example.com")


def test_a_full_disk_leaves_the_old_file_and_no_temporary_one(tmp_path: Path) -> None:
    target = tmp_path / "pages.jsonl"
    target.write_text("old")

    def run_out_of_room() -> None:
        with atomic_file(target) as sink:
            sink.write(b"new")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(DiskFull, match="no space left on the disk"):
        run_out_of_room()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
