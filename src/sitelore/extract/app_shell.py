"""Estimates whether a page is an app shell: whether scripts in a browser make its text.

A page with text is not a shell, whatever framework made it, and is not examined. Where almost no text was extracted, the source
is parsed again, for empty mount points, "loading" texts and requests to enable JavaScript, unfilled templates, and scripts
of the page's own that could fill them in. Evidence is collected as sentences, each with a weight (`Shell.weight`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import re2

from sitelore.extract import dom
from sitelore.model.response import Shell

NO_SHELL = Shell()
ENOUGH_WORDS = 250
"""A page with this many words is no shell, and is not examined."""
_FEW_WORDS = 30
"""Up to this many words evidence has its full weight; from here on less and less, down to none at `_MAX_WORDS`."""
_MAX_WORDS = 150
_NOSCRIPT_WORDS = 40
_NEXT_TO_NO_WORDS = 5
_LOADING_WORDS = 12
_MAX_ELEMENTS = 200  # of each kind that is examined: those of a shell are among the first
_SCRIPT_CHARS = 200_000
_TEXT_CHARS = 20_000
_MAX_CHARS = 4 * 2**20
_SCRIPT_TYPES = frozenset(
    {"", "module", "text/javascript", "application/javascript", "text/ecmascript", "text/babel", "text/jsx"}
)
_FRAME = "header,nav,footer,aside,[role=navigation],[role=banner],[role=contentinfo]"
_CONTAINERS = frozenset({"div", "main", "section", "article", "ul", "ol", "table", "tbody", "body", "span", "p"})
_MARKED = "[id],main,[ng-app],[data-ng-app],[ng-view],[ui-view],[data-reactroot],[data-v-app],[aria-busy],[v-cloak],[ng-cloak]"
_FILLED = ("img", "picture", "iframe", "video", "audio", "object", "embed", "form", "input", "select", "textarea", "button")
_MAX_MOUNT_WEIGHT = 0.8
_MOUNT_ATTRIBUTES = ("ng-app", "data-ng-app", "ng-view", "ui-view", "data-reactroot", "data-v-app")
_SHADOW_ROOT = "shadowrootmode="
_SCRIPT_MARKS = ("<script", "<SCRIPT", "<Script", _SHADOW_ROOT)
_TEMPLATE = re.compile(r"\{\{[^{}\n]{1,80}\}\}")

# Patterns of google-re2: pages without text are often megabytes of script, and some are made to be slow to match.
_MOUNTS = frozenset({
    "root", "app", "__next", "__nuxt", "__layout", "__sveltekit", "svelte", "sapper", "___gatsby",
    "gatsby-focus-wrapper", "__docusaurus", "__redwood", "redwood-app", "react-root", "reactroot", "react-app",
    "reactapp", "react-target", "react-container", "app-root", "approot", "app-container", "appcontainer",
    "app-mount", "app-main", "app-shell", "app-wrapper", "application", "main-app", "mainapp", "my-app", "vue-app",
    "vueapp", "vue-root", "ember-app", "ember-root", "elm", "elm-app", "elm-root", "mount", "mount-point",
    "mountpoint", "mount-node", "main-root", "page-root", "client-root", "content-root", "q-app", "spa", "spa-root",
    "ng-app", "ng-view", "ng-root", "router-outlet", "router-view", "root-container", "web-app", "webapp",
    "flutter-view", "solid-root", "preact-root", "qwik-root",
})  # fmt: skip
"""Ids and names of the element into which frameworks and their tutorials render a page."""

_NOT_MOUNTS = re2.compile(
    r"\bfb-root|disqus|captcha|cookie|consent|gdpr|onetrust|modal|dialog|popup|overlay|toast|snackbar|tooltip|portal|lightbox"
    r"|\bads?\b|adslot|ad-|-ad\b|advert|banner|google_|gtm|translate|chat|intercom|zendesk|livechat|share|social|addthis|hotjar"
    r"|tracking|pixel|analytics|backdrop|clear(?:fix)?\b|spacer|separator|divider|progress-?bar|back-?to-?top|scroll-?top|loader"
    r"|preload|mask|curtain|search-?(?:results|suggest)|autocomplete|mini-?cart|offcanvas|menu|nav|wpadminbar|sr-only|skip"
    r"|live-?region|announce|player|map\b|error|message|notice|status|debug|badge|anchor|\btop\b|\bbottom\b"
)
"""Names of elements that are empty on server-rendered pages too: widgets, advertisements, dialogs."""

_PLACEHOLDER = re2.compile(
    r"(?i)\b(?:skeleton|shimmer|placeholder-(?:glow|wave|item)|content-placeholder|ghost-(?:card|line|item))"
)
_SCROLL_TRIGGER = re2.compile(
    r"(?i)\b(?:infinite-?scroll|infinitescroll|scroll-?sentinel|sentinel|load-?more-?trigger|scroll-?trigger)\b"
)

_SCROLL_OBSERVER = re2.compile(r"\bIntersectionObserver\b|\bonscroll\b|['\"]scroll['\"]")
_FETCH_CALL = re2.compile(r"\bfetch\(|\bXMLHttpRequest\b|\baxios\b|\$\.(?:get|ajax|getJSON)\b")
_TEMPLATE_BINDING = re2.compile(
    r"(?i)<[a-z][^<>]*\s(?:(?:data-)?ng-(?:app|controller|bind|repeat|view|if)|v-(?:if|for|cloak|bind|text|html)|x-data|data-bind)"
    r"[\s=>]"
)
"""Elements whose attributes bind them to a framework."""

_LOADING = re2.compile(
    r"(?i)\b(?:loading|please wait|just a moment|one moment|initiali[sz]ing|starting up|fetching|laden|wird geladen|lädt"
    r"|bitte warten|chargement|veuillez patienter|cargando|espere|caricamento|attendere|carregando|aguarde|загрузка|подождите"
    r"|ładowanie|načítání|laster|indlæser|ladataan|yükleniyor)\b|^\s*(?:\.{3}|…)\s*$|読み込み中|加载中|載入中|로딩"
)

_ENABLE_JAVASCRIPT = re2.compile(
    r"(?i)(?:enable|activate|allow|turn on|switch on|need|requires?|without|must have|doesn.t work|does not work|work properly|"
    r"is disabled|disabled|habilit\w+|activer|activ[ae]\w*|aktiv\w+|einschalten|benötigt|erforderlich|ativ[ae]\w*|włącz\w*|"
    r"включит\w*|povol\w*|schakel|inschakelen|aktivér|有効|启用|啟用)"
    r"[^.!?<]{0,60}java ?script|java ?script[^.!?<]{0,60}(?:enable|activ|required|needed|disabled|turned off|not supported|"
    r"habilit|aktiv|erforderlich|benötigt|requis|necesari|richiesto|wymagan|有効|启用|啟用|必要)"
)

_FRAMEWORK = re2.compile(
    r"(?i)\breact(?:-dom|dom)?\b|\bpreact\b|\bvue(?:-router)?\b|\bnuxt\b|\bangular(?:js)?\b|\bsvelte(?:kit)?\b|\bember\b|\bsolid-js\b"
    r"|\bbackbone\b|\balpinejs\b|\bknockout\b|\blit-(?:element|html)\b|\bstencil\b|\bpolymer\b|\bhydrateRoot\b|\bcreateRoot\b"
    r"|\bcreateApp\b|\bcustomElements\.define\b|\battachShadow\b|__NEXT_DATA__|__NUXT__|__INITIAL_STATE__|__APOLLO_STATE__"
    r"|\bwebpack(?:Jsonp|Chunk)\w*|\b__vite\w*|\bhistory\.pushState\b|\bIntersectionObserver\b|\bflutter\b|\binnerHTML\b"
    r"|\b(?:append|replaceChildren|appendChild|insertAdjacentHTML)\(|\blocation\.(?:href|replace|assign)\b"
)

_BUNDLE = re2.compile(
    r"(?i)(?:^|/)(?:main|app|index|bundle|client|runtime|vendors?|chunk|entry|start|polyfills|build|spa|router|script|site)"
    r"(?:[.~_-][\w.~-]{0,60})?\.m?js(?:[?#]|$)|/_next/static/|/_nuxt/|/_app/immutable/|/static/js/|/assets/[\w.-]+\.js"
)

_THIRD_PARTY = re2.compile(
    r"(?i)googletagmanager|google-analytics|googlesyndication|gtag\(|\bga\(|_gaq|doubleclick|adsbygoogle|facebook\.net|fbq\("
    r"|hotjar|clarity\.ms|cloudflareinsights|plausible|matomo|piwik|_paq|recaptcha|hcaptcha|turnstile|jquery|bootstrap|modernizr"
    r"|wp-emoji|wp-includes|polyfill\.io|segment\.(?:com|io)|mixpanel|newrelic|nr-data|sentry|datadog|optimizely|hubspot|hs-scripts"
    r"|intercom|zendesk|zdassets|tawk\.to|addthis|sharethis|disqus|cookiebot|onetrust|cookielaw|trustarc|quantserve|scorecardresearch"
    r"|chartbeat|amazon-adsystem|criteo|taboola|outbrain|bing\.com|linkedin|twitter\.com/widgets|platform\.twitter|pinterest|tiktok"
    r"|yandex|mc\.yandex|typekit|fontawesome|fonts\.g|lazysizes|/swiper|slick|livereload|email-decode|documentElement\.class(?:Name|List)"
)


@dataclass(slots=True)
class _Evidence:
    """The evidence for an app shell that was collected so far."""

    words: int
    """Words outside header, navigation and footer."""
    weight: float = 0.0
    is_incomplete: bool = False
    """Whether something is missing that scripts could add; without that a page is no shell."""
    fixed_weight: float = 0.0
    """The part of the weight that does not depend on the number of words."""
    sentences: list[str] = field(default_factory=list)

    def add(self, weight: float, sentence: str, *, is_incomplete: bool = False) -> None:
        self.weight += weight
        self.is_incomplete = self.is_incomplete or is_incomplete
        self.sentences.append(sentence)

    def result(self) -> Shell:
        if not self.is_incomplete:
            return NO_SHELL
        share = min(1.0, max(0.0, (_MAX_WORDS - self.words) / (_MAX_WORDS - _FEW_WORDS)))
        return Shell(round(self.weight * share + self.fixed_weight, 3), tuple(self.sentences))


_Script = tuple[str, str, str]
"""A script that runs: its type, its address, its code."""


@dataclass(frozen=True, slots=True)
class _OwnScripts:
    """The scripts of a page but for analytics, advertisements and the usual libraries."""

    inline: str
    sources: tuple[str, ...]
    chars: int
    has_module: bool


def detect_app_shell(source: str, words_read: int) -> Shell:
    """The evidence that scripts make a page. `words_read` is the number of words extracted without them."""
    if words_read >= ENOUGH_WORDS or len(source) > _MAX_CHARS or not any(mark in source for mark in _SCRIPT_MARKS):
        return NO_SHELL
    tree = dom.parse(source)
    body = dom.body(tree)
    scripts, has_shadow_root = _running_scripts(tree), _SHADOW_ROOT in source
    if body is None or not (scripts or has_shadow_root):
        return NO_SHELL
    noscripts = [dom.one_line_text(element)[:_TEXT_CHARS] for element in dom.elements_list(tree, "noscript")[:_MAX_ELEMENTS]]
    for element in dom.elements_list(tree, "script", "style", "template", "noscript", "svg", "head"):
        dom.drop(element)
    text = dom.one_line_text(body)[:_TEXT_CHARS]
    evidence = _Evidence(_words_outside_frame(body, text))
    if evidence.words >= _MAX_WORDS:
        return NO_SHELL
    try:
        source.encode()
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8, which re2 needs
        return detect_app_shell(source.encode("utf-8", "replace").decode(), words_read)
    return _judge(evidence, body, text, source, scripts, noscripts)


def _judge(
    evidence: _Evidence, body: dom.Element, text: str, source: str, running: list[_Script], noscripts: list[str]
) -> Shell:
    """Collect the evidence on a page with few words."""
    scripts, has_shadow_root = _own_scripts(running), _SHADOW_ROOT in source
    notice, noscript_words = _noscript_notice(noscripts)
    if (scripts is None and not has_shadow_root) or noscript_words >= _NOSCRIPT_WORDS:
        return NO_SHELL  # no script could add text, or `noscript` has the text, which was extracted
    if has_shadow_root and evidence.words <= _FEW_WORDS:
        evidence.add(1.0, "what is shown stands in shadow roots", is_incomplete=True)
    if scripts is not None:
        _judge_text(evidence, text, source, is_bare=not dom.has_descendant(body, "a", *_FILLED))
        _judge_elements(evidence, body, scripts)
        if evidence.is_incomplete:
            _judge_scripts(evidence, scripts, notice, len(source))
    return evidence.result()


def _running_scripts(tree: dom.Tree) -> list[_Script]:
    scripts = []
    for script in dom.elements_list(tree, "script")[:_MAX_ELEMENTS]:
        kind = dom.attribute(script, "type").strip().lower()
        if kind.partition(";")[0] in _SCRIPT_TYPES:
            scripts.append((kind, dom.attribute(script, "src"), dom.raw_text(script)))
    return scripts


def _own_scripts(running: list[_Script]) -> _OwnScripts | None:
    """The page's own scripts; None where it has none."""
    inline: list[str] = []
    sources: list[str] = []
    has_module = False
    for kind, address, code in running:
        if _THIRD_PARTY.search(address or code[:4000]) is not None:
            continue
        if address:
            sources.append(address)
        elif code.strip():
            inline.append(code[:_SCRIPT_CHARS])
        has_module = has_module or kind == "module"
    if not inline and not sources:
        return None
    chars = sum([len(code) for _, _, code in running])
    return _OwnScripts("\n".join(inline)[:_SCRIPT_CHARS], tuple(sources), chars, has_module)


def _noscript_notice(noscripts: list[str]) -> tuple[str, int]:
    """The text of a `noscript` that asks for JavaScript, and the number of words of the longest other one."""
    notice, words = "", 0
    for text in noscripts:
        if _ENABLE_JAVASCRIPT.search(text[:500]) is not None and len(text) < 500:
            notice = notice or text[:80]
        elif "<" not in text:
            words = max(words, len(text.split()))
    return notice, words


def _words_outside_frame(body: dom.Element, text: str) -> int:
    framed = 0
    outermost: set[dom.Element] = set()
    for element in dom.select(body, _FRAME)[:_MAX_ELEMENTS]:
        if not dom.has_ancestor_in(element, outermost):
            outermost.add(element)
            framed += len(dom.raw_text(element).split())
    return max(0, len(text.split()) - framed)


def _judge_text(evidence: _Evidence, text: str, source: str, *, is_bare: bool) -> None:
    if not text and is_bare:
        evidence.add(1.0, "the body holds scripts and nothing else", is_incomplete=True)
    elif len(text.split()) <= _NEXT_TO_NO_WORDS:
        evidence.add(0.6, "the body holds next to no text", is_incomplete=True)
    elif evidence.words <= _FEW_WORDS:
        evidence.add(0.3, f"{evidence.words} words outside header, navigation and footer")
    if evidence.words <= _LOADING_WORDS and (match := _LOADING.search(text)) is not None:
        evidence.add(0.6, f"the text says {match[0].strip()[:40]!r}", is_incomplete=True)
    if evidence.words <= 3 * _FEW_WORDS and (match := _ENABLE_JAVASCRIPT.search(text)) is not None:
        evidence.add(0.8, f"the text asks for JavaScript: {match[0][:60]!r}", is_incomplete=True)
    if (match := _TEMPLATE.search(text)) is not None and _TEMPLATE_BINDING.search(source) is not None:
        evidence.add(0.8, f"an unfilled template: {match[0][:40]}", is_incomplete=True)


def _judge_elements(evidence: _Evidence, body: dom.Element, scripts: _OwnScripts) -> None:
    """Add the best empty mount point, the first busy element, the first placeholder and the first scroll trigger."""
    best, mount, busy = 0.0, None, None
    for element in [*dom.select(body, _MARKED)[:_MAX_ELEMENTS], *_custom_elements(body)]:
        if best < _MAX_MOUNT_WEIGHT and (weight := _mount_weight(element, scripts)) > best and _is_empty(element):
            best, mount = weight, element
        if busy is None and dom.attribute(element, "aria-busy").lower() == "true":
            busy = element
    if mount is not None:
        evidence.add(best, f"nothing stands in <{_label(mount)}>, where scripts put a page", is_incomplete=True)
        if text := dom.one_line_text(mount)[:40]:
            evidence.add(0.4, f"<{_label(mount)}> says {text!r}")
    if busy is not None:
        evidence.add(0.4, f"<{_label(busy)}> says that it is busy", is_incomplete=True)
    named = dom.elements_with_class_or_id(body)[: 5 * _MAX_ELEMENTS]
    if (placeholder := _first_empty(named, _PLACEHOLDER)) is not None:
        evidence.add(0.3, f"<{_label(placeholder)}> holds a place for something", is_incomplete=True)
    if (trigger := _first_empty(named, _SCROLL_TRIGGER)) is not None:
        evidence.add(0.4, f"<{_label(trigger)}> loads more when it is scrolled to", is_incomplete=True)
        if _SCROLL_OBSERVER.search(scripts.inline) is not None and _FETCH_CALL.search(scripts.inline) is not None:
            evidence.fixed_weight = 0.8


def _custom_elements(body: dom.Element) -> list[dom.Element]:
    return [element for element in dom.all_elements(body)[: 10 * _MAX_ELEMENTS] if "-" in element.tag][:_MAX_ELEMENTS]


def _mount_weight(element: dom.Element, scripts: _OwnScripts) -> float:
    """The weight of this element as a mount point, if it is empty."""
    name = dom.attribute(element, "id").lower()
    if element.tag not in _CONTAINERS and "-" not in element.tag:
        return 0.0
    if _NOT_MOUNTS.search(f"{name} {dom.attribute(element, 'class').lower()}") is not None:
        return 0.0
    if name in _MOUNTS or element.tag in _MOUNTS or any(dom.has_attribute(element, mark) for mark in _MOUNT_ATTRIBUTES):
        return _MAX_MOUNT_WEIGHT
    if dom.is_inside(element, _FRAME):
        return 0.0
    if "-" in element.tag:
        return 0.7 if element.tag in scripts.inline else 0.5
    if name and name in scripts.inline.lower():
        return 0.7
    return 0.5 if name or element.tag == "main" else 0.0


def _is_empty(element: dom.Element) -> bool:
    """Whether an element shows nothing, or nothing but a "loading" text."""
    if dom.has_descendant(element, *_FILLED):
        return False
    text = dom.one_line_text(element)[:200]
    return not text or (len(text.split()) <= _LOADING_WORDS and _LOADING.search(text) is not None)


def _first_empty(named: list[dom.ClassAndId], pattern: re.Pattern[str]) -> dom.Element | None:
    """The first empty element whose class or id matches."""
    if pattern.search("\n".join([f"{classes} {name}" for _, classes, name in named])) is None:
        return None
    for element, classes, name in named:
        if pattern.search(f"{classes} {name}") is not None and _is_empty(element):
            return element
    return None


def _judge_scripts(evidence: _Evidence, scripts: _OwnScripts, notice: str, source_chars: int) -> None:
    """Add what makes it likely that scripts fill the page."""
    if notice:
        evidence.add(0.4, f"a noscript notice: {notice!r}")
    framework = _FRAMEWORK.search(scripts.inline) or _FRAMEWORK.search(" ".join(scripts.sources)[:_TEXT_CHARS])
    bundle = next((address for address in scripts.sources if _BUNDLE.search(address) is not None), None)
    if framework is not None:
        evidence.add(0.3, f"scripts speak of {framework[0].strip()[:30]}")
    elif scripts.has_module or bundle is not None:
        evidence.add(0.3, f"a script bundle{f' ({bundle[:60]})' if bundle else ''}")
    else:
        evidence.add(0.2, "scripts of its own")
    if scripts.chars > 0.5 * source_chars:
        evidence.add(0.2, "most of the source is script")


def _label(element: dom.Element) -> str:
    """An element's tag with its id or first class, in CSS form."""
    name, classes = dom.attribute(element, "id"), dom.attribute(element, "class").split()
    return element.tag + (f"#{name[:40]}" if name else f".{classes[0][:40]}" if classes else "")
