"""Writes a run as files: Markdown, JSON Lines, CSV, WARC and the other exports."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from sitelore.app.app import App
from sitelore.export.files import atomic_file
from sitelore.model.frontier import Run
from sitelore.model.settings import LinkStyle
from sitelore.model.states import RunState

if TYPE_CHECKING:
    from sitelore.export.action_manifest import Manifest
    from sitelore.export.boilerplate import Repeats
    from sitelore.export.markdown import MarkdownTree

FILES = {"jsonl": "pages.jsonl", "warc": "crawl.warc.gz", "llms-txt": "llms.txt", "json": "urls.json", "csv": "urls.csv"}


@dataclass(frozen=True, slots=True)
class ExportedFiles:
    """The path of each export, and the Markdown tree if there is one."""

    paths: dict[str, str] = field(default_factory=dict)
    tree: MarkdownTree | None = None


@dataclass(frozen=True, slots=True)
class PageStyle:
    """How pages are written in `md` and `jsonl`."""

    whole: bool = False
    """Whether blocks that repeat over the site are kept in every page."""
    links: LinkStyle = LinkStyle.ABSOLUTE


DEFAULT_STYLE = PageStyle()


async def write_exports(
    app: App, run: Run, out: Path, outputs: frozenset[str], style: PageStyle = DEFAULT_STYLE
) -> ExportedFiles:
    """Write the requested exports into the directory `out`."""
    paths: dict[str, str] = {}
    tree = None
    for output in sorted(outputs - {"db"}):
        if output == "md":
            tree = await write_tree(app, run, out, style)
            paths[output] = str(out)
        else:
            path = out / FILES[output]
            with atomic_file(path) as sink:
                await write_export(app, run, output, sink, style)
            paths[output] = str(path)
    return ExportedFiles(paths, tree)


async def write_tree(app: App, run: Run, folder: Path, style: PageStyle = DEFAULT_STYLE) -> MarkdownTree:
    """Write the Markdown files of a run. Files of pages that are gone are removed only if the run completed."""
    from sitelore.export.markdown import write_markdown

    rows = partial(app.ledger.rows, run.id)
    prune = run.state is RunState.COMPLETED
    repeats = await _repeats(app, run, style)
    return await write_markdown(rows, app.blobs, folder, run.site_name, prune=prune, repeats=repeats, links=style.links)


async def write_export(app: App, run: Run, output: str, sink: BinaryIO, style: PageStyle = DEFAULT_STYLE) -> int:
    """Write one export of a run to an open file. Returns the number of entries."""
    rows = partial(app.ledger.rows, run.id)
    match output:
        case "json":
            from sitelore.export.rows import write_json

            return await write_json(rows(), sink)
        case "csv":
            from sitelore.export.rows import write_csv

            return await write_csv(rows(), sink)
        case "jsonl":
            from sitelore.export.pages import write_jsonl

            return await write_jsonl(rows, app.blobs, sink, await _repeats(app, run, style), style.links)
        case "actions" | "tools":
            from sitelore.export.action_manifest import build_manifest, encode_manifest, encode_tools

            manifest = await build_manifest(rows, app.blobs, run.site_name)
            sink.write(encode_tools(manifest) if output == "tools" else encode_manifest(manifest))
            return len(manifest["actions"])
        case "warc":
            from sitelore.export.warc import write_warc

            return await write_warc(run, rows(), app.blobs, sink)
        case _:
            from sitelore.export.llms_txt import write_llms_txt

            return await write_llms_txt(rows, app.blobs, run.site_name, sink)


async def write_manifest(app: App, run: Run, path: Path) -> tuple[Manifest, bool]:
    """Write the Action Manifest of a run. Returns it, and False if the file was up to date and was not written."""
    from sitelore.export.action_manifest import build_manifest, encode_manifest

    previous = _stored_manifest(path)
    manifest = await build_manifest(partial(app.ledger.rows, run.id), app.blobs, run.site_name, previous)
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


async def _repeats(app: App, run: Run, style: PageStyle) -> Repeats:
    """Blocks that repeat over the run's pages, to be left out of them; none with `whole`."""
    from sitelore.export.boilerplate import NO_REPEATS, find_repeats

    return NO_REPEATS if style.whole else await find_repeats(app.ledger.sketches(run.id))
