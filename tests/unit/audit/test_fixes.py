"""Edits that fix findings: the rule passes afterwards, every other byte stays, and what is not clear is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from sitelore.audit.fixes.checkout import Checkout
from sitelore.audit.fixes.html_tags import HtmlText
from sitelore.audit.fixes.markup_fixes import MARKUP_FIXES, addresses
from sitelore.audit.fixes.proposals import FIXABLE, PageText, PatchSeries, Proposal, propose, propose_html
from sitelore.audit.fixes.source import Edit, FixContext, NoFix, apply_edits, changed_lines, closest, kind_of, unified_diff
from sitelore.audit.rules.head import first_sentence
from sitelore.audit.site import TargetKind
from sitelore.extract.redaction.redactor import redact
from sitelore.model.audit.findings import Finding, Severity
from sitelore.model.states import Proof, UrlState
from sitelore.model.url import Url

from .cases import HOME, OTHER
from .sites import BASE, Audited, Spec, address, audit, html, state

WATER = "The water of the river turns the wheel, and the wheel turns the stones of the mill."
WHEELS = "A wheel with buckets needs less water than one with boards, and it is heavier to build."


@dataclass(frozen=True)
class Case:
    """A page with a fault, the other pages of its site, and what the fixed page must hold."""

    page: str
    holds: str
    others: dict[str, Any]


def case(page: str, holds: str, **others: Any) -> Case:
    return Case(page, holds, {f"/{path}": spec for path, spec in others.items()})


def canonical(url: str) -> str:
    return f"<link rel='canonical' href='{url}'>"


CASES = {
    "link-downgrade": case(html("<a class=x href='http://site.example/other#a'>O</a>"), 'href="https://site.example/other#a"'),
    "mixed-active": case(
        html("<script src='http://c.example/a.js' defer></script>"), '<script src="https://c.example/a.js" defer>'
    ),
    "mixed-passive": case(html("<img alt='' src=http://c.example/a.png width=1 height=1>"), 'src="https://c.example/a.png"'),
    "form-insecure": case(
        html("<form action='http://site.example/send'><input aria-label=x></form>"), 'action="https://site.example/send"'
    ),
    "canonical-chain": case(
        html(head=canonical(f"{BASE}/b")),
        f'href="{BASE}/other"',
        b=html(head=canonical(f"{BASE}/other"), seed=8, links="/ /page", title="The second of three pages"),
    ),
    "canonical-to-bad": case(html(head=canonical(f"{BASE}/gone")), f'href="{BASE}/page"', gone=Spec(status=404)),
    "canonical-missing": case(
        html(),
        f'<link rel="canonical" href="{BASE}/page">',
        **{"page?v=1": state(UrlState.ALIAS, proof=Proof.EQUAL_CONTENT, final_url=address("/page"))},
    ),
    "canonical-invalid": case(html(head=canonical("/page")), f'href="{BASE}/page"'),
    "charset-unclear": case(html().replace("<meta charset=utf-8>", ""), '<head><meta charset="utf-8">'),
    "title-missing": case(
        html(title="").replace("<h1></h1>", "<h1>Mills &amp; wheels</h1>"), "<title>Mills &amp; wheels</title>"
    ),
}


def site_of(each: Case, page: str) -> Audited:
    links = "/ /page " + " ".join(each.others)
    spec = Spec(page, content_type="text/html") if "charset" not in page else page
    return audit(
        {"/": HOME.replace("</main>", f"<a href=/page>{links}</a></main>"), "/other": OTHER, "/page": spec, **each.others}
    )


def context_of(site: Audited, finding: Finding, **more: Any) -> FixContext:
    def is_live(url: str) -> bool:
        return site.site.target(url).kind is TargetKind.PAGE

    live = [str(page.url) for page in site.site.html_pages]
    return FixContext(finding, Url.trusted(finding.url), 2026, is_live, live, **more)


@pytest.mark.parametrize("rule", CASES)
def test_a_fixed_page_passes_its_rule_and_keeps_every_other_byte(rule: str) -> None:
    each = CASES[rule]
    before = site_of(each, each.page)
    [finding] = [each_finding for each_finding in before.of(rule) if each_finding.url == f"{BASE}/page"]
    proposal = propose_html(each.page, context_of(before, finding))
    after = apply_edits(each.page, proposal.edits)
    assert each.holds in after
    assert site_of(each, after).of(rule) == []
    assert changed_lines(each.page, after) <= 2
    kept = each.page
    for edit in sorted(proposal.edits, reverse=True):
        kept = kept[: edit.start] + kept[edit.end :]
    assert _is_subsequence(kept, after)


def _is_subsequence(text: str, of: str) -> bool:
    remaining = iter(of)
    return all(sign in remaining for sign in text)


def test_at_least_twenty_rules_have_proposals() -> None:
    assert len(FIXABLE) >= 20


def finding(rule: str, **evidence: Any) -> Finding:
    return Finding(rule, f"{BASE}/docs/page/", Severity.ERROR, evidence, "key")


def plain_context(fault: Finding, path: str = "docs/page.md", **more: Any) -> FixContext:
    return FixContext(fault, Url.trusted(fault.url), 2026, lambda _: True, (f"{BASE}/docs/wheels/",), path=path, **more)


WEELS = {"target": f"{BASE}/docs/weels/"}
MARKDOWN: list[tuple[str, dict[str, Any], str, str]] = [
    ("broken-internal-link", WEELS, "[a](/docs/weels/#x) `[a](/docs/weels/)`", "[a](/docs/wheels/#x) `[a](/docs/weels/)`"),
    ("broken-internal-link", WEELS, "[a][1]\n\n[1]: /docs/weels/ 'T'", "[a][1]\n\n[1]: /docs/wheels/ 'T'"),
    (
        "redirected-internal-link",
        {"target": f"{BASE}/docs/old/", "final": f"{BASE}/docs/wheels/"},
        "<https://site.example/docs/old/>",
        "<https://site.example/docs/wheels/>",
    ),
    (
        "broken-anchor",
        {"target": f"{BASE}/docs/page/", "fragment": "Parts", "nearest": ["parts", "party"]},
        "[p](#Parts)",
        "[p](#parts)",
    ),
    (
        "mixed-passive",
        {"element": "img", "url": "http://cdn.example/a.png"},
        '![m](http://cdn.example/a.png "T")',
        '![m](https://cdn.example/a.png "T")',
    ),
    (
        "heading-skip",
        {"heading": "Spokes and hubs", "level": 4, "after": "h2 Parts"},
        "## Parts\r\n\r\n#### *Spokes* and `hubs` ####\r\n",
        "## Parts\r\n\r\n### *Spokes* and `hubs` ####\r\n",
    ),
    ("h1-missing", {"first_heading": "Water"}, "```\n## Water\n```\n## Water\n", "```\n## Water\n```\n# Water\n"),
    (
        "description-missing",
        {"proposal": 'Of "mills"'},
        "+++\ntitle = 'x'\n+++\nText",
        '+++\ntitle = \'x\'\ndescription = "Of \\"mills\\""\n+++\nText',
    ),
    ("title-missing", {"proposal": "Mills"}, "---\ntitle:\n---\nText", '---\ntitle: "Mills"\n---\nText'),
]


@pytest.mark.parametrize(("rule", "evidence", "text", "expected"), MARKDOWN)
def test_markdown_is_fixed_in_place(rule: str, evidence: dict[str, Any], text: str, expected: str) -> None:
    assert apply_edits(text, MARKUP_FIXES[rule](text, plain_context(finding(rule, **evidence)))) == expected


NOWHERE = {"target": f"{BASE}/docs/unlike-all/"}
AXLE = {"target": f"{BASE}/docs/page/", "fragment": "axle", "nearest": ["table"]}
TWICE = {"heading": "Twice", "level": 4, "after": "h2 x"}
REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("broken-internal-link", NOWHERE, "[a](/docs/unlike-all/)", "no page of the site is clearly"),
    ("broken-internal-link", WEELS, "no link", "the file has no such link"),
    ("broken-anchor", AXLE, "[p](#axle)", "no id of the target"),
    ("heading-skip", TWICE, "#### Twice\n#### Twice\n", "or has it several times"),
    ("description-missing", {"proposal": "x"}, "---\ndescription: y\n---\n", "has a description already"),
    ("description-missing", {"proposal": ""}, "Text", "it needs words of a person"),
]


@pytest.mark.parametrize(("rule", "evidence", "text", "reason"), REFUSED)
def test_what_is_not_clear_is_refused(rule: str, evidence: dict[str, Any], text: str, reason: str) -> None:
    with pytest.raises(NoFix, match=reason):
        list(MARKUP_FIXES[rule](text, plain_context(finding(rule, **evidence))))


def test_addresses_in_code_are_not_links() -> None:
    text = "~~~\n[a](/x)\n~~~\n``[b](/y)`` [c](</z>) ![d](/i.png)"
    assert [(each.text, each.is_image) for each in addresses(text, is_rst=False)] == [("/z", False), ("/i.png", True)]


def test_tags_in_comments_and_scripts_are_not_tags() -> None:
    page = HtmlText("<!-- <a href=1> --><script>'<a href=2>'</script><A HREF=3 title='>'>x</a>")
    [link] = page.starts("a")
    assert (link.get("href"), link.get("title"), page.words(link)) == ("3", ">", "x")
    after = apply_edits(page.text, [link.set("href", 'a"b&c'), link.set("rel", "x")])
    assert after.endswith('<A HREF="a&quot;b&amp;c" title=\'>\' rel="x">x</a>')


@pytest.mark.parametrize(
    ("before", "after"), [("a\nb", "a\nc"), ("a\r\nb\r\n", "a\r\nc\r\n"), ("", "x\n"), ("a\x0cb\n", "a\x0cc\n")]
)
def test_a_diff_keeps_line_ends_and_says_where_the_last_is_missing(before: str, after: str) -> None:
    diff = unified_diff("p", before, after)
    assert diff.startswith("--- a/p\n+++ b/p\n@@ ")
    assert diff.count("\\ No newline at end of file") == (not before.endswith("\n") and bool(before)) + (
        not after.endswith("\n")
    )
    assert unified_diff("p", before, before) == ""


def test_edits_that_overlap_are_refused_and_equal_ones_count_once() -> None:
    assert apply_edits("abc", [Edit(1, 2, "x"), Edit(1, 2, "x")]) == "axc"
    with pytest.raises(NoFix):
        apply_edits("abc", [Edit(0, 2, "x"), Edit(1, 3, "y")])


def test_the_second_of_two_overlapping_proposals_waits_for_another_run() -> None:
    series = PatchSeries({"p.md": "abc"})
    first, second = (Proposal(finding("r"), "p.md", (Edit(0, end, "x"),), "", "") for end in (2, 3))
    assert list(series.add("one", [first])) == []
    [refusal] = series.add("two", [second])
    assert "overlaps" in refusal.reason
    assert series.changes == [("one", {"p.md": ("abc", "xc")}), ("two", {})]


def test_only_content_files_are_ever_changed() -> None:
    assert kind_of("docs/a.md") == "markdown"
    for path in (".github/workflows/a.md", "docs/.hidden/a.html", "package.json", "a.py", "mkdocs.yml", "a.svg", "Makefile"):
        assert kind_of(path) is None


def test_the_closest_url_must_be_clearly_the_closest() -> None:
    assert closest(f"{BASE}/weels", [f"{BASE}/wheels", f"{BASE}/water"]) == f"{BASE}/wheels"
    assert closest(f"{BASE}/part-3", [f"{BASE}/part-1", f"{BASE}/part-2"]) is None
    assert closest(f"{BASE}/weels", []) is None


TEXT = " ".join(f"the {word} of the old mill turned in the water of the river" for word in ("wheel", "stone", "shaft", "gate"))


@pytest.mark.parametrize(
    ("files", "links", "path", "how"),
    [
        ({"docs/a.md": TEXT, "mkdocs.yml": ""}, (), "docs/a.md", "generator"),
        ({"content/a/index.md": TEXT, "hugo.toml": ""}, (), "content/a/index.md", "generator"),
        ({"src/a.rst": TEXT, "src/conf.py": ""}, (), "src/a.rst", "generator"),
        ({"x/other.md": TEXT, "mkdocs.yml": ""}, ("https://git.example/o/r/edit/main/x/other.md",), "x/other.md", "edit link"),
        (
            {"deep/down.html": TEXT, "b.html": "another text of this file, without any mill at all"},
            (),
            "deep/down.html",
            "text",
        ),
        ({"content/x.md": f"---\nurl: /a/\n---\n{TEXT}", "hugo.toml": ""}, (), "content/x.md", "generator"),
    ],
)
def test_a_source_is_found_by_edit_link_generator_or_text(
    files: dict[str, str], links: tuple[str, ...], path: str, how: str
) -> None:
    source = Checkout(files).source_of(f"{BASE}/a/", TEXT, links)
    assert (source.path, source.how) == (path, how)
    assert source.share > 0.8


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (
            {"docs/a.md": "quite another text about trains and their stations, for many words", "mkdocs.yml": ""},
            "no file has the text",
        ),
        ({"one.html": TEXT, "two.html": TEXT}, "may both be its source"),
        ({}, "no file that could be the page"),
    ],
)
def test_a_source_that_is_not_clear_is_refused(files: dict[str, str], reason: str) -> None:
    with pytest.raises(NoFix, match=reason):
        Checkout(files).source_of(f"{BASE}/a/", TEXT)


def test_what_every_page_has_is_fixed_in_the_one_template() -> None:
    head = "<html><head></head><body>{{ .Content }}</body></html>"
    checkout = Checkout({"hugo.toml": "", "content/docs/page.md": TEXT, "layouts/base.html": head})
    fault = finding("viewport-missing", viewports=0)
    proposal = propose(checkout, PageText(redact(TEXT)[0]), plain_context(fault))
    assert (proposal.path, proposal.mapping) == ("layouts/base.html", "template, changes every page that it makes")
    two = Checkout({**checkout.files, "layouts/other.html": head})
    with pytest.raises(NoFix, match="2 templates"):
        propose(two, PageText(redact(TEXT)[0]), plain_context(fault))


@pytest.mark.parametrize(
    ("text", "description"),
    [
        (f"Mills\n{WATER} {WHEELS}", WATER),
        ("Mills\nint mill_turn(struct mill *mill, unsigned int turns, const char **names);\n" + WATER, WATER),
        ("Mills\nMILL [ options ] 'name' [, turns [, wheels [, ... ]]] { WITH | WITHOUT } WATER;\n" + WATER, WATER),
        (f"Mills\n- {WHEELS} {WHEELS}\n{WATER}", WATER),
        (f"Mills\nShort. {WATER}", f"Short. {WATER}"),
        (
            "Mills\nMills of the old kind, e.g. Those at the river and in the hills, need a wheel of oak. More follows.",
            "Mills of the old kind, e.g. Those at the river and in the hills, need a wheel of oak.",
        ),
        ("Mills\nToo short.", ""),
    ],
)
def test_a_description_is_proposed_from_whole_sentences_of_prose(text: str, description: str) -> None:
    assert first_sentence(text, "Mills") == description


def test_a_long_sentence_is_cut_between_words() -> None:
    cut = first_sentence("word " * 60, "Mills")
    assert cut == "word " * 31 + "\u2026"
    assert len(cut) <= 160
