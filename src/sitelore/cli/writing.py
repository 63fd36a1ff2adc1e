"""Writes the exports of a run to their files."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from sitelore.deploy.house import House
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
class Written:
    """What was written where."""

    paths: dict[str, str] = field(default_factory=dict)
    tree: MarkdownTree | None = None


@dataclass(frozen=True, slots=True)
class PageView:
    """How pages are shown in `md` and `jsonl`."""

    whole: bool = False
    """Whether blocks that repeat over the site stay in every page."""
    links: LinkStyle = LinkStyle.ABSOLUTE


AS_STORED = PageView()


async def write_outputs(house: House, run: Run, out: Path, outputs: frozenset[str], view: PageView = AS_STORED) -> Written:
    """Write every requested output below `out`. The database is written already."""
    paths: dict[str, str] = {}
    tree = None
    for output in sorted(outputs - {"db"}):
        if output == "md":
            tree = await write_tree(house, run, out, view)
            paths[output] = str(out)
        else:
            path = out / FILES[output]
            with atomic_file(path) as sink:
                await write_to(house, run, output, sink, view)
            paths[output] = str(path)
    return Written(paths, tree)


async def write_tree(house: House, run: Run, folder: Path, view: PageView = AS_STORED) -> MarkdownTree:
    """Write the Markdown files of a run. Files of pages that are gone are removed only when the run saw the whole site."""
    from sitelore.export.markdown import write_markdown

    rows = partial(house.ledger.rows, run.id)
    prune = run.state is RunState.COMPLETED
    repeats = await _repeats(house, run, view)
    return await write_markdown(rows, house.blobs, folder, run.site_name, prune=prune, repeats=repeats, links=view.links)


async def write_to(house: House, run: Run, output: str, sink: BinaryIO, view: PageView = AS_STORED) -> int:
    """Write one export of a run to an open file. Returns the number of entries."""
    rows = partial(house.ledger.rows, run.id)
    match output:
        case "json":
            from sitelore.export.rows import write_json

            return await write_json(rows(), sink)
        case "csv":
            from sitelore.export.rows import write_csv

            return await write_csv(rows(), sink)
        case "jsonl":
            from sitelore.export.pages import write_jsonl

            return await write_jsonl(rows, house.blobs, sink, await _repeats(house, run, view), view.links)
        case "actions" | "tools":
            from sitelore.export.action_manifest import build_manifest, encode_manifest, encode_tools

            manifest = await build_manifest(rows, house.blobs, run.site_name)
            sink.write(encode_tools(manifest) if output == "tools" else encode_manifest(manifest))
            return len(manifest["actions"])
        case "warc":
            from sitelore.export.warc import write_warc

            return await write_warc(run, rows(), house.blobs, sink)
        case _:
            from sitelore.export.llms_txt import write_llms_txt

            return await write_llms_txt(rows, house.blobs, run.site_name, sink)


async def write_manifest(house: House, run: Run, path: Path) -> tuple[Manifest, bool]:
    """The Action Manifest of a run as a file, and whether that was needed: one that says the same already is left alone."""
    from sitelore.export.action_manifest import build_manifest, encode_manifest

    previous = _earlier(path)
    manifest = await build_manifest(partial(house.ledger.rows, run.id), house.blobs, run.site_name, previous)
    if manifest is previous:
        return manifest, False
    with atomic_file(path) as sink:
        sink.write(encode_manifest(manifest))
    return manifest, True


def _earlier(path: Path) -> Manifest | None:
    from sitelore.export.action_manifest import read_manifest

    try:
        return read_manifest(path.read_bytes())
    except OSError:
        return None


async def _repeats(house: House, run: Run, view: PageView) -> Repeats:
    """Blocks that repeat over the run's pages and are left out of them, unless the view is whole."""
    from sitelore.export.boilerplate import NO_REPEATS, find_repeats

    return NO_REPEATS if view.whole else await find_repeats(house.ledger.sketches(run.id))
