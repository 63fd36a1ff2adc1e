"""Rules about robots.txt, sitemaps and llms.txt."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from sitelore.audit.rule import Group, Hit, Limits, Needs, RuleTable, listed
from sitelore.audit.rules.language import bad_target
from sitelore.audit.site import Site
from sitelore.model.audit.findings import Severity, SitemapFile
from sitelore.model.response import RobotsFile
from sitelore.model.url import Url

TABLE = RuleTable()

_DIRECTIVES = frozenset(
    {
        "user-agent", "allow", "disallow", "sitemap", "crawl-delay", "host", "clean-param", "noindex", "request-rate",
        "visit-time", "content-signal", "content-usage",
    }
)  # fmt: skip
_OUR_AGENTS = ("*", "sitelore")
_DAY_S = 86_400
_HTML = re.compile(r"\s*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_H1 = re.compile(r"^# \S", re.MULTILINE)
_MARKDOWN_LINK = re.compile(r"\]\(\s*<?([^\s()<>]+)")
_SIGNAL = re.compile(r"(ai-train|ai-input|search)\s*=\s*(yes|no)", re.IGNORECASE)
_TRAINING_AGENTS = frozenset(
    {"gptbot", "ccbot", "google-extended", "claudebot", "anthropic-ai", "bytespider", "applebot-extended"}
)


class RobotsLine(NamedTuple):
    """A directive of robots.txt."""

    number: int
    name: str
    value: str


def robots_lines(body: str) -> Iterator[RobotsLine]:
    """Yield the lines of robots.txt that are not empty, without comments; a line without a colon has an empty name."""
    for number, raw in enumerate(body.lstrip("\ufeff").splitlines(), 1):
        if line := raw.partition("#")[0].strip():
            name, colon, value = line.partition(":")
            yield RobotsLine(number, name.strip().lower() if colon else "", value.strip() if colon else line)


def _problem(line: RobotsLine, *, has_agent: bool) -> str:
    if not line.name:
        return "no colon"
    if line.name not in _DIRECTIVES:
        return "unknown directive"
    if line.name in {"allow", "disallow"}:
        if not has_agent:
            return "rule before a user-agent"
        if line.value and not line.value.startswith(("/", "*")):
            return "pattern does not begin with / or *"
        if "$" in line.value[:-1]:
            return "$ is not at the end"
    if line.name == "sitemap" and Url.parse(line.value) is None:
        return "sitemap is no URL"
    return ""


def _readable(site: Site) -> Iterator[RobotsFile]:
    """Yield the robots.txt files that the server sent, without error pages in their place."""
    return (each for each in site.robots if each.status == 200 and not _HTML.match(each.body))


def _robots_url(robots: RobotsFile) -> str:
    return f"{robots.origin.rstrip('/')}/robots.txt"


@TABLE.site(
    "robots-txt-invalid",
    Group.SITE,
    Severity.WARNING,
    (Needs.ROBOTS,),
    title="robots.txt has errors",
    explanation="Crawlers ignore lines of robots.txt that they do not understand, so it may not do what it should.",
    fix="Correct the lines.",
)
def _robots_txt_invalid(site: Site, _: Limits) -> Iterator[Hit]:
    for robots in site.robots:
        if robots.status == 200 and _HTML.match(robots.body):
            yield Hit({"problems": ["it is an HTML page"], "count": 1}, _robots_url(robots))
            continue
        problems, has_agent = [], False
        for line in robots_lines(robots.body) if robots.status == 200 else ():
            has_agent = has_agent or line.name == "user-agent"
            if problem := _problem(line, has_agent=has_agent):
                problems.append(f"line {line.number}: {problem}")
        if problems:
            yield Hit({"count": len(problems), **listed("problems", problems)}, _robots_url(robots))


@TABLE.site(
    "robots-txt-unreachable",
    Group.SITE,
    Severity.ERROR,
    (Needs.ROBOTS,),
    title="robots.txt gives a server error",
    explanation="The server answers 5xx or not at all for robots.txt. Crawlers then read nothing of the site (RFC 9309).",
    fix="Answer 200 with the file, or 404 if there is none.",
)
def _robots_txt_unreachable(site: Site, _: Limits) -> Iterator[Hit]:
    for robots in site.robots:
        if robots.status == 0 or robots.status >= 500:
            yield Hit({"status": robots.status, "error": robots.detail}, _robots_url(robots))


@TABLE.site(
    "robots-txt-blocks-all",
    Group.SITE,
    Severity.ERROR,
    (Needs.ROBOTS,),
    title="robots.txt excludes the whole site",
    explanation="robots.txt forbids all crawlers to read any page, so the site disappears from search engines.",
    fix="Remove \u201cDisallow: /\u201d if the site is meant to be found.",
)
def _robots_txt_blocks_all(site: Site, _: Limits) -> Iterator[Hit]:
    for robots in _readable(site):
        for agents, rules in robots_groups(robots.body):
            is_open = any(rule.name == "allow" and rule.value for rule in rules)
            blocking = [rule for rule in rules if rule.name == "disallow" and rule.value in {"/", "/*", "*"}]
            if blocking and not is_open and agents & set(_OUR_AGENTS):
                yield Hit({"line": blocking[0].number, "agents": sorted(agents)}, _robots_url(robots))
                break


def robots_groups(body: str) -> Iterator[tuple[set[str], list[RobotsLine]]]:
    """Yield the groups of robots.txt: the agents that each names, in lower case, and its rules."""
    agents: set[str] = set()
    rules: list[RobotsLine] = []
    for line in robots_lines(body):
        if line.name == "user-agent":
            if rules:
                yield agents, rules
                agents, rules = set(), []
            agents.add(line.value.lower())
        elif line.name in {"allow", "disallow", "content-signal"} and agents:
            rules.append(line)
    if agents:
        yield agents, rules


@TABLE.site(
    "ai-policy-conflict",
    Group.MACHINES,
    Severity.NOTICE,
    (Needs.ROBOTS,),
    title="Rules for AI crawlers contradict each other",
    explanation=(
        "The Content-Signal of robots.txt says something else about training than its rules for crawlers of AI companies."
    ),
    fix="Let both say the same.",
)
def _ai_policy_conflict(site: Site, _: Limits) -> Iterator[Hit]:
    for robots in _readable(site):
        groups = list(robots_groups(robots.body))
        signals = {
            name.lower(): value.lower()
            for _, rules in groups
            for rule in rules
            if rule.name == "content-signal"
            for name, value in _SIGNAL.findall(rule.value)
        }
        blocked = {agent for agents, rules in groups for agent in agents & _TRAINING_AGENTS if _blocks(rules)}
        open_to = {agent for agents, rules in groups for agent in agents & _TRAINING_AGENTS if not _blocks(rules)}
        conflict = blocked if signals.get("ai-train") == "yes" else open_to if signals.get("ai-train") == "no" else set()
        if conflict:
            yield Hit({"signal": f"ai-train={signals['ai-train']}", "agents": sorted(conflict)}, _robots_url(robots))


def _blocks(rules: list[RobotsLine]) -> bool:
    return any(rule.name == "disallow" and rule.value in {"/", "/*", "*"} for rule in rules)


# Sitemaps


def _pages_listed(site: Site) -> list[SitemapFile]:
    """The sitemaps that list pages."""
    return [each for each in site.sitemaps or () if each.kind not in {"index", ""}]


@TABLE.site(
    "sitemap-missing",
    Group.SITE,
    Severity.NOTICE,
    (Needs.SITEMAP,),
    thresholds={"min_pages": 20},
    title="No sitemap",
    explanation="robots.txt names no sitemap, and there is none at the usual address. Search engines find new pages later.",
    fix="Publish a sitemap and name it in robots.txt.",
)
def _sitemap_missing(site: Site, limits: Limits) -> Iterator[Hit]:
    is_missing = site.sitemaps is not None and not any(each.status == 200 and each.kind for each in site.sitemaps)
    if is_missing and len(site.indexable) >= limits["min_pages"]:
        tried = [f"{each.status} {each.url}" for each in site.sitemaps or ()]
        yield Hit({"pages": len(site.indexable), **listed("tried", tried)}, site.start_url)


@TABLE.site(
    "sitemap-invalid",
    Group.SITE,
    Severity.ERROR,
    (Needs.SITEMAP,),
    identity=("problem",),
    thresholds={"max_urls": 50_000, "max_bytes": 50 * 1024 * 1024},
    title="Sitemap is not valid",
    explanation="The sitemap cannot be read, is too large, or lists addresses that are relative or of another site.",
    fix="Generate it again; divide a large one.",
)
def _sitemap_invalid(site: Site, limits: Limits) -> Iterator[Hit]:
    for each in site.sitemaps or ():
        if each.status != 200:
            continue
        host = Url.trusted(each.url).host.removeprefix("www.")
        relative = [url for url in each.entries if not url.lower().startswith(("http://", "https://"))]
        others = [url for url in each.entries if url not in relative and not _is_of(url, host, site)]
        problems = {
            "not readable": [each.problem] if each.problem or not each.kind else [],
            "too many URLs": [str(len(each.entries))] if len(each.entries) > limits["max_urls"] else [],
            "too large": [str(each.body_bytes)] if each.body_bytes > limits["max_bytes"] else [],
            "relative address": relative,
            "address of another site": others if each.kind in {"urlset", "text"} else [],
        }
        for problem, examples in problems.items():
            if examples:
                yield Hit({"problem": problem, "count": len(examples), **listed("examples", examples)}, each.url)


def _is_of(url: str, host: str, site: Site) -> bool:
    parsed = Url.parse(url)
    return parsed is not None and (parsed.host.removeprefix("www.") == host or parsed.authority in site.authorities)


@TABLE.site(
    "sitemap-lists-bad",
    Group.SITE,
    Severity.WARNING,
    (Needs.SITEMAP, Needs.GRAPH),
    title="Sitemap lists a URL that cannot be listed",
    explanation=(
        "The URL answers with an error, redirects, is noindex, is excluded by robots.txt, or names another canonical URL."
    ),
    fix="Remove it from the sitemap, or list the final URL.",
)
def _sitemap_lists_bad(site: Site, _: Limits) -> Iterator[Hit]:
    for url in site.listed:
        if problem := bad_target(site, url):
            page = site.pages[url]
            yield Hit({"problem": problem, "status": page.status, "final": str(page.final_url or page.canonical or "")}, url)


@TABLE.site(
    "sitemap-omits-page",
    Group.SITE,
    Severity.NOTICE,
    (Needs.SITEMAP, Needs.GRAPH),
    thresholds={"min_share": 0.8, "min_pages": 5},
    title="Page is not in the sitemap",
    explanation="The sitemap lists most pages of this folder, but not this one.",
    fix="Add it to the sitemap.",
)
def _sitemap_omits_page(site: Site, limits: Limits) -> Iterator[Hit]:
    counts = Counter(page.group for page in site.indexable if page.url in site.listed)
    for page in site.indexable:
        size = site.group_sizes[page.group]
        share = counts[page.group] / size
        if page.url not in site.listed and size >= limits["min_pages"] and share >= limits["min_share"]:
            yield Hit({"folder": page.group, "share": round(share, 2)}, page.url)


def _timestamp(day: str) -> float:
    return datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp()


@TABLE.site(
    "lastmod-behind",
    Group.SITE,
    Severity.WARNING,
    (Needs.SITEMAP, Needs.HISTORY),
    thresholds={"max_days": 7},
    title="Sitemap names an old date",
    explanation="The page changed, but its date in the sitemap did not, so search engines fetch the new version late.",
    fix="Set lastmod whenever the content changes.",
)
def _lastmod_behind(site: Site, limits: Limits) -> Iterator[Hit]:
    for url, lastmod in site.listed.items():
        page = site.pages.get(url)
        if lastmod is None or page is None or not page.is_html:
            continue
        before = next((each for each in site.earlier.get(url, ()) if each.lastmod is not None), None)
        is_stuck = page.changed is True and before is not None and before.lastmod is not None and lastmod <= before.lastmod
        stated = _timestamp(page.modified) if page.modified else 0.0
        if is_stuck or stated - lastmod > limits["max_days"] * _DAY_S:
            yield Hit({"lastmod": lastmod, "page_says": page.modified, "changed": bool(is_stuck)}, url)


@TABLE.site(
    "lastmod-cries-wolf",
    Group.SITE,
    Severity.NOTICE,
    (Needs.SITEMAP, Needs.HISTORY),
    thresholds={"min_pages": 5, "min_share": 0.2},
    title="Sitemap names new dates for old content",
    explanation="Dates in the sitemap moved though the content did not change. Search engines stop trusting them.",
    fix="Set lastmod only when the content changes.",
)
def _lastmod_cries_wolf(site: Site, limits: Limits) -> Iterator[Hit]:
    moves, idle = 0, []
    for url, lastmod in site.listed.items():
        page = site.pages.get(url)
        before = next((each for each in site.earlier.get(url, ()) if each.lastmod is not None), None)
        if page is None or lastmod is None or before is None or before.lastmod is None or lastmod <= before.lastmod:
            continue
        moves += 1
        if page.content_hash and page.content_hash == before.content_hash:
            idle.append(url)
    if len(idle) >= limits["min_pages"] and len(idle) >= limits["min_share"] * moves:
        yield Hit({"count": len(idle), "moves": moves, **listed("pages", idle)}, site.start_url)


@TABLE.site(
    "lastmod-build-stamp",
    Group.SITE,
    Severity.NOTICE,
    (Needs.SITEMAP,),
    thresholds={"min_urls": 20, "min_share": 0.9, "hours": 24},
    title="Sitemap dates are those of its generation",
    explanation=(
        "Nearly all dates in the sitemaps lie within one day: they say when the sitemap was made, not when pages changed."
    ),
    fix="Set lastmod to the time of the last change of each page.",
)
def _lastmod_build_stamp(site: Site, limits: Limits) -> Iterator[Hit]:
    times = sorted(at for each in _pages_listed(site) if each.kind != "news" for at in each.entries.values() if at is not None)
    if len(times) < limits["min_urls"]:
        return
    width = limits["hours"] * 3600
    start = most = 0
    for end, at in enumerate(times):
        while at - times[start] > width:
            start += 1
        most = max(most, end - start + 1)
    if most >= limits["min_share"] * len(times):
        yield Hit({"urls": len(times), "within_a_day": most}, site.start_url)


@TABLE.site(
    "llms-txt-broken",
    Group.MACHINES,
    Severity.NOTICE,
    (Needs.GRAPH, Needs.LLMS_TXT),
    title="llms.txt is broken",
    explanation="The file llms.txt is an HTML page, has no heading, or lists pages that do not exist.",
    fix="Generate it again, or remove it.",
)
def _llms_txt_broken(site: Site, _: Limits) -> Iterator[Hit]:
    file = site.llms_txt
    if file is None or file.status != 200:
        return
    links = (Url.parse(match[1], file.url) for match in _MARKDOWN_LINK.finditer(file.body))
    dead = [str(url) for url in dict.fromkeys(links) if url is not None and site.broken(url) is not None]
    is_html = "html" in file.content_type or _HTML.match(file.body) is not None
    problem = "an HTML page" if is_html else "no heading" if not _H1.search(file.body) else "dead links" if dead else ""
    if problem:
        yield Hit({"problem": problem, **listed("dead", dead)}, file.url)
