"""Small single-page applications, each with a static site whose server writes the same pages.

Each is written by hand after the output of a framework's build: the shell, the names of bundles and mounting points,
when the content arrives, and where in the document it is placed. `SPA_SITES` lists them all.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.support.http_server import Answer, Pages, prose, redirect, site

SCRIPT = "text/javascript; charset=utf-8"
NOTICE = "<noscript>You need to enable JavaScript to run this app.</noscript>"


@dataclass(frozen=True, slots=True)
class Article:
    """The content of one page."""

    title: str
    paragraphs: tuple[str, ...]
    links: tuple[str, ...] = ()
    items: tuple[str, ...] = ()

    def html(self) -> str:
        """The main content, as every site shows it after rendering."""
        text = "".join(f"<p>{paragraph}</p>" for paragraph in self.paragraphs)
        items = "".join(f'<section class="item"><h2>{item}</h2><p>{prose(item, 40)}</p></section>' for item in self.items)
        links = "".join(f'<li><a href="{href}">More about {href.strip("/") or "home"}</a></li>' for href in self.links)
        return f"<h1>{self.title}</h1>{text}{items}{f'<ul>{links}</ul>' if links else ''}"


def articles(count: int = 4) -> dict[str, Article]:
    """A home page and `count` pages that it links to, the last one through another page."""
    names = ["tea", "coffee", "cocoa", "water", *(f"drink-{number}" for number in range(5, count + 1))][:count]
    pages = {f"/{name}": Article(name.title(), (prose(name), prose(f"{name} again", 30)), ("/",)) for name in names}
    pages[f"/{names[0]}"] = Article("Tea", (prose("tea"), prose("tea again", 30)), ("/", f"/{names[-1]}"))
    pages["/"] = Article("Drinks", (prose("drinks"),), tuple(f"/{name}" for name in names[:-1]))
    return pages


def document(body: str, head: str = "") -> Answer:
    """A page with this body."""
    start = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Drinks</title>{head}</head>'
    return Answer(body=f"{start}<body>{body}</body></html>".encode())


def framed(main: str) -> str:
    """The frame that a server writes around a page."""
    menu = "".join(f'<a href="{path}">{path}</a>' for path in ("/", "/tea"))
    return f"<header><nav>{menu}</nav></header><main>{main}</main><footer><p>Drinks Ltd, all rights reserved</p></footer>"


def static_site(pages: dict[str, Article], moved: dict[str, str] | None = None) -> Pages:
    """The pages as a static site, with redirects for `moved`."""
    written = {path: document(framed(article.html())) for path, article in pages.items()}
    return site({**written, **{path: redirect(target, 302) for path, target in (moved or {}).items()}})


def _data(pages: dict[str, Article]) -> str:
    return json.dumps({path: article.html() for path, article in pages.items()})


def _shell_site(pages: dict[str, Article], shell: Callable[[str], Answer], files: dict[str, Answer]) -> Pages:
    """A site that answers every page path with the shell, and other paths with files."""
    known = {path: shell(path) for path in pages} | files
    return known.get


def script(text: str) -> Answer:
    """A script file."""
    return Answer(body=text.encode(), content_type=SCRIPT)


_RENDER = """
function frame(html) {
  return '<header><nav><a href="/">/</a><a href="/tea">/tea</a></nav></header><main>' + html +
    '</main><footer><p>Drinks Ltd, all rights reserved</p></footer>';
}
"""


def react(pages: dict[str, Article]) -> Pages:
    """Client-side routing: one bundle, `#root`, and a router that handles links with `history.pushState`."""
    bundle = f"""(self.webpackChunkdrinks = self.webpackChunkdrinks || []).push([[179]]);{_RENDER}
    const routes = {_data(pages)};
    function show(path) {{ document.getElementById('root').innerHTML = frame(routes[path] || '<h1>Nothing here</h1>'); }}
    document.addEventListener('click', event => {{
      const link = event.target.closest('a');
      if (!link) return;
      event.preventDefault(); history.pushState({{}}, '', link.getAttribute('href')); show(location.pathname);
    }});
    addEventListener('popstate', () => show(location.pathname));
    show(location.pathname);"""
    shell = f'{NOTICE}<div id="root"></div>'
    head = '<script defer="defer" src="/static/js/main.3f1c2a9b.js"></script>'
    return _shell_site(pages, lambda _: document(shell, head), {"/static/js/main.3f1c2a9b.js": script(bundle)})


def vue(pages: dict[str, Article]) -> Pages:
    """A module that loads the route's own module when it is needed."""
    entry = f"""{_RENDER}
    const {{ routes }} = await import('/assets/routes-5d41402a.js');
    document.querySelector('#app').innerHTML = frame(await routes[location.pathname]());"""
    routes = (
        f"const data = {_data(pages)};\nexport const routes = Object.fromEntries(Object.entries(data).map(([path, html]) => "
    )
    routes += "[path, () => new Promise(done => setTimeout(() => done(html), 30))]));"
    head = '<script type="module" crossorigin src="/assets/index-7d793037.js"></script>'
    files = {"/assets/index-7d793037.js": script(entry), "/assets/routes-5d41402a.js": script(routes)}
    return _shell_site(pages, lambda _: document('<div id="app"></div>', head), files)


def svelte(pages: dict[str, Article]) -> Pages:
    """Mounted to the body itself, which the server sends empty."""
    bundle = f"""var app = (function () {{ {_RENDER}
      const target = document.createElement('div');
      target.innerHTML = frame({_data(pages)}[location.pathname]);
      document.body.append(...target.childNodes);
    }})();"""
    head = '<script defer src="/build/bundle.js"></script>'
    return _shell_site(pages, lambda _: document("", head), {"/build/bundle.js": script(bundle)})


def api_loaded(pages: dict[str, Article]) -> Pages:
    """The server sends the frame; the content comes from an API a moment later."""
    code = """fetch('/api' + location.pathname + '.json').then(answer => answer.json()).then(data => setTimeout(() => {
      document.getElementById('content').innerHTML = data.html;
    }, 60));"""
    shell = framed("").replace("<main></main>", '<main id="content"><p class="spinner">Loading…</p></main>')
    api = {
        f"/api{path}.json": Answer(body=json.dumps({"html": article.html()}).encode(), content_type="application/json")
        for path, article in pages.items()
    }
    return _shell_site(pages, lambda _: document(f"{shell}<script>{code}</script>"), api)


def hydrated(pages: dict[str, Article]) -> Pages:
    """The server sends the whole page, and a script hydrates it."""
    code = """document.querySelectorAll('a').forEach(link => link.addEventListener('click', () => {}));
    document.getElementById('root').setAttribute('data-hydrated', 'yes');"""
    head = '<script defer src="/static/js/main.0cc175b9.js"></script>'
    shells = {path: document(f'{NOTICE}<div id="root">{framed(article.html())}</div>', head) for path, article in pages.items()}
    return _shell_site(pages, shells.__getitem__, {"/static/js/main.0cc175b9.js": script(f"/* hydrateRoot */ {code}")})


def shadow_dom(pages: dict[str, Article]) -> Pages:
    """A custom element with all content and links in an open shadow root."""
    code = f"""{_RENDER}
    customElements.define('drinks-page', class extends HTMLElement {{
      connectedCallback() {{
        this.attachShadow({{ mode: 'open' }}).innerHTML = frame({_data(pages)}[location.pathname]);
      }}
    }});"""
    shell = "<drinks-page></drinks-page><script type=module src=/elements.js></script>"
    return _shell_site(pages, lambda _: document(shell), {"/elements.js": script(code)})


def infinite_scroll(pages: dict[str, Article]) -> Pages:
    """Infinite scroll: a few more items are loaded whenever the end of the list becomes visible."""
    code = """const feed = document.getElementById('feed');
    let next = 0, busy = false;
    async function more() {
      if (busy || next === null) return;
      busy = true;
      const data = await (await fetch('/api/feed?path=' + location.pathname + '&from=' + next)).json();
      feed.insertAdjacentHTML('beforeend', data.html);
      next = data.next; busy = false;
      if (next === null) observer.disconnect(); else { observer.unobserve(sentinel); observer.observe(sentinel); }
    }
    const sentinel = document.getElementById('scroll-sentinel');
    const observer = new IntersectionObserver(entries => { if (entries.some(entry => entry.isIntersecting)) more(); });
    observer.observe(sentinel);"""
    head = "<style>.item { min-height: 400px } #scroll-sentinel { height: 1px }</style>"
    shell = framed('<div id="feed"></div><div id="scroll-sentinel"></div>') + f"<script>{code}</script>"

    def answer(target: str) -> Answer | None:
        if target in pages:
            return document(shell, head)
        path, _, start = target.removeprefix("/api/feed?path=").partition("&from=")
        if path not in pages:
            return None
        return _feed(pages[path], int(start))

    return answer


def _feed(article: Article, start: int, size: int = 3) -> Answer:
    """A part of a page: its head comes with the first, its links with the last."""
    end = start + size
    is_last = end >= len(article.items)
    part = Article(article.title, article.paragraphs, article.links if is_last else (), article.items[start:end])
    html = part.html() if start == 0 else part.html().partition("</h1>")[2].removeprefix("".join(_texts(article)))
    return Answer(body=json.dumps({"html": html, "next": None if is_last else end}).encode(), content_type="application/json")


def _texts(article: Article) -> list[str]:
    return [f"<p>{paragraph}</p>" for paragraph in article.paragraphs]


def login_wall(pages: dict[str, Article]) -> Pages:
    """`/account` is for members: a script redirects all others to `/login`."""
    code = f"""{_RENDER}
    const member = document.cookie.includes('member=');
    if (location.pathname === '/account' && !member) location.replace('/login');
    else document.getElementById('app').innerHTML = frame({_data(pages)}[location.pathname]);"""
    head = '<script defer src="/js/app.8f14e45f.js"></script>'
    shell = f'<div id="app"><div class="loader">Please wait</div></div>{NOTICE}'
    both = {**pages, "/account": Article("Account", ())}
    return _shell_site(both, lambda _: document(shell, head), {"/js/app.8f14e45f.js": script(code)})


@dataclass(frozen=True, slots=True)
class SpaSite:
    """One kind of single-page application, its pages, and whether it needs a browser."""

    make: Callable[[dict[str, Article]], Pages]
    pages: dict[str, Article] = field(default_factory=articles)
    moved: dict[str, str] = field(default_factory=dict)
    needs_browser: bool = True

    @property
    def spa(self) -> Pages:
        """The site as a single-page application."""
        return self.make(self.pages)

    @property
    def static_site(self) -> Pages:
        """The site with the same pages written by the server."""
        return static_site(self.pages, self.moved)


def _with_items() -> dict[str, Article]:
    pages = articles(3)
    items = {path: tuple(f"{article.title} number {letter}" for letter in "abcdefgh") for path, article in pages.items()}
    return {path: Article(article.title, article.paragraphs, article.links, items[path]) for path, article in pages.items()}


def _with_login() -> dict[str, Article]:
    home = Article("Club", (prose("club"),), ("/rules", "/account", "/login"))
    login = Article("Members only", (prose("members"), "Please log in with your name and your password."), ("/",))
    return {"/": home, "/rules": Article("Rules", (prose("rules"),), ("/",)), "/login": login}


SPA_SITES = {
    "react": SpaSite(react),
    "vue": SpaSite(vue),
    "svelte": SpaSite(svelte),
    "lazy": SpaSite(api_loaded),
    "hydrated": SpaSite(hydrated, needs_browser=False),
    "shadow": SpaSite(shadow_dom),
    "endless": SpaSite(infinite_scroll, _with_items()),
    "walled": SpaSite(login_wall, _with_login(), {"/account": "/login"}),
}
