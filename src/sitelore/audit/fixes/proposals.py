"""Proposals for the findings of a site: an edit of a source file, or of the HTML as it was received, or the reason for none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from sitelore.audit.fixes.checkout import Checkout
from sitelore.audit.fixes.html_fixes import HTML_FIXES, TEMPLATE_RULES
from sitelore.audit.fixes.html_tags import HtmlText
from sitelore.audit.fixes.markup_fixes import MARKUP_FIXES, robots_fix
from sitelore.audit.fixes.source import Edit, FixContext, NoFix, SourceKind, apply_edits, kind_of
from sitelore.model.audit.findings import Finding
from sitelore.model.ids import CleanText

MAX_FRAGMENT_CHARS = 400

FIXABLE = frozenset({*HTML_FIXES, *MARKUP_FIXES, "robots-txt-invalid"})
"""The rules for whose findings there may be a proposal."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Edits that fix a finding."""

    finding: Finding
    path: str
    """The source file; empty for the HTML as it was received."""
    edits: tuple[Edit, ...]
    before: str
    """The lines that change."""
    after: str
    mapping: str = ""
    """How the file was found."""
    is_checked: bool = False
    """Whether the same rule ran on the patched file and does not find it any more."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a finding has no proposal."""

    finding: Finding
    reason: str


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page and the URLs that it links, by which its source is found."""

    text: CleanText
    links: tuple[str, ...] = ()


def propose(checkout: Checkout, page: PageText, context: FixContext) -> Proposal:
    """A proposal in a checkout. Raises `NoFix` when there is none."""
    path, mapping = _source(checkout, page, context.finding)
    context = _located(context, path, checkout)
    return _proposal(context, checkout.files[path], path, mapping)


def propose_html(html: str, context: FixContext) -> Proposal:
    """A proposal for the HTML of a page as it was received. Raises `NoFix` when there is none."""
    return _proposal(context, html, "", "")


def _located(context: FixContext, path: str, checkout: Checkout) -> FixContext:
    return replace(context, path=path, sources_of=checkout.candidates, source_exists=checkout.files.__contains__)


def _source(checkout: Checkout, page: PageText, finding: Finding) -> tuple[str, str]:
    if finding.rule == "robots-txt-invalid":
        return checkout.robots(), "name"
    if checkout.is_generated and finding.rule in TEMPLATE_RULES:
        return checkout.template(), "template, changes every page that it makes"
    source = checkout.source_of(str(finding.url), page.text, page.links)
    return source.path, f"{source.how}, {source.share:.0%} of the page's text is in it"


def _proposal(context: FixContext, text: str, path: str, mapping: str) -> Proposal:
    finding = context.finding
    kind = kind_of(path) if path else SourceKind.HTML
    if kind is SourceKind.ROBOTS:
        edits = tuple(robots_fix(text, context))
    elif kind is SourceKind.HTML and finding.rule in HTML_FIXES:
        edits = tuple(HTML_FIXES[finding.rule](HtmlText(text), context))
    elif kind in {SourceKind.MARKDOWN, SourceKind.RST} and finding.rule in MARKUP_FIXES:
        edits = tuple(MARKUP_FIXES[finding.rule](text, context))
    else:
        raise NoFix("the rule cannot be fixed in this kind of file")
    after = apply_edits(text, edits)
    if after == text:
        raise NoFix("the file has it already; crawl the site again")
    return Proposal(finding, path, edits, *_fragments(text, after, edits), mapping)


def _fragments(text: str, after: str, edits: Iterable[Edit]) -> tuple[str, str]:
    """The lines around the edits, before and after."""
    ordered = sorted(edits)
    start = text.rfind("\n", 0, ordered[0].start) + 1
    end = text.find("\n", ordered[-1].end)
    end = len(text) if end < 0 else end
    grown = len(after) - len(text)
    return _cut(text[start:end]), _cut(after[start : end + grown])


def _cut(text: str) -> str:
    if len(text) <= MAX_FRAGMENT_CHARS:
        return text
    return f"{text[: MAX_FRAGMENT_CHARS // 2]} … {text[-MAX_FRAGMENT_CHARS // 2 :]}"


@dataclass(slots=True)
class PatchSeries:
    """Proposals as changes of files, rule by rule: each presupposes those before it, so they are applied in this order."""

    files: Mapping[str, str]
    changes: list[tuple[str, dict[str, tuple[str, str]]]] = field(default_factory=list)
    """For each rule the files that it changes, with their texts before and after."""
    _edits: dict[str, list[Edit]] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)

    def add(self, rule: str, proposals: Iterable[Proposal]) -> Iterator[Refusal]:
        """Add the proposals of a rule. Yields those whose edits overlap with earlier ones."""
        changed: dict[str, tuple[str, str]] = {}
        for proposal in proposals:
            path, edits = proposal.path, self._edits.setdefault(proposal.path, [])
            try:
                after = apply_edits(self.files[path], [*edits, *proposal.edits])
            except NoFix:
                yield Refusal(proposal.finding, "its change overlaps with another one; apply the patches, and crawl again")
                continue
            edits += proposal.edits
            before = changed[path][0] if path in changed else self._texts.get(path, self.files[path])
            changed[path] = before, after
        self._texts |= {path: after for path, (_, after) in changed.items()}
        self.changes.append((rule, changed))
