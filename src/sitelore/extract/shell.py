"""Is what came over HTTP the page, or the shell of one that scripts make in the browser?

A guess that must cost nothing on ordinary pages and be wrong on none that its server wrote: a page with text is a page,
whatever framework made it. Only where next to nothing was read is the source looked at again: mounting points that are empty,
words that say "loading" or ask for JavaScript, templates that nobody filled in, and scripts of the page's own that could be
meant to change that. Evidence is collected as sentences; what they weigh together decides (`Shell.weight`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sitelore.extract import dom
from sitelore.extract.shell_words import (
    ASKS_FOR_SCRIPTS,
    BOUND,
    BUNDLES,
    FETCHES,
    FOREIGN_SCRIPTS,
    FRAMEWORKS,
    LOADING,
    MOUNTS,
    NO_MOUNTS,
    PLACEHOLDERS,
    SCROLLED,
    WATCHES_SCROLLING,
)
from sitelore.model.rendering import Shell

NO_SHELL = Shell()
ENOUGH_WORDS = 250
"""A page of which so much was read is no shell, and is not looked at."""
_PLAIN_WORDS = 30
"""Up to here evidence weighs in full; from here on less and less."""
_MOST_WORDS = 150
_SPARE_WORDS = 40
_NO_WORDS = 5
_LOADING_WORDS = 12
_LOOKS = 200  # a page may have any number of elements; what a shell has is found among the first
_SCRIPT_CHARS = 200_000
_TEXT_CHARS = 20_000
_MAX_CHARS = 4 * 2**20
_RUNS = frozenset({"", "module", "text/javascript", "application/javascript", "text/ecmascript", "text/babel", "text/jsx"})
_FRAME = "header,nav,footer,aside,[role=navigation],[role=banner],[role=contentinfo]"
_CONTAINERS = frozenset({"div", "main", "section", "article", "ul", "ol", "table", "tbody", "body", "span", "p"})
_MARKED = "[id],main,[ng-app],[data-ng-app],[ng-view],[ui-view],[data-reactroot],[data-v-app],[aria-busy],[v-cloak],[ng-cloak]"
_FILLED = ("img", "picture", "iframe", "video", "audio", "object", "embed", "form", "input", "select", "textarea", "button")
_BEST = 0.8
_SHADOWED = "shadowrootmode="
_STIRRING = ("<script", "<SCRIPT", "<Script", _SHADOWED)
_TEMPLATE = re.compile(r"\{\{[^{}\n]{1,80}\}\}")


@dataclass(slots=True)
class _Case:
    """What is known of a page so far, and what it weighs."""

    words: int
    """Outside of what frames the page: header, navigation, footer."""
    weight: float = 0.0
    lacks: bool = False
    """Whether something is missing that scripts could bring. Without that, there is no case."""
    sure: float = 0.0
    """What weighs the same however many words there are."""
    evidence: list[str] = field(default_factory=list)

    def add(self, weight: float, sentence: str, *, lacks: bool = False) -> None:
        self.weight += weight
        self.lacks = self.lacks or lacks
        self.evidence.append(sentence)

    def closed(self) -> Shell:
        if not self.lacks:
            return NO_SHELL
        share = min(1.0, max(0.0, (_MOST_WORDS - self.words) / (_MOST_WORDS - _PLAIN_WORDS)))
        return Shell(round(self.weight * share + self.sure, 3), tuple(self.evidence))


_Script = tuple[str, str, str]
"""One that runs: its type, its address, its code."""


@dataclass(frozen=True, slots=True)
class _Scripts:
    """The scripts that are the page's own: not analytics, advertisements and the usual libraries."""

    inline: str
    sources: tuple[str, ...]
    chars: int
    has_module: bool


def shell_of(source: str, words_read: int) -> Shell:
    """What speaks for the page being made in the browser. `words_read` is what reading it as it came brought."""
    if words_read >= ENOUGH_WORDS or len(source) > _MAX_CHARS or not any(word in source for word in _STIRRING):
        return NO_SHELL
    tree = dom.parse(source)
    body = dom.body(tree)
    scripts, is_shadowed = _running_scripts(tree), _SHADOWED in source
    if body is None or not (scripts or is_shadowed):
        return NO_SHELL
    spares = [dom.one_line(element)[:_TEXT_CHARS] for element in dom.elements_list(tree, "noscript")[:_LOOKS]]
    for element in dom.elements_list(tree, "script", "style", "template", "noscript", "svg", "head"):
        dom.drop(element)
    text = dom.one_line(body)[:_TEXT_CHARS]
    case = _Case(_words_outside_frame(body, text))
    if case.words >= _MOST_WORDS:
        return NO_SHELL
    try:
        source.encode()
    except UnicodeEncodeError:  # a lone surrogate: it has no UTF-8, in which patterns are matched
        return shell_of(source.encode("utf-8", "replace").decode(), words_read)
    return _judged(case, body, text, source, scripts, spares)


def _judged(case: _Case, body: dom.Element, text: str, source: str, running: list[_Script], spares: list[str]) -> Shell:
    """What is said of a page with few words. `spares` are its texts for those who run no scripts."""
    scripts, is_shadowed = _own_scripts(running), _SHADOWED in source
    notice, spare_words = _notice(spares)
    if (scripts is None and not is_shadowed) or spare_words >= _SPARE_WORDS:
        return NO_SHELL  # nothing could bring more, or whoever reads without scripts is served, and was read
    if is_shadowed and case.words <= _PLAIN_WORDS:
        case.add(1.0, "what is shown stands in shadow roots", lacks=True)
    if scripts is not None:
        _judge_text(case, text, source, is_bare=not dom.holds(body, "a", *_FILLED))
        _judge_elements(case, body, scripts)
        if case.lacks:
            _judge_scripts(case, scripts, notice, len(source))
    return case.closed()


def _running_scripts(tree: dom.Tree) -> list[_Script]:
    found = []
    for script in dom.elements_list(tree, "script")[:_LOOKS]:
        kind = dom.attribute(script, "type").strip().lower()
        if kind.partition(";")[0] in _RUNS:
            found.append((kind, dom.attribute(script, "src"), dom.raw_text(script)))
    return found


def _own_scripts(running: list[_Script]) -> _Scripts | None:
    """None where no script of the page's own runs."""
    inline: list[str] = []
    sources: list[str] = []
    has_module = False
    for kind, address, code in running:
        if FOREIGN_SCRIPTS.search(address or code[:4000]) is not None:
            continue
        if address:
            sources.append(address)
        elif code.strip():
            inline.append(code[:_SCRIPT_CHARS])
        has_module = has_module or kind == "module"
    if not inline and not sources:
        return None
    chars = sum([len(code) for _, _, code in running])
    return _Scripts("\n".join(inline)[:_SCRIPT_CHARS], tuple(sources), chars, has_module)


def _notice(spares: list[str]) -> tuple[str, int]:
    """What a `noscript` says when it asks for JavaScript, and how many words of another kind stand in one."""
    notice, words = "", 0
    for text in spares:
        if ASKS_FOR_SCRIPTS.search(text[:500]) is not None and len(text) < 500:
            notice = notice or text[:80]
        elif "<" not in text:
            words = max(words, len(text.split()))
    return notice, words


def _words_outside_frame(body: dom.Element, text: str) -> int:
    framed = 0
    inside: set[dom.Element] = set()
    for element in dom.select(body, _FRAME)[:_LOOKS]:
        if not dom.has_ancestor_in(element, inside):
            inside.add(element)
            framed += len(dom.raw_text(element).split())
    return max(0, len(text.split()) - framed)


def _judge_text(case: _Case, text: str, source: str, *, is_bare: bool) -> None:
    if not text and is_bare:
        case.add(1.0, "the body holds scripts and nothing else", lacks=True)
    elif len(text.split()) <= _NO_WORDS:
        case.add(0.6, "the body holds next to no text", lacks=True)
    elif case.words <= _PLAIN_WORDS:
        case.add(0.3, f"{case.words} words outside header, navigation and footer")
    if case.words <= _LOADING_WORDS and (found := LOADING.search(text)) is not None:
        case.add(0.6, f"the text says {found[0].strip()[:40]!r}", lacks=True)
    if case.words <= 3 * _PLAIN_WORDS and (found := ASKS_FOR_SCRIPTS.search(text)) is not None:
        case.add(0.8, f"the text asks for JavaScript: {found[0][:60]!r}", lacks=True)
    if (found := _TEMPLATE.search(text)) is not None and BOUND.search(source) is not None:
        case.add(0.8, f"a template that nobody filled in: {found[0][:40]}", lacks=True)


def _judge_elements(case: _Case, body: dom.Element, scripts: _Scripts) -> None:
    """The first mounting point, the first placeholder and the first sentinel that tell something."""
    best, mount, busy = 0.0, None, None
    for element in [*dom.select(body, _MARKED)[:_LOOKS], *_custom_elements(body)]:
        if best < _BEST and (weight := _mount_weight(element, scripts)) > best and _is_empty(element):
            best, mount = weight, element
        if busy is None and dom.attribute(element, "aria-busy").lower() == "true":
            busy = element
    if mount is not None:
        case.add(best, f"nothing stands in <{_name(mount)}>, where scripts put a page", lacks=True)
        if text := dom.one_line(mount)[:40]:
            case.add(0.4, f"<{_name(mount)}> says {text!r}")
    if busy is not None:
        case.add(0.4, f"<{_name(busy)}> says that it is busy", lacks=True)
    called = dom.named(body)[: 5 * _LOOKS]
    if (found := _called(called, PLACEHOLDERS)) is not None:
        case.add(0.3, f"<{_name(found)}> holds a place for something", lacks=True)
    if (found := _called(called, SCROLLED)) is not None:
        case.add(0.4, f"<{_name(found)}> loads more when it is scrolled to", lacks=True)
        if WATCHES_SCROLLING.search(scripts.inline) is not None and FETCHES.search(scripts.inline) is not None:
            case.sure = 0.8


def _custom_elements(body: dom.Element) -> list[dom.Element]:
    return [element for element in dom.all_elements(body)[: 10 * _LOOKS] if "-" in element.tag][:_LOOKS]


def _mount_weight(element: dom.Element, scripts: _Scripts) -> float:
    """How much it would say if this element is empty."""
    name = dom.attribute(element, "id").lower()
    if element.tag not in _CONTAINERS and "-" not in element.tag:
        return 0.0
    if NO_MOUNTS.search(f"{name} {dom.attribute(element, 'class').lower()}") is not None:
        return 0.0
    if name in MOUNTS or element.tag in MOUNTS or any(dom.has_attribute(element, mark) for mark in _MOUNT_MARKS):
        return _BEST
    if dom.is_inside(element, _FRAME):
        return 0.0
    if "-" in element.tag:
        return 0.7 if element.tag in scripts.inline else 0.5
    if name and name in scripts.inline.lower():
        return 0.7
    return 0.5 if name or element.tag == "main" else 0.0


_MOUNT_MARKS = ("ng-app", "data-ng-app", "ng-view", "ui-view", "data-reactroot", "data-v-app")


def _is_empty(element: dom.Element) -> bool:
    """Nothing to read or see below it, or nothing but a word that asks for patience."""
    if dom.holds(element, *_FILLED):
        return False
    text = dom.one_line(element)[:200]
    return not text or (len(text.split()) <= _LOADING_WORDS and LOADING.search(text) is not None)


def _called(named: list[dom.Named], words: re.Pattern[str]) -> dom.Element | None:
    """The first element that has one of these words for a class or id, and shows nothing itself."""
    if words.search("\n".join([f"{classes} {name}" for _, classes, name in named])) is None:
        return None
    for element, classes, name in named:
        if words.search(f"{classes} {name}") is not None and _is_empty(element):
            return element
    return None


def _judge_scripts(case: _Case, scripts: _Scripts, notice: str, source_chars: int) -> None:
    """What makes it likely that scripts bring what is missing."""
    if notice:
        case.add(0.4, f"a noscript notice: {notice!r}")
    framework = FRAMEWORKS.search(scripts.inline) or FRAMEWORKS.search(" ".join(scripts.sources)[:_TEXT_CHARS])
    bundle = next((address for address in scripts.sources if BUNDLES.search(address) is not None), None)
    if framework is not None:
        case.add(0.3, f"scripts speak of {framework[0].strip()[:30]}")
    elif scripts.has_module or bundle is not None:
        case.add(0.3, f"a script bundle{f' ({bundle[:60]})' if bundle else ''}")
    else:
        case.add(0.2, "scripts of its own")
    if scripts.chars > 0.5 * source_chars:
        case.add(0.2, "most of the source is script")


def _name(element: dom.Element) -> str:
    name, classes = dom.attribute(element, "id"), dom.attribute(element, "class").split()
    return element.tag + (f"#{name[:40]}" if name else f".{classes[0][:40]}" if classes else "")
