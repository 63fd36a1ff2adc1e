# mypy: ignore-errors
# (selectolax, trafilatura and resiliparse are installed in the benchmark's own environment, so their types are not available.)
"""Scores the manuals for `bench.docs`. Runs in `.bench/content`, where `docs_fidelity.py` finds the libraries it needs.

    python docs_scores.py SHARED list PAGES
    python docs_scores.py SHARED score PAGES SITELORE [--crawled FILE] [--worst N]

`list` prints JSON: for each set its folder and its sampled pages. `score` prints JSON: one entry for each set and extractor.
`--crawled` names a JSON file {path: Markdown} that replaces `sitelore extract`.
"""

from __future__ import annotations

import argparse
import html
import json
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

Docs = list[tuple[Path, str]]
Markdown = dict[str, str | None]


def resiliparse(docs: Docs) -> Markdown:
    """Plain text of the main content, one HTML paragraph for each line.

    resiliparse writes no Markdown. Its text is escaped so that rendering changes nothing: all the text it kept counts.
    Link targets are left out, because they would stand in the middle of sentences.
    """
    from resiliparse.extract.html2text import extract_plain_text

    texts = {str(path): extract_plain_text(page, main_content=True, links=False) for path, page in docs}
    return {
        path: "\n\n".join(f"<p>{html.escape(x)}</p>" for x in text.splitlines() if x.strip()) for path, text in texts.items()
    }


def title_figures(fidelity: ModuleType, name: str, docs: Docs, markdown: Markdown) -> tuple[int, int, int]:
    """(pages with a heading, pages whose first heading is in the output, pages that begin with it)."""
    pages = included = first = 0
    for path, page in docs:
        items, _ = fidelity.items(page, name)
        title = next((text for kind, text, _ in items or () if kind == "heading"), "")
        if not title:
            continue
        tree = fidelity.LexborHTMLParser("<body>" + fidelity.MD.render(markdown.get(str(path)) or ""))
        blocks = (fidelity.alnum(node.text(separator=" ")) for node in tree.css("h1,h2,h3,h4,h5,h6,p,li,pre,td,th"))
        pages += 1
        included += title in fidelity.alnum(tree.body.text(separator=" "))
        first += title in next(filter(None, blocks), "")
    return pages, included, first


def figures(fidelity: ModuleType, name: str, docs: Docs, markdown: Markdown, worst: int) -> dict[str, Any]:
    total, lost, nav, nav_kept, bad = fidelity.score(name, docs, markdown, worst)
    titles, titles_kept, titles_first = title_figures(fidelity, name, docs, markdown)
    return {
        "pages": len(docs),
        "empty": sum(not (markdown.get(str(path)) or "").strip() for path, _ in docs),
        "total": total,
        "lost": lost,
        "nav": nav,
        "nav_kept": nav_kept,
        "titles": titles,
        "titles_kept": titles_kept,
        "titles_first": titles_first,
        "worst": [{"page": page, "items": items, "lost": missing} for share, page, items, missing in bad if share],
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("shared")
    parser.add_argument("action", choices=("list", "score"))
    parser.add_argument("pages", type=int)
    parser.add_argument("sitelore", nargs="?")
    parser.add_argument("--crawled", type=Path)
    parser.add_argument("--worst", type=int, default=0)
    arguments = parser.parse_args()
    sys.path.insert(0, arguments.shared)
    import docs_fidelity as fidelity

    paths = {name: fidelity.pages(name, arguments.pages) for name in fidelity.SETS}
    if arguments.action == "list":
        folders = {name: str(fidelity.folder(*fidelity.SETS[name][:2]) or "") for name in fidelity.SETS}
        json.dump(
            {name: {"folder": folders[name], "pages": list(map(str, pages))} for name, pages in paths.items()}, sys.stdout
        )
        return
    crawled = json.loads(arguments.crawled.read_text()) if arguments.crawled else None
    results = []
    for name, pages in paths.items():
        docs = [(path, path.read_text(errors="replace")) for path in pages]
        if not docs:
            continue
        outputs = {
            "sitelore": fidelity.ours(arguments.sitelore, docs) if crawled is None else crawled,
            "trafilatura": fidelity.peer(docs),
            "resiliparse": resiliparse(docs),
        }
        results += [
            {"set": name, "who": who, **figures(fidelity, name, docs, output, arguments.worst if who == "sitelore" else 0)}
            for who, output in outputs.items()
        ]
    versions = {name: version(name) for name in ("trafilatura", "resiliparse")}
    json.dump({"kinds": fidelity.KINDS, "versions": versions, "results": results}, sys.stdout)


if __name__ == "__main__":
    main()
