"""Proposals for the open findings of a site, as patches for a checkout or as HTML before and after.

A patch is checked before it is written: its edits apply, its file is one that may be changed, and for plain HTML the rule is
run again on the patched page. Nothing in the checkout is changed.
"""

from __future__ import annotations

import asyncio
import os
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from sitelore.app.app import App
from sitelore.app.audit.link_places import html_reader
from sitelore.app.audit.phase import AuditResult
from sitelore.app.audit.suggestions import MAX_REQUESTS, TEXT_CONSTRAINTS, NoGeneratedText, Suggestion, generate_text
from sitelore.audit.catalogue import RULES, AuditConfig
from sitelore.audit.fixes.checkout import CONFIGURATION, Checkout
from sitelore.audit.fixes.html_fixes import HTML_FIXES, TEMPLATE_RULES
from sitelore.audit.fixes.proposals import FIXABLE, PageText, PatchSeries, Proposal, Refusal, propose, propose_html
from sitelore.audit.fixes.source import FixContext, NoFix, apply_edits, changed_lines, kind_of, unified_diff
from sitelore.audit.page import PageContent, audit_page
from sitelore.audit.site import Site, TargetKind
from sitelore.export.files import atomic_file
from sitelore.extract.audit_facts import decode_audit_facts, decompress_blob
from sitelore.extract.page import read
from sitelore.index.embeddings.endpoint import Endpoint
from sitelore.model.audit.findings import Finding, FindingRecord
from sitelore.model.document import ReadOptions
from sitelore.model.errors import UsageError
from sitelore.model.frontier import RowKind, Source, UrlListing, UrlRow
from sitelore.model.ids import NO_TEXT, RunId
from sitelore.model.response import Response
from sitelore.model.states import KEPT, UrlState
from sitelore.model.url import Url
from sitelore.ports import Blobs, Ledger

MAX_FILE_BYTES = 1_000_000
MAX_FILES = 20_000
MAX_CHANGED_LINES = 50
"""Of a file, for one finding."""
_MAX_LIVE_URLS = 10_000
"""URLs among which the one that a broken link means is looked for, when a person waits for it."""
_NEEDS_URLS = frozenset({"broken-internal-link", "canonical-chain", "canonical-to-bad", "canonical-to-home"})
_SKIPPED_FOLDERS = frozenset({"node_modules", "vendor", "venv", "__pycache__"})
_SUMMARY = "summary.md"
_SUGGESTIONS = "suggestions.json"
"""The words of a model, with the prompt, the model and the tokens of each."""
_SAME_LANGUAGE = 0.9


@dataclass(slots=True)
class Fixes:
    """The proposals for a site."""

    proposals: list[Proposal] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    patches: dict[str, str] = field(default_factory=dict)
    """Unified diffs by file name, one for each rule. They are applied in this order."""
    suggestions: Mapping[str, Suggestion] = field(default_factory=dict)
    """Words of a model by the key of the finding."""


def read_checkout(folder: Path, start_path: str = "/") -> Checkout:
    """The files of a checkout that fixes may read. Links, hidden folders and large files are left out."""
    if not folder.is_dir():
        raise UsageError(f"no folder {folder}")
    files: dict[str, str] = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if is_source_folder(name))
        for name in sorted(names):
            path = Path(parent, name)
            relative = path.relative_to(folder).as_posix()
            if is_source_name(relative) and not path.is_symlink() and path.stat().st_size <= MAX_FILE_BYTES:
                files[relative] = path.read_bytes().decode("utf-8", "surrogateescape")
        if len(files) > MAX_FILES:
            raise UsageError(f"{folder} has more than {MAX_FILES:,} source files; name the folder of the site's sources")
    return Checkout(files, start_path)


def base_path_of(site: Site) -> str:
    """The path of the URL under which a site is published: the folder of its start page."""
    return site.start.url.path.rpartition("/")[0] + "/" if site.start is not None else "/"


def is_source_folder(name: str) -> bool:
    """Whether fixes may read a folder of this name."""
    return not name.startswith(".") and name not in _SKIPPED_FOLDERS


def is_source_name(path: str) -> bool:
    """Whether fixes may read a file of this name: a source, or the configuration of a generator."""
    return posixpath.basename(path) in CONFIGURATION or kind_of(path) is not None


async def find_fixes(
    app: App, result: AuditResult, records: Iterable[FindingRecord], checkout: Checkout | None, words: Mapping[str, str]
) -> Fixes:
    """Proposals for open findings of an audit, in a checkout or, without one, for the pages as they were received."""
    fixes = Fixes()
    pages = _Pages(app, result)
    live = [str(page.url) for page in result.site.html_pages]
    year, lang = datetime.fromtimestamp(app.clock(), UTC).year, _site_lang(result.site)
    templates_done: set[str] = set()
    for finding in (record.finding for record in records):
        if finding.rule not in FIXABLE:
            continue
        context = FixContext(finding, Url.trusted(finding.url), year, _is_live(result.site), live, words, lang)
        of_template = checkout is not None and checkout.is_generated and finding.rule in TEMPLATE_RULES
        if of_template and finding.rule in templates_done:
            continue
        try:
            if checkout is None:
                fixes.proposals.append(propose_html(await pages.html(finding.url), context))
                continue
            # In a thread: a server answers requests meanwhile.
            fixes.proposals.append(await asyncio.to_thread(_checked, checkout, await pages.text(finding.url), context))
            if of_template:
                templates_done.add(finding.rule)
        except NoFix as reason:
            fixes.refusals.append(Refusal(finding, str(reason)))
    if checkout is not None:
        fixes.patches = _patches(fixes, checkout)
    return fixes


async def generate_texts(
    app: App, result: AuditResult, records: Iterable[FindingRecord], words: Mapping[str, str], endpoint: Endpoint
) -> tuple[dict[str, Suggestion], list[Refusal]]:
    """Generate texts with an LLM for findings without a text by a person, at most `MAX_REQUESTS`; and why others have none."""
    pages, suggestions, refusals = _Pages(app, result), dict[str, Suggestion](), list[Refusal]()
    wanted = [each.finding for each in records if each.finding.rule in TEXT_CONSTRAINTS and each.finding.key not in words]
    for finding in wanted[:MAX_REQUESTS]:
        try:
            suggestions[finding.key] = await generate_text(endpoint, finding, (await pages.text(finding.url)).text)
        except NoGeneratedText as reason:
            refusals.append(Refusal(finding, str(reason)))
    refusals += (Refusal(finding, f"more than {MAX_REQUESTS} requests to the model") for finding in wanted[MAX_REQUESTS:])
    return suggestions, refusals


async def html_proposal(ledger: Ledger, blobs: Blobs, record: FindingRecord, now: float) -> Proposal:
    """A proposal for the HTML of a page as the last run that had the finding received it; `NoFix` when there is none."""
    finding, run = record.finding, RunId(record.seen_run)
    if finding.rule not in HTML_FIXES:
        raise NoFix("the rule has no automatic fix; follow the advice")
    url = Url.trusted(finding.url)
    html = await _stored_html(ledger, blobs, run, finding.url)
    listing = UrlListing(KEPT, limit=_MAX_LIVE_URLS)
    live = {str(each.url) for each in (await ledger.list_run_urls(run, listing))[0]} if finding.rule in _NEEDS_URLS else set()
    year = datetime.fromtimestamp(now, UTC).year
    return propose_html(html, FixContext(finding, url, year, live.__contains__, sorted(live)))


async def _stored_html(ledger: Ledger, blobs: Blobs, run: RunId, url: str) -> str:
    html = await html_reader(ledger, blobs, run)(url)
    if not html:
        raise NoFix("no HTML of the page is stored")
    return html


def _site_lang(site: Site) -> str:
    """The language that most pages declare; empty where they differ."""
    langs = Counter(page.lang for page in site.html_pages if page.lang)
    lang, count = next(iter(langs.most_common(1)), ("", 0))
    return lang if count >= _SAME_LANGUAGE * langs.total() else ""


def _is_live(site: Site) -> Callable[[str], bool]:
    def is_live(url: str) -> bool:
        return site.target(url).kind is TargetKind.PAGE

    return is_live


class _Pages:
    """The stored text, links and HTML of pages."""

    def __init__(self, app: App, result: AuditResult) -> None:
        self._result = result
        run = result.run
        self._ledger, self._blobs = app.ledger.for_tenant(run.tenant), app.blobs.for_tenant(run.tenant)

    async def text(self, url: str) -> PageText:
        """The main text of a page, and the URLs that it links."""
        row = await self._row(url)
        if row is None or row.document is None:
            return PageText(NO_TEXT)
        content = PageContent.of(msgspec.json.decode(await self._blobs.get(row.document)))
        links = tuple(link.target for link in self._result.site.graph.outlinks(url))
        return PageText(content.text, links)

    async def html(self, url: str) -> str:
        """The HTML of a page as it was received, redacted."""
        return await _stored_html(self._ledger, self._blobs, self._result.run.id, url)

    async def _row(self, url: str) -> UrlRow | None:
        return await self._ledger.row(self._result.run.id, Url.trusted(url))


# Checks


def _checked(checkout: Checkout, page: PageText, context: FixContext) -> Proposal:
    """A proposal in a checkout that passed its checks; `NoFix` when there is none."""
    proposal = propose(checkout, page, context)
    return replace(proposal, is_checked=_check(proposal, checkout))


def _check(proposal: Proposal, checkout: Checkout) -> bool:
    """Refuse a proposal that changes too much, or after which the rule still fires on a page of plain HTML.

    Returns whether the rule was run again.
    """
    before = checkout.files[proposal.path]
    after = apply_edits(before, proposal.edits)
    if changed_lines(before, after) > MAX_CHANGED_LINES:
        raise NoFix("too many lines would change")
    rule = RULES[proposal.finding.rule]
    if rule.page_check is None or checkout.is_generated or kind_of(proposal.path) != "html":
        return False
    if proposal.finding.key in {each.key for each in _findings(proposal.finding, after)}:
        raise NoFix("the rule would still find it")
    return True


def _findings(finding: Finding, html: str) -> Iterator[Finding]:
    """What the rule of a finding finds in another HTML of its page."""
    url, rule = Url.trusted(finding.url), RULES[finding.rule]
    body = html.encode("utf-8", "surrogateescape")
    reading = read(Response(url, 200, (("content-type", "text/html"),), body), ReadOptions(facts=True, keep_snapshot=False))
    if reading.facts is None or reading.document is None:
        return iter(())
    row = UrlRow(
        RunId(""), url, RowKind.PAGE, UrlState.VISITED, 0, Source.SEED, status_code=200, word_count=reading.word_count,
        content_type="text/html",
    )  # fmt: skip
    # Documents are compressed like facts.
    document = msgspec.json.decode(decompress_blob(reading.document))
    page = audit_page(row, None, decode_audit_facts(decompress_blob(reading.facts)), document)
    return rule.findings(rule.page_check(page, AuditConfig().limits(rule)) if rule.page_check else (), finding.url)


# Patches


def _patches(fixes: Fixes, checkout: Checkout) -> dict[str, str]:
    """Patches by name, one for each rule, to be applied in the order of their names."""
    by_rule: dict[str, list[Proposal]] = {}
    for proposal in fixes.proposals:
        by_rule.setdefault(proposal.finding.rule, []).append(proposal)
    series = PatchSeries(checkout.files)
    overlapping = [refusal for rule, own in by_rule.items() for refusal in series.add(rule, own)]
    keys = {refusal.finding.key for refusal in overlapping}
    fixes.proposals = [each for each in fixes.proposals if each.finding.key not in keys]
    fixes.refusals += overlapping
    return {
        f"{number:02}-{rule}.patch": "".join(unified_diff(path, *texts) for path, texts in sorted(changed.items()))
        for number, (rule, changed) in enumerate(series.changes, 1)
        if changed
    }


def write_fixes(fixes: Fixes, folder: Path) -> list[str]:
    """Write the patches and a summary. Gives their names."""
    for name, patch in fixes.patches.items():
        with atomic_file(folder / name) as sink:
            sink.write(patch.encode("utf-8", "surrogateescape"))
    names = list(fixes.patches)
    if fixes.suggestions:
        with atomic_file(folder / _SUGGESTIONS) as sink:
            sink.write(msgspec.json.format(msgspec.json.encode(fixes.suggestions)))
        names.append(_SUGGESTIONS)
    with atomic_file(folder / _SUMMARY) as sink:
        sink.write("\n".join(_summary(fixes)).encode("utf-8", "replace"))
    return [*names, _SUMMARY]


def _summary(fixes: Fixes) -> Iterator[str]:
    yield f"# Proposals\n\nProposals: {len(fixes.proposals):,}; findings without one: {len(fixes.refusals):,}.\n"
    for proposal in fixes.proposals:
        finding, rule = proposal.finding, RULES[proposal.finding.rule]
        yield f"## {rule.title}\n\n- page: <{finding.url}>\n- rule: `{finding.rule}`"
        if proposal.path:
            yield f"- file: `{proposal.path}` ({proposal.mapping})"
        if (words := fixes.suggestions.get(finding.key)) is not None:
            yield f"- words: suggested by {words.model}, not checked"
        yield f"\n```diff\n{_marked('-', proposal.before)}\n{_marked('+', proposal.after)}\n```\n"
    if fixes.refusals:
        yield "## Without a proposal\n"
        for (rule_id, reason), count in Counter((each.finding.rule, each.reason) for each in fixes.refusals).most_common():
            yield f"- `{rule_id}`: {reason} ({count})"
        yield ""


def _marked(sign: str, text: str) -> str:
    return "\n".join(f"{sign}{line}" for line in text.splitlines())
