"""Patches that fix findings: applied to the sources of real crawled sites, after which the same rule passes."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from tests.support.crawls import crawl_in, crawl_settings
from tests.support.http_server import Answer, redirect, serve_site
from tests.unit.audit.sites import html

from sitelore.app.audit.fixing import Fixes, find_fixes, read_checkout, write_fixes
from sitelore.app.audit.phase import AuditResult, audit_run
from sitelore.app.wiring import embedded

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git to apply patches")

Build = Callable[[Path], Mapping[str, Answer]]
"""Makes the site of a checkout: what the server answers by path."""
VIEWPORT = '<meta name="viewport" content="width=device-width">'


def sound(number: int, **changes: Any) -> str:
    """A page without faults that differs from all others."""
    title = f"Part {number} of how mills were built"
    values = {"title": title, "seed": number + 40, "links": "/index.html /other.html", "words": 140}
    return html(**{**values, **changes}, description=f"Part {number}: what the people of the valley knew about building mills.")


def without(text: str, pattern: str, by: str = "") -> str:
    changed = re.sub(pattern, by, text, count=1)
    assert changed != text, pattern
    return changed


def before(tag: str, addition: str) -> Callable[[str], str]:
    """Adds markup before a tag."""
    return lambda page: without(page, tag, f"{addition}{tag}")


def static_pages() -> dict[str, str]:
    """A page for each rule, by the name of the rule."""
    json_ld = '<script type="application/ld+json">{"@type": "Thing", "name": "Mill",}</script>'
    nofollow = "<a rel='nofollow noopener' href=other.html>Other</a>"
    faults: dict[str, Callable[[str], str]] = {
        "title-missing": lambda page: without(page, "<title>.*?</title>"),
        "description-missing": lambda page: without(page, "<meta name=description[^>]*>"),
        "lang-missing": lambda page: without(page, " lang=en"),
        "lang-invalid": lambda page: without(page, "lang=en", "lang=en_UK"),
        "viewport-missing": lambda page: without(page, "<meta name=viewport[^>]*>"),
        "zoom-blocked": lambda page: without(page, "initial-scale=1", "initial-scale=1, user-scalable=no, maximum-scale=1"),
        "head-element-repeated": before(
            "</head>", f"\n  {VIEWPORT.replace('device-width', 'device-width, initial-scale=1')}\n"
        ),
        "canonical-invalid": before("</head>", "<link rel=canonical href='canonical-invalid.html#top'>"),
        "canonical-to-bad": before("</head>", "<link rel=canonical href='/lost.html'>"),
        "canonical-to-home": before("</head>", "<link rel=canonical href='/'>"),
        "hreflang-invalid": before("</head>", "<link rel=alternate hreflang=en_UK href='https://other.example/'>"),
        "broken-internal-link": before("</main>", "<p><a class=x href='oter.html#part' >Other</a></p>"),
        "redirected-internal-link": before("</main>", "<p><a href=/moved>It moved</a></p>"),
        "broken-anchor": before("</main>", "<p><a href='other.html#The-Wheel'>The wheel</a></p>"),
        "nofollow-internal": lambda page: before("</main>", nofollow)(without(page, "<a href='/other.html'>[^<]*</a>")),
        "image-alt-missing": before("</main>", "<img src=/mill.png width=6 height=4 />\n"),
        "frame-without-title": before("</main>", "<iframe src='https://video.example/1'></iframe>"),
        "h1-missing": lambda page: without(without(page, "<h1>", "<h2 class=big>"), "</h1>", "</h2>"),
        "heading-skip": lambda page: without(page, "</h1>", "</h1><h4 id=n>Notes</h4>"),
        "heading-empty": lambda page: without(page, "</h1>", "</h1><h2> </h2>"),
        "jsonld-invalid": before("</head>", json_ld),
        "copyright-stale": lambda page: without(page, "</main>", "</main><footer>&copy; 2019\u20132020 The mill</footer>"),
    }
    return {name: fault(sound(number)) for number, (name, fault) in enumerate(faults.items())}


def served(folder: Path) -> dict[str, Answer]:
    """The files of a folder as a server answers them."""
    pages = {f"/{path.relative_to(folder).as_posix()}": Answer(body=path.read_bytes()) for path in folder.rglob("*.html")}
    pages["/robots.txt"] = Answer(body=(folder / "robots.txt").read_bytes(), content_type="text/plain")
    return {**pages, "/": pages["/index.html"], "/moved": redirect("/other.html")}


@dataclass(frozen=True)
class Fixed:
    """The audits before and after the patches, with the proposals."""

    before: AuditResult
    fixes: Fixes
    after: AuditResult

    def keys(self, result: AuditResult, rule: str) -> list[str]:
        return [each.key for each in result.findings if each.rule == rule]


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(("git", *arguments), cwd=folder, check=True)


async def fixed(
    tmp_path: Path, checkout: Path, build: Build, words: Callable[[AuditResult], Mapping[str, str]] | None = None
) -> Fixed:
    """Crawl the site of a checkout, apply all patches to it with git, and crawl again."""
    pages = dict(build(checkout))
    git(checkout, "init", "-q")
    with serve_site(pages.get) as http_server:
        async with embedded(tmp_path / "data", writing=True) as app:
            before = await audit_run(app, (await crawl_in(app, crawl_settings(http_server.url("/"), audit=True))).run)
            known = words(before) if words is not None else {}
            fixes = await find_fixes(app, before, before.records, read_checkout(checkout), known)
            for name in write_fixes(fixes, tmp_path / "fixes"):
                if name.endswith(".patch"):
                    git(checkout, "apply", str(tmp_path / "fixes" / name))
            pages.clear()
            pages.update(build(checkout))
            after = await audit_run(
                app, (await crawl_in(app, crawl_settings(http_server.url("/"), audit=True, force=True))).run
            )
    return Fixed(before, fixes, after)


async def test_twenty_rules_are_fixed_in_a_static_site_and_every_other_byte_stays(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    pages = static_pages()
    for name, text in pages.items():
        (checkout / f"{name}.html").write_bytes(text.replace("\n", "\r\n").encode() + b"<!-- caf\xe9 -->")
    links = " ".join(f"/{name}.html" for name in pages)
    (checkout / "index.html").write_text(html(links=f"{links} /other.html", title="The mills of the north valley"))
    (checkout / "other.html").write_text(
        sound(90, body="<h2 id=the-wheels>Wheels</h2>", links="/index.html /other.html /lost.html")
    )
    (checkout / "robots.txt").write_text("User-agent: *\nDisallow: /private\nthis line has no meaning\n")
    original = {path.name: path.read_bytes() for path in checkout.iterdir() if path.is_file()}

    def words(result: AuditResult) -> Mapping[str, str]:
        return {each.key: 'A "mill" by the river' for each in result.findings if each.rule == "image-alt-missing"}

    site = await fixed(tmp_path, checkout, served, words)
    rules = {*pages, "robots-txt-invalid"}
    assert {rule for rule in rules if not site.keys(site.before, rule)} == set()
    proposed = {each.finding.key for each in site.fixes.proposals}
    for rule in rules:
        own = set(site.keys(site.before, rule)) & proposed
        assert own, (rule, [each.reason for each in site.fixes.refusals if each.finding.rule == rule])
        assert not own & set(site.keys(site.after, rule)), rule
    assert len(rules) >= 20
    for name, bytes_before in original.items():
        after = (checkout / name).read_bytes()
        assert after.endswith(bytes_before[-16:]), name
        assert after.count(b"\r\n") >= bytes_before.count(b"\r\n") - 1
    assert b'alt="A &quot;mill&quot; by the river" />' in (checkout / "image-alt-missing.html").read_bytes()
    assert b'<a class=x href="other.html#part" >Other</a>' in (checkout / "broken-internal-link.html").read_bytes()


# Generators


def layout(title: str, description: str, content: str, edit: str = "", head: str = "", attributes: str = ' lang="en"') -> str:
    """What a template makes of a page."""
    meta = f'<meta name="description" content="{description}">' if description else ""
    return (
        f"<!doctype html><html{attributes}><head><meta charset=utf-8><title>{title}</title>{meta}{head}"
        '<meta property="og:title" content="x"><meta property="og:image" content="https://site.example/x.png"></head>'
        f"<body><nav><a href='/'>Home</a></nav><main>{content}{edit}</main></body></html>"
    )


def front_matter(text: str) -> tuple[dict[str, str], str]:
    match = re.match(r"(---|\+\+\+)\n(.*?)\n\1\n", text, re.DOTALL)
    if match is None:
        return {}, text
    pairs = (re.split(r"\s*[:=]\s*", line, maxsplit=1) for line in match[2].splitlines() if re.search("[:=]", line))
    return {key: value.strip('"') for key, value in pairs}, text[match.end() :]


WORDS = " ".join(
    f"The {part} of the mill was built by the people of the valley who knew the river and its moods." for part in
    ("wheel", "weir", "sluice", "stone", "shaft", "floor", "roof", "gate")
)  # fmt: skip


def hugo(folder: Path) -> Mapping[str, Answer]:
    """Pages as Hugo makes them: from `content`, with the template in `layouts`."""
    template = (folder / "layouts/_default/baseof.html").read_text()
    pages = {}
    for path in (folder / "content").rglob("*.md"):
        values, text = front_matter(path.read_text())
        url = values.get("url") or f"/{path.relative_to(folder / 'content').with_suffix('').as_posix()}/".replace(
            "/_index/", "/"
        )
        meta = f'<meta name="description" content="{values["description"]}">' if "description" in values else ""
        body = template.replace("{{ .Title }}", values.get("title", "")).replace("{{ .Description }}", meta)
        pages[url] = Answer(body=body.replace("{{ .Content }}", MarkdownIt("commonmark").render(text)).encode())
    return {**pages, "/moved": redirect("/guide/wheels/")}


async def test_front_matter_links_headings_and_the_template_of_a_hugo_site_are_fixed(tmp_path: Path) -> None:
    checkout = tmp_path / "site"
    description = "All about the mills of the valley, and of those who built them."
    home = f'---\ntitle: "The mills of the valley"\ndescription: "{description}"\n---\n'
    links = "[Wheels](/guide/wheels/) [Old](/old-address/) [Water](/guide/water/)"
    moved = '`[Moved](/moved)` is code, [Moved](/moved "title") is not.'
    toml = '+++\ntitle = "The wheels of the mills"\n\n[params]\nx = "y"\n+++\n'
    files = {
        "hugo.toml": 'title = "Mills"\n',
        "layouts/_default/baseof.html": layout("{{ .Title }}", "", "{{ .Content }}", head="{{ .Description }}", attributes=""),
        "content/_index.md": f"{home}# Mills\n\n{WORDS}\n\n{links}\n",
        "content/guide/wheels.md": f"{toml}# Wheels\n\n{WORDS[::-1]}\n\n#### Spokes\n\n{moved}\n",
        "content/guide/water.md": (
            f"---\ntitle: Water of the mills\n---\n## Water\n\n{WORDS.upper()} Water.\n\n[Broken](/guide/weels/#x)\n"
        ),
        "content/other.md": f'---\ntitle: "Another page of it"\nurl: "/old-address/"\n---\n# Other\n\n{WORDS.title()}\n',
    }
    write(checkout, files)

    def words(result: AuditResult) -> Mapping[str, str]:
        return {each.key: "en" for each in result.findings if each.rule == "lang-missing"}

    site = await fixed(tmp_path, checkout, hugo, words)
    assert_fixed(site, "description-missing", "lang-missing", "viewport-missing", "heading-skip", "redirected-internal-link",
                  "broken-internal-link", "h1-missing")  # fmt: skip
    by_rule = {each.finding.rule: each for each in site.fixes.proposals}
    assert by_rule["lang-missing"].path == "layouts/_default/baseof.html"
    assert "template" in by_rule["lang-missing"].mapping
    assert {each.path for each in site.fixes.proposals if each.finding.url.endswith("/old-address/")} >= {"content/other.md"}
    wheels = (checkout / "content/guide/wheels.md").read_text()
    assert '`[Moved](/moved)` is code, [Moved](/guide/wheels/ "title") is not.' in wheels
    assert re.search(r'description = "[^"\n]+"\n\[params\]', wheels)
    assert (checkout / "content/guide/water.md").read_text().count("[Broken](/guide/wheels/#x)") == 1


def mkdocs(folder: Path) -> Mapping[str, Answer]:
    """Pages as MkDocs makes them: from `docs`, with edit links; links to files become links to pages."""
    pages = {}
    for path in (folder / "docs").rglob("*.md"):
        name = path.relative_to(folder / "docs").as_posix()
        values, text = front_matter(path.read_text())
        url = f"/{name.removesuffix('.md')}/".replace("/index/", "/")
        up = "../" if not name.endswith("index.md") else ""
        content = MarkdownIt("commonmark").render(text)
        content = re.sub(r'href="(?!https?:|/)([^"#]*?)(?:index)?\.md', rf'href="{up}\1/', content)
        title = values.get("title") or re.sub(r"<[^>]*>", "", content.partition("</h1>")[0]).strip() or "Mills"
        edit = f'<a href="https://git.example/org/site/edit/main/docs/{name}">Edit</a>'
        pages[url] = Answer(
            body=layout(f"{title} of the old mills", values.get("description", ""), content, edit, VIEWPORT).encode()
        )
    return {**pages, "/moved/": redirect("/guide/wheels/")}


async def test_pages_of_an_mkdocs_site_are_found_by_their_edit_links_and_links_to_files_stay_such(tmp_path: Path) -> None:
    checkout = tmp_path / "site"
    files = {
        "mkdocs.yml": "site_name: Mills\n",
        "docs/index.md": f"# The mills\n\n{WORDS}\n\n[Wheels](guide/wheels.md) [Water](guide/water.md)\n",
        "docs/guide/wheels.md": f"# Wheels\n\n{WORDS[::-1]}\n\n## Parts\n\n#### Spokes\n\n[Moved](../moved.md)\n",
        "docs/guide/water.md": f"# Water\n\n{WORDS.upper()}\n\n[Broken](weels.md#parts)\n\n[Parts](wheels.md#Parts)\n",
    }
    write(checkout, files)
    site = await fixed(tmp_path, checkout, mkdocs)
    assert_fixed(site, "description-missing", "heading-skip", "redirected-internal-link", "broken-internal-link")
    assert {each.mapping.partition(",")[0] for each in site.fixes.proposals} == {"edit link"}
    assert "[Broken](wheels.md#parts)" in (checkout / "docs/guide/water.md").read_text()
    assert "[Moved](wheels.md)" in (checkout / "docs/guide/wheels.md").read_text()
    assert (checkout / "docs/guide/wheels.md").read_text().startswith('---\ndescription: "')


def sphinx(folder: Path) -> Mapping[str, Answer]:
    """Pages as Sphinx makes them: from reStructuredText of the few constructs that the test uses."""
    pages = {}
    for path in (folder / "source").rglob("*.rst"):
        text, description = path.read_text(), ""
        if (meta := re.match(r"\.\. meta::\n   :description: (.*)\n\n", text)) is not None:
            description, text = meta[1], text[meta.end() :]
        text = re.sub(r"^(.+)\n=+$", r"<h1>\1</h1>", text, flags=re.MULTILINE)
        text = re.sub(r"`([^`<]*?) <([^<>`\s]+)>`__?", r'<a href="\2">\1</a>', text)
        text = re.sub(
            r"^\.\. image:: (\S+)\n   :alt: (.*)$", r'<img width=6 height=4 src="\1" alt="\2">', text, flags=re.MULTILINE
        )
        text = re.sub(r"^\.\. image:: (\S+)$", r'<img width=6 height=4 src="\1">', text, flags=re.MULTILINE)
        name = path.relative_to(folder / "source").with_suffix(".html").as_posix()
        body = "".join(f"<p>{part}</p>" for part in text.split("\n\n"))
        pages[f"/{name}"] = Answer(body=layout(f"{name} of the mills of old", description, body, head=VIEWPORT).encode())
    return {**pages, "/": pages["/index.html"], "/moved.html": redirect("/wheels.html")}


async def test_links_descriptions_and_images_of_a_sphinx_site_are_fixed(tmp_path: Path) -> None:
    checkout = tmp_path / "site"
    files = {
        "source/conf.py": "project = 'Mills'\n",
        "source/index.rst": f"The mills\n=========\n\n{WORDS}\n\n`Wheels <wheels.html>`_ `Water <water.html>`_\n",
        "source/wheels.rst": f"Wheels\n======\n\n{WORDS[::-1]}\n\n.. image:: mill.png\n\n`Moved <moved.html>`_\n",
        "source/water.rst": f"Water\n=====\n\n{WORDS.upper()}\n\n`Broken <weels.html>`__\n",
    }
    write(checkout, files)

    def words(result: AuditResult) -> Mapping[str, str]:
        return {each.key: "A mill" for each in result.findings if each.rule == "image-alt-missing"}

    site = await fixed(tmp_path, checkout, sphinx, words)
    assert_fixed(site, "description-missing", "redirected-internal-link", "broken-internal-link", "image-alt-missing")
    assert {each.mapping.partition(",")[0] for each in site.fixes.proposals} == {"generator"}
    assert "`Broken <wheels.html>`__" in (checkout / "source/water.rst").read_text()


async def test_a_wrong_mapping_is_refused(tmp_path: Path) -> None:
    """The checkout is that of another site with the same file names, and has two pages with equal text."""
    checkout, other = tmp_path / "site", tmp_path / "other"
    write(checkout, {"index.html": sound(1), "other.html": without(sound(2), " lang=en"), "robots.txt": ""})
    write(
        other,
        {"index.html": sound(50), "other.html": without(sound(51), " lang=en"), "a/x.html": sound(2), "a/y.html": sound(2)},
    )
    pages = served(checkout)
    with serve_site(pages.get) as http_server:
        async with embedded(tmp_path / "data", writing=True) as app:
            result = await audit_run(app, (await crawl_in(app, crawl_settings(http_server.url("/"), audit=True))).run)
            fixes = await find_fixes(app, result, result.selected({"lang-missing"}), read_checkout(other), {})
    assert fixes.proposals == []
    [refusal] = fixes.refusals
    assert refusal.reason.startswith("no file has the text of the page (other.html has ")


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def assert_fixed(site: Fixed, *rules: str) -> None:
    """Every finding of these rules had a proposal and is gone."""
    for rule in rules:
        reasons = [(each.finding.url, each.reason) for each in site.fixes.refusals if each.finding.rule == rule]
        assert site.keys(site.before, rule), rule
        assert site.keys(site.after, rule) == [], (rule, reasons)
