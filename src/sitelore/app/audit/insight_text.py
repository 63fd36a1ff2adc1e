"""Insights as lines of text: the main figures of each, with its first examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

_EXAMPLES = 5
_LISTED = 12

Figures = Mapping[str, Any]


def insight_lines(figures: Figures) -> Iterator[tuple[str, list[str]]]:
    """Yield the title and the lines of each insight that is not empty."""
    for name, (title, lines_of) in TITLES.items():
        value = figures.get(name)
        lines = list(lines_of(value)) if value else []
        if lines:
            yield title, lines


def _counts(counts: Mapping[str, Any]) -> str:
    ordered = sorted(counts.items(), key=lambda each: -each[1])
    return ", ".join(f"{name.replace('_', ' ').lower()} {count:,}" for name, count in ordered[:8]) or "none"


def _examples(items: Iterable[str], total: int | None = None) -> Iterator[str]:
    shown = list(items)
    yield from shown[:_EXAMPLES]
    if (left := (len(shown) if total is None else total) - _EXAMPLES) > 0:
        yield f"… and {left:,} more"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _total(value: Figures, name: str) -> int:
    """The number of items of a list, those included that were not stored."""
    return len(value[name]) + int(value.get("more", {}).get(name, 0))


def _coverage(value: Figures) -> Iterator[str]:
    failed, skipped = sum(value["failed"].values()), sum(value["skipped"].values())
    yield (
        f"{value['discovered']:,} URLs: {value['read']:,} read, {value['unchanged']:,} unchanged, {value['merged']:,} merged, "
        f"{skipped:,} skipped, {failed:,} failed, {value['unfinished']:,} unfinished"
    )
    if value["skipped"]:
        yield f"skipped, by reason: {_counts(value['skipped'])}"
    if value["failed"]:
        yield f"failed: {_counts(value['failed'])}"
    yield "the whole site was read" if value["is_complete"] else "the run did not read the whole site"


def _movement(value: Figures) -> Iterator[str]:
    sizes = {name: _total(value, name) for name in ("new", "gone", "moved", "changed")}
    yield ", ".join(f"{count:,} {name}" for name, count in sizes.items()) + f", {value['same']:,} the same"
    yield from _examples((f"moved: {old} → {new}" for old, new, _ in value["moved"]), sizes["moved"])


def _rank(value: Figures) -> Iterator[str]:
    yield from _examples((f"{page['scaled']:6.1f}  {page['url']}" for page in value["top"]), 0)
    yield f"by section: {', '.join(f'{name} {share:.0%}' for name, share in list(value['sections'].items())[:8])}"


def _sinks(value: Figures) -> Iterator[str]:
    for reason, share in sorted(value["shares"].items(), key=lambda each: -each[1]):
        if share >= 0.005:
            yield f"{share:.0%} of the internal rank is with URLs that are not indexable: {reason.replace('_', ' ')}"


def _starved(value: Figures) -> Iterator[str]:
    lines = (f"{each['url']} (link it from {', '.join(each['suggestions']) or 'related pages'})" for each in value["pages"])
    yield from _examples(lines, _total(value, "pages"))


def _depth(value: Figures) -> Iterator[str]:
    for depth, counts in value.items():
        clicks = "no path" if depth == "-" else "1 click" if depth == "1" else f"{depth} clicks"
        yield f"{clicks:>9}: {_counts(counts)}"


def _orphans(value: Figures) -> Iterator[str]:
    if value["pages"]:
        yield f"{_total(value, 'pages'):,} {'confirmed' if value['is_confirmed'] else 'suspected: the run was not complete'}"
        yield from _examples((f"{url} ({source})" for url, source in value["pages"]), _total(value, "pages"))


def _duplicates(value: Figures) -> Iterator[str]:
    lines = (f"{len(each['pages'])} pages, {each['similarity']:.0%}: {each['primary']}" for each in value["sets"])
    yield from _examples(lines, _total(value, "sets"))


def _thin(value: Figures) -> Iterator[str]:
    thin = [(folder, page) for folder in value["folders"] for page in folder["thin"]]
    yield from _examples(f"{page[0]}: {page[1]:,} words, its folder has {folder['median']:,.0f}" for folder, page in thin)


def _decay(value: Figures) -> Iterator[str]:
    if set(value["ages"]) - {"unknown"}:
        yield f"pages by age: {_counts(value['ages'])}"
        yield from _examples((f"{days:,.0f} days: {url}" for url, days in value["queue"]), 0)
    yield from _examples(f"shrank from {before:,} to {now:,} words: {url}" for url, before, now in value["shrunk"])


def _hreflang(value: Figures) -> Iterator[str]:
    if not value["pages"]:
        return
    wrong = [(page["page"], lang, state) for page in value["pages"] for lang, state in page["cells"].items() if state != "ok"]
    yield f"{_total(value, 'pages'):,} pages name translations"
    yield from _examples(f"{page} → {lang}: {state}" for page, lang, state in wrong)


def _structured(value: Figures) -> Iterator[str]:
    yield from _examples(f"{name}: {sum(folders.values()):,} pages" for name, folders in value["types"].items())
    if value["broken"]:
        yield f"{value['broken']:,} pages with data that cannot be read"


def _link_health(value: Figures) -> Iterator[str]:
    yield f"{_counted(value['links'], 'link')}, {_counted(_total(value, 'broken_targets'), 'broken target')}"
    lines = (f"{url} ({state}): {_counted(links, 'link')}" for url, state, links in value["broken_targets"])
    yield from _examples(lines, _total(value, "broken_targets"))


def _machines(value: Figures) -> Iterator[str]:
    yield (
        f"{value['readable_without_scripts']:,} of {value['pages']:,} pages readable without scripts; "
        f"{value['html_tokens']:,} tokens as HTML, {value['text_tokens']:,} as text"
    )


def _media(value: Figures) -> Iterator[str]:
    if value["files"]:
        before, after = value["original_bytes"], value["stored_bytes"]
        yield f"{value['files']:,} files, {_size(before)}; {_size(after)} after compression, {_size(before - after)} less"
        lines = (f"{_size(before)} → {_size(after)}: {url}" for url, before, after in value["top"])
        yield from _examples(lines, _total(value, "top"))
    if value["unused"]:
        yield f"{_total(value, 'unused'):,} stored files that no page shows, {_size(sum(size for _, size in value['unused']))}"
    if value["images"]:
        yield f"{value['images']:,} images on pages, {value['without_alt']:,} without an alternative text"


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{count / 1e3:,.0f} KB"


def _topics(value: Figures) -> Iterator[str]:
    lines = (
        f"{each['section']} ({_counted(each['pages'], 'page')}): {', '.join(phrase for phrase, _ in each['phrases'][:8])}"
        for each in value["sections"]
        if each["phrases"]
    )
    yield from _examples(lines)


def _clusters(value: Figures) -> Iterator[str]:
    lines = (
        f"{each['label'] or 'mixed'} ({_counted(each['chunks'], 'passage')} on {_counted(each['pages'], 'page')}, "
        f"such as {each['examples'][0]})"
        for each in value["clusters"]
    )
    yield from list(lines)[:_LISTED]
    if value["clustered"] < value["chunks"]:
        yield f"from a sample of {value['clustered']:,} of {value['chunks']:,} passages"


def _unanswered(value: Figures) -> Iterator[str]:
    yield f"searches: {value['searches']:,}; different queries: {value['queries']:,}"
    lines = (
        f"{each['query']} (searches: {each['searches']:,}, without results: {each['without_results']:,}, "
        f"with weak ones only: {each['weak']:,})"
        for each in value["unanswered"]
    )
    yield from list(lines)[:_LISTED] or ["all of them had good results"]


TITLES: Mapping[str, tuple[str, Callable[[Any], Iterator[str]]]] = {
    "run_honesty": ("What was read", _coverage),
    "movement": ("Changes since the run before", _movement),
    "internal_rank": ("Internal rank", _rank),
    "rank_sinks": ("Lost rank", _sinks),
    "starved_pages": ("Pages that deserve more links", _starved),
    "click_depth": ("Click depth", _depth),
    "orphans": ("Pages without links to them", _orphans),
    "exact_duplicates": ("Equal pages", _duplicates),
    "near_duplicates": ("Nearly equal pages", _duplicates),
    "thin_pages": ("Pages with far less text than others of their folder", _thin),
    "decay": ("Age of the content", _decay),
    "hreflang": ("Translations", _hreflang),
    "structured_data": ("Structured data", _structured),
    "link_health": ("Links", _link_health),
    "media": ("Media", _media),
    "topics": ("Topics by section", _topics),
    "chunk_clusters": ("Topics by meaning", _clusters),
    "unanswered_queries": ("Searches without an answer", _unanswered),
    "machine_readiness": ("Use by machines", _machines),
}
"""The insights with their titles, in the order of a report."""
