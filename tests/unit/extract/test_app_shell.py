from __future__ import annotations

import pytest
from tests.support.http_server import prose

from sitelore.extract.app_shell import ENOUGH_WORDS, NO_SHELL, detect_app_shell
from sitelore.extract.page import read
from sitelore.model.document import ReadOptions
from sitelore.model.response import RenderDecision, RenderReason, Response
from sitelore.model.url import Url

NOTICE = "<noscript>You need to enable JavaScript to run this app.</noscript>"
FRAME = "<header><nav><a href=/>Home</a> <a href=/shop>Our shop</a></nav></header>{}<footer><p>All rights reserved</p></footer>"
TEXT = prose("text", 40)


def html(body: str, head: str = "") -> str:
    return f"<!doctype html><html><head><title>A page</title>{head}</head><body>{body}</body></html>"


SHELLS = {
    "create-react-app": html(f"{NOTICE}<div id=root></div>", "<script defer src=/static/js/main.3f1c.js></script>"),
    "vite and vue": html("<div id=app></div>", "<script type=module crossorigin src=/assets/index-1a2b.js></script>"),
    "next without server rendering": html(
        '<div id="__next"></div><script id="__NEXT_DATA__" type="application/json">{"props":{}}</script>'
        "<script src=/_next/static/chunks/main-1.js async></script>"
    ),
    "nuxt": html('<div id="__nuxt"><!----></div><script>window.__NUXT__={}</script><script src=/_nuxt/entry.1.js></script>'),
    "angular": html("<app-root></app-root><script src=runtime.1.js type=module></script><script src=main.2.js></script>"),
    "angular, loading": html("<app-root>Loading...</app-root><script src=/main.js></script>"),
    "angularjs": html("<div ng-app=shop><div ng-view></div></div><script src=/js/app.js></script>"),
    "angularjs templates": html(
        "<body ng-app=shop><h1>{{ product.name }}</h1><p ng-repeat='x in y'>{{ x.text }}</p><div id=view></div>"
        "<script src=/js/app.js></script>"
    ),
    "svelte on the body": html("", "<script defer src=/build/bundle.js></script>"),
    "ember": html("<div id=ember-app></div><script src=/assets/vendor.js></script><script src=/assets/shop.js></script>"),
    "gatsby": html("<div id=___gatsby></div><script src=/app-1.js></script>"),
    "custom elements": html("<shop-page></shop-page><script type=module src=/elements.js></script>"),
    "shadow root by an inline script": html(
        "<x-card></x-card><script>customElements.define('x-card', class extends HTMLElement {})</script>"
    ),
    "frame from the server": html(
        FRAME.format("<main id=content><p>Loading…</p></main>")
        + "<script>fetch('/api').then(r => document.getElementById('content').innerHTML = r)</script>"
    ),
    "spinner": html(
        f'<div id="app"><div class="spinner" role="status">Please wait</div></div>{NOTICE}<script src=/app.js></script>'
    ),
    "busy": html('<main id="list" aria-busy="true"></main><script src="/list.js"></script>'),
    "skeleton": html(
        FRAME.format('<div id=results><div class="skeleton-card"></div><div class="skeleton-card"></div></div>')
        + "<script>document.querySelector('#results').replaceChildren()</script>"
    ),
    "endless list": html(
        FRAME.format("<h1>News</h1><div id=feed></div><div class=infinite-scroll-sentinel></div>".replace("-sentinel", ""))
        + "<script>const feed = document.getElementById('feed'); new IntersectionObserver(more)</script>"
    ),
    "asks for scripts": html("<p>Please enable JavaScript to continue.</p><div id=main></div><script src=/app.js></script>"),
    "declared shadow roots": html("<x-page><template shadowrootmode=open><h1>Title</h1></template></x-page>"),
    "an unknown mounting point": html(FRAME.format("<div id=view></div>") + "<script src=/x.js></script>"),
    "an introduction before lazy content": html(
        FRAME.format(f"<main><h1>Title</h1><p>{TEXT}</p><div id=list>Loading…</div></main>")
        + "<script>load(document.getElementById('list'))</script>"
    ),
    "a first part before endless content": html(
        FRAME.format(f"<main><h1>Title</h1><p>{TEXT} {TEXT}</p></main><div id=sentinel></div>")
        + "<script>new IntersectionObserver(() => fetch('/more')).observe(document.querySelector('#sentinel'))</script>"
    ),
    "vue in the document": html(
        "<div id=shop v-cloak><h1>{{ title }}</h1><p v-if=a>{{ text }}</p></div><script src=/x.js></script>"
    ),
    "script redirect": html("<script>location.href = '/new'</script>"),
    "german": html(
        "<div id=app>Wird geladen …</div><noscript>JavaScript ist erforderlich</noscript><script src=/app.js></script>"
    ),
    "upper case": "<HTML><BODY><DIV ID=root></DIV><SCRIPT SRC=/static/js/main.1.js></SCRIPT></BODY></HTML>",
}

PAGES = {
    "no scripts at all": html("<div id=root></div>"),
    "empty": "",
    "server-rendered react": html(
        f"{NOTICE}<div id=root><h1>A title</h1><p>{TEXT}</p></div><script src=/static/js/main.1.js></script>"
    ),
    "server-rendered next": html(
        f'<div id="__next"><main><h1>Title</h1><p>{TEXT}</p></main></div><script id="__NEXT_DATA__" type="application/json">'
         '{"props":"' + "x" * 5000 + '"}</script><script src=/_next/static/chunks/main-1.js></script>'
    ),
    "server-rendered nuxt": html(
        f'<div id="__nuxt" data-server-rendered="true"><h1>T</h1><p>{TEXT}</p></div><script>window.__NUXT__={{}}</script>'
        "<script src=/_nuxt/entry.1.js></script>"
    ),
    "wordpress": html(
        f"<article><h1>A post</h1><p>{TEXT}</p></article><div id=infinite-handle></div><div id=jp-relatedposts></div>"
        "<script src=/wp-includes/js/jquery/jquery.min.js></script><script src=/wp-content/themes/x/js/main.js></script>"
    ),
    "a short page with analytics": html(
        "<h1>Contact</h1><p>Write to us.</p><div id=fb-root></div><script src=https://www.googletagmanager.com/gtag/js></script>"
    ),
    "a short page with widgets": html(
        f"<h1>Hello</h1><p>{TEXT}</p><div id=disqus_thread></div><div id=cookie-consent></div><script src=/js/site.js></script>"
        "<noscript>Please enable JavaScript to view the comments.</noscript>"
    ),
    "a picture": html("<img src=/a.jpg alt=''><script src=/gallery.js></script>"),
    "a form": html("<form action=/login><input name=a><button>Log in</button></form><script src=/js/login.js></script>"),
    "a forum served in noscript": html(
        f"<section id=d></section><noscript><h1>Thread</h1><p>{TEXT} {TEXT}</p></noscript><script src=/assets/a.js></script>"
    ),
    "an article about loading": html(f"<h1>Loading</h1><p>{TEXT} {TEXT}</p><script src=/main.js></script><div id=root></div>"),
    "vue syntax in an article": html(f"<h1>Vue</h1><p>Write {{{{ name }}}} with v-if. {TEXT}</p><script src=/a.js></script>"),
}  # fmt: skip


@pytest.mark.parametrize("name", SHELLS)
def test_a_shell_is_recognised_by_its_missing_text(name: str) -> None:
    shell = detect_app_shell(SHELLS[name], 0)
    assert shell.weight >= 1, shell
    assert shell.evidence


@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_its_server_wrote_is_none(name: str) -> None:
    shell = detect_app_shell(PAGES[name], 0)
    assert shell.weight < 1, shell


def test_a_page_with_text_is_not_even_looked_at() -> None:
    assert detect_app_shell(SHELLS["create-react-app"], ENOUGH_WORDS) is NO_SHELL


@pytest.mark.parametrize(
    "source",
    [
        "<script>" + "<div id=root>" * 50_000,
        "<script></script>" + "<div id=root>" * 100_000,
        "<script></script>" + "<x-a><div aria-busy=true class=skeleton>" * 20_000,
        "<script>{{</script>" + "{{" * 100_000,
        "<script src=/a.js></script>" + "<noscript>" * 5_000 + "enable " * 20_000,
        "<script>\ud800</script><body>\x00\ufdd0<div id=root>",
    ],
)
def test_any_response_gets_a_decision(source: str) -> None:
    assert detect_app_shell(source, 0).weight >= 0


def reading_of(source: str, how: RenderDecision | None = None) -> tuple[object, str]:
    import json

    import zstandard

    response = Response(Url("http://site.example/"), 200, (("content-type", "text/html"),), source.encode())
    reading = read(response, ReadOptions(rendering=how or RenderDecision()))
    assert reading.document is not None
    data = zstandard.ZstdDecompressor().decompressobj().decompress(reading.document.data)
    return reading.shell, json.dumps(json.loads(data)["rendering"])


def test_the_document_records_how_it_was_fetched() -> None:
    assert reading_of(PAGES["wordpress"])[1] == '{"mode": "http", "reason": "static"}'
    browser = RenderDecision(True, RenderReason.SHELL, ("it was empty",))
    assert reading_of(SHELLS["nuxt"], browser) == (
        NO_SHELL,
        '{"mode": "browser", "reason": "shell", "evidence": ["it was empty"]}',
    )
    _, document = reading_of(SHELLS["nuxt"], RenderDecision(False, RenderReason.NEVER))
    assert document.startswith('{"mode": "http", "reason": "never", "evidence": ["the body holds')


def test_evidence_is_redacted_like_everything_that_is_kept() -> None:
    key = "sk-" + "a1B2c3D4" * 6
    source = html(f"<div id=root></div><noscript>Enable JavaScript! {key}</noscript><script src=/main.js></script>")
    shell, document = reading_of(source)
    assert key not in str(shell)
    assert key not in document
    assert "Enable JavaScript" in document
