"""The figures of a run: as a table for people, as one JSON object for programs."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from sitelore.app.app import App
from sitelore.cli.console import counted, visible
from sitelore.cli.progress import duration
from sitelore.export.formats import FORMATS, MARKDOWN, ExportedFiles
from sitelore.export.rows import is_page
from sitelore.model.errors import CorruptData
from sitelore.model.frontier import Run, RunCounts
from sitelore.model.ids import BlobKey
from sitelore.model.response import IN_BROWSER
from sitelore.model.states import REDIRECT_STATES, Proof, SkipReason, UrlState

if TYPE_CHECKING:
    from rich.table import Table

_SAMPLED_PAGES = 200
_BATCH = 20
_SHOWN_FAILURES = 20


class _DocumentFields(msgspec.Struct):
    """The fields of a document that the summary needs."""

    markdown: str = ""
    strategy: str = ""


_DECODER = msgspec.json.Decoder(_DocumentFields)


@dataclass(frozen=True, slots=True)
class Session:
    """The time since a run was started or resumed. A resumed run was idle before, so its own times give no rate."""

    pages_before: int
    """Pages that the run had kept when it was resumed."""
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of a run that are shown at its end."""

    run: Run
    counts: RunCounts
    data: Path
    database: str
    blobs: str
    written: ExportedFiles = field(default_factory=ExportedFiles)
    markdown_chars: float = 0.0
    session: Session = Session(0, 0.0)

    @property
    def rate(self) -> float:
        """Pages per second of the session, of all processes that worked on the run."""
        pages = max(0, self.counts.pages - self.session.pages_before)
        return pages / self.session.elapsed_s if self.session.elapsed_s else 0.0

    @property
    def aliases(self) -> int:
        """URLs of pages that are known under another URL."""
        return self.counts.states.get(UrlState.ALIAS, 0)

    @property
    def redirects(self) -> int:
        """URLs that redirect, whether the target was fetched or not."""
        states = sum(self.counts.states.get(state, 0) for state in REDIRECT_STATES.values())
        return self.counts.proofs.get(Proof.REDIRECT, 0) + states

    @property
    def dedupe_share(self) -> float:
        """Aliases as a share of all URLs with content."""
        return self.aliases / max(1, self.aliases + self.counts.pages)

    @property
    def rendered(self) -> int:
        """Pages that were rendered in a browser."""
        return sum(number for reason, number in self.counts.rendering.items() if reason in IN_BROWSER)

    @property
    def saved(self) -> dict[str, int]:
        """Downloads avoided because of earlier runs, by means."""
        counts = self.counts
        return {
            "not_modified": counts.states.get(UrlState.NOT_MODIFIED, 0),
            "unchanged_lastmod": counts.skipped.get(SkipReason.LASTMOD, 0),
            "within_ttl": counts.skipped.get(SkipReason.TTL, 0),
        }


async def summarise(
    app: App, run: Run, data: Path, written: ExportedFiles | None = None, session: Session | None = None
) -> Summary:
    """Collect the figures of a run."""
    counts = await app.ledger.counts(run.id)
    written = written or ExportedFiles()
    if written.tree is not None and written.tree.pages:
        chars = written.tree.markdown_chars / written.tree.pages
    else:
        chars = await _markdown_chars(app, run)
    if session is None:
        session = Session(0, max(0.0, (run.finished_at or time.time()) - (run.started_at or run.created_at)))
    return Summary(run, counts, data, app.database_name, app.blobs_name, written, chars, session)


async def _markdown_chars(app: App, run: Run) -> float:
    """The average length of a page's Markdown, over an even sample of a large run."""
    keys = await app.ledger.documents(run.id, _SAMPLED_PAGES)
    total = 0
    for start in range(0, len(keys), _BATCH):
        documents = await asyncio.gather(*(_document(app, key) for key in keys[start : start + _BATCH]))
        total += sum(len(document.markdown) for document in documents)
    return total / max(1, len(keys))


async def _document(app: App, key: BlobKey) -> _DocumentFields:
    try:
        return _DECODER.decode(await app.blobs.get(key))
    except (KeyError, msgspec.DecodeError) as error:
        raise CorruptData(f"The stored document {key} is missing or damaged; crawl the site again with --force.") from error


async def debug_lines(app: App, run: Run) -> list[str]:
    """Lines for `--debug`: pages per extraction strategy, and the first failures."""
    strategies: Counter[str] = Counter()
    failures: list[str] = []
    async for row in app.ledger.rows(run.id):
        if is_page(row) and row.document is not None:
            strategies[(await _document(app, row.document)).strategy or "none"] += 1
        elif row.error and len(failures) < _SHOWN_FAILURES:
            failures.append(f"failed: {row.url}: {visible(row.error)}")
    return [*(f"strategy {name}: {counted(count, 'page')}" for name, count in strategies.most_common()), *failures]


def as_json(summary: Summary) -> dict[str, Any]:
    """The summary as one JSON object."""
    run, counts = summary.run, summary.counts
    return {
        "run": run.id,
        "site": run.site_name,
        "state": run.state.value,
        "states": dict(sorted(counts.states.items())),
        "pages": counts.pages,
        "data": str(summary.data),
        "blobs": summary.blobs,
        "urls": counts.urls,
        "unique_final_urls": counts.pages,
        "redirects": summary.redirects,
        "aliases": dict(sorted(counts.proofs.items())),
        "not_found": counts.states.get(UrlState.NOT_FOUND, 0),
        "soft_404": counts.states.get(UrlState.SOFT_404, 0),
        "skipped": dict(sorted(counts.skipped.items())),
        "errors": dict(sorted(counts.errors.items())),
        "dedupe_share": round(summary.dedupe_share, 4),
        "avg_markdown_chars": round(summary.markdown_chars, 1),
        "words": counts.words,
        "fetched": counts.fetched,
        "prefetch_unused": counts.prefetch_unused,
        "new": counts.new,
        "changed": counts.changed,
        "saved": summary.saved,
        "sitemaps": counts.sitemaps,
        **({"media": {**asdict(counts.media), "saved_bytes": counts.media.saved_bytes}} if run.settings.media.types else {}),
        "redactions": dict(sorted(counts.redactions.items())),
        "rendered": summary.rendered,
        "rendering": dict(sorted(counts.rendering.items())),
        "bytes": counts.body_bytes,
        "elapsed_s": round(summary.session.elapsed_s, 3),
        "pages_per_s": round(summary.rate, 2),
        "outputs": {"db": summary.database, **summary.written.paths},
        "error": run.error,
    }


def as_table(summary: Summary) -> Table:
    """The summary as a table."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    run = summary.run
    colour = {"COMPLETED": "green", "FAILED": "red"}.get(run.state.value, "yellow")
    table = Table(box=box.SIMPLE, show_header=False, pad_edge=False, title_justify="left")
    table.title = Text.assemble((run.site_name, "bold"), "  ", (run.state.value, colour))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _lines(summary):
        table.add_row(name, visible(value))
    return table


def _lines(summary: Summary) -> list[tuple[str, str]]:
    counts = summary.counts
    lines = [
        ("run", summary.run.id),
        ("pages kept", f"{counts.pages:,}  ({counts.new:,} new, {counts.changed:,} changed)"),
        ("URLs in total", f"{counts.urls:,}"),
        ("unique final URLs", f"{counts.pages:,}"),
        ("redirects", f"{summary.redirects:,}"),
        ("404s", f"{counts.states.get(UrlState.NOT_FOUND, 0):,}"),
        ("soft 404s", f"{counts.states.get(UrlState.SOFT_404, 0):,}"),
        ("skipped as duplicates", f"{summary.dedupe_share:.1%}{_by_count(counts.proofs, '  by ')}"),
        ("average Markdown", f"{summary.markdown_chars:,.0f} characters"),
    ]
    if counts.skipped:
        lines.append(("skipped", _by_count(counts.skipped)))
    if counts.errors:
        lines.append(("errors", _by_count(counts.errors)))
    if saved := {name: number for name, number in summary.saved.items() if number}:
        lines.append(("fetches saved", f"{sum(saved.values()):,}  ({_by_count(saved)})"))
    if counts.rendering:
        lines.append(("rendered in a browser", f"{summary.rendered:,}  ({_by_count(counts.rendering)})"))
    if media := counts.media.total:
        skipped = _by_count({"duplicates": counts.media.duplicates_skipped, "unchanged": counts.media.unchanged})
        lines.append(("media", f"{media:,}  ({skipped}, {size(counts.media.saved_bytes)} saved by compression)"))
    if counts.redactions:
        lines.append(("secrets redacted", _by_count(counts.redactions)))
    if counts.prefetch_unused:
        lines.append(("fetched ahead, unused", f"{counts.prefetch_unused:,}"))
    session = summary.session
    requests = counted(counts.fetched, "request")
    took = f"{duration(session.elapsed_s)}, {summary.rate:.1f} pages/s, {requests}, {size(counts.body_bytes)}"
    lines += [("took", took), ("database", summary.database), ("blob store", summary.blobs)]
    labels = {MARKDOWN: "Markdown", **{name: form.label or name for name, form in FORMATS.items()}}
    lines += [(labels[name], path) for name, path in summary.written.paths.items()]
    return lines


def _by_count(numbers: dict[str, int], prefix: str = "") -> str:
    ordered = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))
    text = ", ".join(f"{name} {number:,}" for name, number in ordered)
    return prefix + text if text else ""


def size(number: float) -> str:
    """A number of bytes as text."""
    for unit in ("bytes", "KB", "MB"):
        if number < 1000:
            return f"{number:,.0f} {unit}" if unit == "bytes" else f"{number:,.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} GB"
