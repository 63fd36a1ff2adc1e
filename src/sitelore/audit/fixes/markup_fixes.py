"""Edits of Markdown, reStructuredText and robots.txt that fix findings."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from sitelore.audit.fixes.html_fixes import anchor_of, final_of, replacement_of
from sitelore.audit.fixes.source import Edit, FixContext, NoFix

MarkupFix = Callable[[str, FixContext], Iterable[Edit]]

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_INLINE = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(\s*<?([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)>?")
_REFERENCE = re.compile(r"^ {0,3}\[[^\]\n]+\]:[ \t]*<?([^\s<>]+)", re.MULTILINE)
_AUTOLINK = re.compile(r"<(https?://[^\s<>]+)>")
_RST_LINK = re.compile(r"`[^`<]*<([^<>`\s]+)>`__?|^\.\. _[^:\n]+:[ \t]+(\S+)", re.MULTILINE)
_RST_IMAGE = re.compile(
    r"^([ \t]*)\.\. (?:image|figure|\|[^|\n]+\| image):: (\S+)[ \t]*\n((?:\1[ \t]+:[^\n]*\n)*)", re.MULTILINE
)
_HEADING = re.compile(r"^( {0,3})(#{1,6})([ \t]+)(.*?)[ \t]*#*[ \t\r]*$", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\r?\n(.*?)^\1[ \t]*\r?$", re.MULTILINE | re.DOTALL)
_SOURCES = frozenset({".md", ".markdown", ".rst"})
_MARKUP = re.compile(r"[*_`\[\]]|\]\([^)]*\)")


class Address(NamedTuple):
    """An address in a text, and where it is."""

    start: int
    end: int
    text: str
    is_image: bool = False


def addresses(text: str, *, is_rst: bool) -> Iterator[Address]:
    """Yield the addresses of links and images, without those in code."""
    if is_rst:
        for match in _RST_LINK.finditer(text):
            group = 1 if match[1] is not None else 2
            yield Address(match.start(group), match.end(group), match[group])
        for match in _RST_IMAGE.finditer(text):
            yield Address(match.start(2), match.end(2), match[2], is_image=True)
        return
    code = [match.span() for match in _FENCE.finditer(text)]
    plain = _blanked(text, code)
    plain = _blanked(plain, [match.span() for match in _CODE.finditer(plain)])
    for match in _INLINE.finditer(plain):
        yield Address(match.start(3), match.end(3), match[3], match[1] == "!")
    for pattern in (_REFERENCE, _AUTOLINK):
        for match in pattern.finditer(plain):
            yield Address(match.start(1), match.end(1), match[1])


def _blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with these parts as spaces, so that places stay the same."""
    parts: list[str] = []
    at = 0
    for start, end in spans:
        parts += (text[at:start], re.sub(r"[^\n]", " ", text[start:end]))
        at = end
    return "".join((*parts, text[at:]))


def _is_rst(context: FixContext) -> bool:
    return context.path.endswith(".rst")


# Links


def _links(text: str, context: FixContext) -> list[Address]:
    """The links of the text to the target of a finding."""
    target = str(context.finding.evidence["target"])
    matching = [
        each for each in addresses(text, is_rst=_is_rst(context)) if not each.is_image and _leads_to(each.text, target, context)
    ]
    if not matching:
        raise NoFix("the file has no such link; it comes from a template or another file")
    return matching


def _leads_to(address: str, target: str, context: FixContext) -> bool:
    plain = address.partition("#")[0]
    url = context.resolved(plain)
    if url is not None and str(url) == target:
        return True
    # A generator turns the name of a source file into the URL of its page.
    if ":" in plain or posixpath.splitext(plain)[1] not in _SOURCES:
        return False
    return posixpath.normpath(posixpath.join(posixpath.dirname(context.path), plain)) in context.sources_of(target)


def _link_to(text: str, context: FixContext, url: str) -> list[Edit]:
    edits = []
    for link in _links(text, context):
        plain, _, fragment = link.text.partition("#")
        source = context.source_of(url) if posixpath.splitext(plain)[1] in _SOURCES else None
        if source is not None:
            new = posixpath.relpath(source, posixpath.dirname(context.path) or ".")
            edits.append(Edit(link.start, link.end, f"{new}#{fragment}" if fragment else new))
        else:
            edits.append(Edit(link.start, link.end, context.styled(link.text, url)))
    return edits


def _broken_link(text: str, context: FixContext) -> list[Edit]:
    return _link_to(text, context, replacement_of(context))


def _redirected_link(text: str, context: FixContext) -> list[Edit]:
    return _link_to(text, context, final_of(context))


def _https_link(text: str, context: FixContext) -> list[Edit]:
    return [Edit(each.start, each.start + len("http"), "https") for each in _links(text, context) if each.text[:5] == "http:"]


def _https_resource(text: str, context: FixContext) -> list[Edit]:
    url = str(context.finding.evidence.get("url") or "")
    matching = [each for each in addresses(text, is_rst=_is_rst(context)) if each.text == url]
    if not matching:
        raise NoFix("the file does not have this address; it comes from a template or another file")
    return [Edit(each.start, each.start + len("http"), "https") for each in matching]


def _anchor(text: str, context: FixContext) -> list[Edit]:
    fragment, nearest = str(context.finding.evidence["fragment"]), anchor_of(context)
    matching = [each for each in _links(text, context) if each.text.partition("#")[2] == fragment]
    if not matching:
        raise NoFix("the file has no such link; it comes from a template or another file")
    return [Edit(each.end - len(fragment), each.end, nearest) for each in matching]


# Text and metadata


def _alt(text: str, context: FixContext) -> list[Edit]:
    if context.finding.key not in context.words:
        raise NoFix("it needs words of a person (empty for decoration); give them with --words")
    words = " ".join(context.words[context.finding.key].split())
    src = posixpath.basename(str(context.finding.evidence["src"]))
    if not _is_rst(context):
        raise NoFix("Markdown always writes an alt; the image comes from HTML or a template")
    images = [match for match in _RST_IMAGE.finditer(text) if posixpath.basename(match[2]) == src and ":alt:" not in match[3]]
    if len(images) != 1:
        raise NoFix("the file does not have this image, or has it several times")
    at = images[0].start(3)
    return [Edit(at, at, f"{images[0][1]}   :alt: {words}\n")]


def _title(text: str, context: FixContext) -> list[Edit]:
    return [_metadata(text, context, "title", context.text(str(context.finding.evidence.get("proposal") or "")))]


def _description(text: str, context: FixContext) -> list[Edit]:
    words = context.text(str(context.finding.evidence.get("proposal") or ""))
    if _is_rst(context):
        return [Edit(0, 0, f".. meta::\n   :description: {words}\n\n")]
    return [_metadata(text, context, "description", words)]


def _metadata(text: str, context: FixContext, name: str, value: str) -> Edit:
    """The edit that sets a value of the front matter, which is YAML or TOML; JSON texts are valid in both."""
    if _is_rst(context):
        raise NoFix("the title of a reStructuredText file is its first heading")
    quoted, newline = json.dumps(value, ensure_ascii=False), "\r\n" if "\r\n" in text else "\n"
    matter = _FRONT_MATTER.match(text)
    if matter is None:
        return Edit(0, 0, f"---{newline}{name}: {quoted}{newline}---{newline}{newline}")
    sign = ": " if matter[1] == "---" else " = "
    known = re.compile(rf"^{name}\s*[:=][ \t]*(.*?)[ \t]*\r?$", re.MULTILINE).search(text, matter.start(2), matter.end(2))
    if known is None:
        end = matter.end(2)
        table = re.compile(r"^\[", re.MULTILINE).search(text, matter.start(2), end) if matter[1] == "+++" else None
        at = table.start() if table is not None else end
        return Edit(at, at, f"{name}{sign}{quoted}{newline}")
    if known[1].strip("\"'"):
        raise NoFix(f"the file has a {name} already, which its template does not show")
    return Edit(known.start(), known.end(1), f"{name}{sign}{quoted}")


def _first_heading(text: str, context: FixContext) -> list[Edit]:
    return [_level(text, context, str(context.finding.evidence["first_heading"]), None, 1)]


def _skipped_level(text: str, context: FixContext) -> list[Edit]:
    evidence = context.finding.evidence
    return [_level(text, context, str(evidence["heading"]), int(evidence["level"]), int(str(evidence["after"])[1]) + 1)]


def _level(text: str, context: FixContext, heading: str, level: int | None, new: int) -> Edit:
    if _is_rst(context):
        raise NoFix("levels of headings in reStructuredText depend on the whole file")
    plain = _blanked(text, [match.span() for match in _FENCE.finditer(text)])
    wanted = _words(heading)
    matching = [match for match in _HEADING.finditer(plain) if wanted and _words(match[4]) == wanted]
    matching = [match for match in matching if level is None or len(match[2]) == level]
    if len(matching) != 1:
        raise NoFix("the file does not have this heading, or has it several times")
    return Edit(matching[0].start(2), matching[0].end(2), "#" * new)


def _words(text: str) -> str:
    return " ".join(_MARKUP.sub("", text).split()).casefold()


def robots_fix(text: str, context: FixContext) -> list[Edit]:
    """Turn the lines of robots.txt that crawlers do not understand into comments."""
    numbers = [int(match[1]) for each in context.finding.evidence["problems"] if (match := re.match(r"line (\d+):", str(each)))]
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    if not numbers or max(numbers) > len(starts):
        raise NoFix("the file differs from the robots.txt that was received")
    return [Edit(starts[number - 1], starts[number - 1], "# ") for number in numbers]


MARKUP_FIXES: Mapping[str, MarkupFix] = {
    "title-missing": _title,
    "description-missing": _description,
    "broken-internal-link": _broken_link,
    "redirected-internal-link": _redirected_link,
    "link-downgrade": _https_link,
    "mixed-passive": _https_resource,
    "broken-anchor": _anchor,
    "image-alt-missing": _alt,
    "h1-missing": _first_heading,
    "heading-skip": _skipped_level,
}
"""The rules whose findings can be fixed in Markdown and reStructuredText."""
