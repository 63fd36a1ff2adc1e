"""The export formats of a run: the name of each, its file, and the function that writes it.

A new format is a function here and an entry in `FORMATS`, which `sitelore export --format` and `crawl --output` offer. The
tree of Markdown files (`md`) is a folder, so it is not among them. The API streams some of the formats: `serve/streaming.py`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from sitelore.export.files import atomic_file
from sitelore.model.frontier import Run, UrlRow
from sitelore.model.settings import LinkStyle
from sitelore.model.states import RunState
from sitelore.ports import Blobs, Ledger

if TYPE_CHECKING:
    from sitelore.export.action_manifest import Manifest
    from sitelore.export.boilerplate import Repeats
    from sitelore.export.markdown import MarkdownTree

MARKDOWN = "md"


@dataclass(frozen=True, slots=True)
class ExportSource:
    """A run to export, where its rows and documents are, and how its pages are written in `md` and `jsonl`."""

    run: Run
    ledger: Ledger
    blobs: Blobs
    whole: bool = False
    """Whether blocks that repeat over the site are kept in every page."""
    links: LinkStyle = LinkStyle.ABSOLUTE
    select: Callable[[], AsyncIterator[UrlRow]] | None = None
    """Reads some rows of the run instead of all."""

    def rows(self) -> AsyncIterator[UrlRow]:
        """The URLs of the run, sorted by key."""
        return self.ledger.rows(self.run.id) if self.select is None else self.select()

    async def repeats(self) -> Repeats:
        """Blocks that repeat over the run's pages, to be left out of them; none with `whole`."""
        from sitelore.export.boilerplate import NO_REPEATS, find_repeats

        return NO_REPEATS if self.whole else await find_repeats(self.ledger.sketches(self.run.id))


async def _write_json(source: ExportSource, sink: BinaryIO) -> int:
    from sitelore.export.rows import write_json

    return await write_json(source.rows(), sink)


async def _write_csv(source: ExportSource, sink: BinaryIO) -> int:
    from sitelore.export.rows import write_csv

    return await write_csv(source.rows(), sink)


async def _write_jsonl(source: ExportSource, sink: BinaryIO) -> int:
    from sitelore.export.pages import write_jsonl

    return await write_jsonl(source.rows, source.blobs, sink, await source.repeats(), source.links)


async def _write_warc(source: ExportSource, sink: BinaryIO) -> int:
    from sitelore.export.warc import write_warc

    return await write_warc(source.run, source.rows(), source.blobs, sink)


async def _write_llms_txt(source: ExportSource, sink: BinaryIO) -> int:
    from sitelore.export.llms_txt import write_llms_txt

    return await write_llms_txt(source.rows, source.blobs, source.run.site_name, sink)


async def _write_llms_full(source: ExportSource, sink: BinaryIO) -> int:
    from sitelore.export.llms_txt import write_llms_full

    return await write_llms_full(source.rows, source.blobs, source.run.site_name, sink, await source.repeats())


async def _write_actions(source: ExportSource, sink: BinaryIO) -> int:
    from sitelore.export.action_manifest import build_manifest, encode_manifest

    manifest = await build_manifest(source.rows, source.blobs, source.run.site_name)
    sink.write(encode_manifest(manifest))
    return len(manifest["actions"])


async def _write_tools(source: ExportSource, sink: BinaryIO) -> int:
    from sitelore.export.action_manifest import build_manifest, encode_tools

    manifest = await build_manifest(source.rows, source.blobs, source.run.site_name)
    sink.write(encode_tools(manifest))
    return len(manifest["actions"])


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """One format that a run can be written in."""

    write: Callable[[ExportSource, BinaryIO], Awaitable[int]]
    """Writes the run to an open file and returns the number of entries."""
    filename: str
    """The file that `crawl --output` writes."""
    entry: str = "page"
    """What one entry is called."""
    label: str = ""
    """The name of the format in the summary of a crawl; empty: as in `FORMATS`."""


FORMATS = {
    "json": ExportFormat(_write_json, "urls.json", "row"),
    "csv": ExportFormat(_write_csv, "urls.csv", "row"),
    "jsonl": ExportFormat(_write_jsonl, "pages.jsonl", label="JSON Lines"),
    "warc": ExportFormat(_write_warc, "crawl.warc.gz", label="WARC"),
    "llms-txt": ExportFormat(_write_llms_txt, "llms.txt", label="llms.txt"),
    "llms-full-txt": ExportFormat(_write_llms_full, "llms-full.txt", label="llms-full.txt"),
    "actions": ExportFormat(_write_actions, "actions.json", "action"),
    "tools": ExportFormat(_write_tools, "tools.json", "action"),
}
"""All formats by name. Their modules are imported when they are used: the command line reads this table at every start."""


@dataclass(frozen=True, slots=True)
class ExportedFiles:
    """The path of each export, and the Markdown tree if there is one."""

    paths: dict[str, str] = field(default_factory=dict)
    tree: MarkdownTree | None = None


URL_LISTS = frozenset({"json", "csv"})
"""Formats with a row for every URL, kept or not. The others consist of pages."""
_RECORD = Path(".sitelore") / "formats.json"
"""In a directory of exports: the formats written there, each with the site of its file."""


def recorded_formats(out: Path, site: str) -> frozenset[str]:
    """The formats that earlier crawls of this site wrote into `out`, so that a new crawl refreshes every file."""
    recorded = _read_record(out)
    return frozenset(name for name, owner in recorded.items() if owner == site and name in FORMATS)


def _record_formats(out: Path, site: str, names: frozenset[str]) -> None:
    recorded = _read_record(out)
    current = recorded | {name: site for name in sorted(names) if name in FORMATS}
    if current != recorded:
        with atomic_file(out / _RECORD) as sink:
            sink.write(msgspec.json.encode(current))


def _read_record(out: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode((out / _RECORD).read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        return {}


async def write_exports(source: ExportSource, out: Path, names: frozenset[str]) -> ExportedFiles:
    """Write the named exports into the directory `out`, and record which they are."""
    paths: dict[str, str] = {}
    tree = None
    for name in sorted(names):
        if name == MARKDOWN:
            tree = await write_tree(source, out)
            paths[name] = str(out)
        else:
            path = out / FORMATS[name].filename
            with atomic_file(path) as sink:
                await FORMATS[name].write(source, sink)
            paths[name] = str(path)
    _record_formats(out, source.run.site_name, names)
    return ExportedFiles(paths, tree)


async def write_tree(source: ExportSource, folder: Path) -> MarkdownTree:
    """Write the Markdown files of a run. Files of pages that are gone are removed only if the run completed."""
    from sitelore.export.markdown import write_markdown

    run = source.run
    return await write_markdown(
        source.rows,
        source.blobs,
        folder,
        run.site_name,
        prune=run.state is RunState.COMPLETED,
        repeats=await source.repeats(),
        links=source.links,
    )


async def write_manifest(source: ExportSource, path: Path) -> tuple[Manifest, bool]:
    """Write the Action Manifest of a run. Returns it, and False if the file was up to date and was not written."""
    from sitelore.export.action_manifest import build_manifest, encode_manifest

    previous = _stored_manifest(path)
    manifest = await build_manifest(source.rows, source.blobs, source.run.site_name, previous)
    if manifest is previous:
        return manifest, False
    with atomic_file(path) as sink:
        sink.write(encode_manifest(manifest))
    return manifest, True


def _stored_manifest(path: Path) -> Manifest | None:
    from sitelore.export.action_manifest import read_manifest

    try:
        return read_manifest(path.read_bytes())
    except OSError:
        return None
