"""Counts the content of manuals that is missing from the Markdown, compared with other libraries: `make bench-docs`.

    python -m bench.docs [--pages 40] [--crawl] [--worst 3] [--json FILE]

The pages are a seeded sample of five manuals that Debian packages. `docs_fidelity.py` in `../shared` (the environment variable
SITELORE_SHARED names another folder) counts the headings, code blocks, definition terms, paragraphs and table rows that are
missing from the rendered Markdown, and the blocks of navigation that are in it. A page's title is the first heading of its
content; "first" is the share of pages whose output begins with it. Missing packages are installed with apt where this user may.

    sitelore       `sitelore extract`, or with --crawl the JSON Lines of `sitelore crawl` on a loopback server: each manual is
                   a site of its own, the sampled pages are the seeds, and as many pages again are reached by links
    trafilatura    its Markdown with links, tables and formatting
    resiliparse    its plain text of the main content (it writes no Markdown), counted as if Markdown had lost nothing of it

The exit code is 1 when Sitelore is over a limit: .5 % lost of any kind over all manuals, 1 % of any kind on one manual, a title
missing, 1 % of the navigation kept, or a manual that could not be measured.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from bench.content import HOME, install_peers
from bench.content_scores import ROOT
from bench.measure import ensure

SHARED = Path(os.environ.get("SITELORE_SHARED", str(ROOT.parent / "shared")))
SCORES = Path(__file__).resolve().parent / "peers" / "docs_scores.py"
SITELORE = Path(sys.executable).parent / "sitelore"
PACKAGES = {
    "python": "python3-doc",
    "postgres": "postgresql-doc",
    "git": "git-doc",
    "handbook": "debian-handbook",
    "octave": "octave-doc",
}
SCORING_PACKAGES = ("selectolax", "markdown-it-py")
LOST_OVER_ALL, LOST_ON_ONE, NAVIGATION_KEPT = 0.005, 0.01, 0.01
ALL = "all"


def _scores(*arguments: str) -> Any:
    done = subprocess.run(
        [HOME / "bin" / "python", SCORES, SHARED, *arguments], stdout=subprocess.PIPE, text=True, check=False, timeout=3600
    )
    ensure(done.returncode == 0, "scoring failed; the reason is printed above")
    return json.loads(done.stdout)


def install_scoring() -> None:
    """Install the peers and what docs_fidelity.py imports into `.bench/content`."""
    HOME.parent.mkdir(exist_ok=True)
    install_peers()
    python = str(HOME / "bin" / "python")
    if subprocess.run([python, "-c", "import selectolax, markdown_it"], capture_output=True, check=False).returncode:
        subprocess.run([python, "-m", "pip", "install", "-q", *SCORING_PACKAGES], check=True)


def install_packages(packages: Sequence[str]) -> None:
    """Install these packages of Debian, as root or with a sudo that needs no password; else do nothing."""
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if not shutil.which("apt-get") or (
        sudo and (not shutil.which("sudo") or subprocess.run([*sudo, "true"], check=False).returncode)
    ):
        return
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    for command in (
        ["update", "-qq"],
        ["install", "-y", "-qq", "--no-install-recommends", *packages],
    ):
        subprocess.run([*sudo, "apt-get", *command], env=environment, stdout=subprocess.DEVNULL, check=False)


def manuals(pages: int) -> dict[str, Any]:
    """{manual: {folder, pages}} of all manuals; those that are not installed have no pages."""
    listed: dict[str, Any] = _scores("list", str(pages))
    missing = [name for name, manual in listed.items() if not manual["pages"] and name in PACKAGES]
    if missing:
        install_packages([PACKAGES[name] for name in missing])
        listed = _scores("list", str(pages))
    return listed


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the name is the base class's
        pass


@contextmanager
def serve_folder(folder: str, port: int = 0) -> Iterator[str]:
    """Serve the folder's files on a loopback port."""
    server = ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


def crawled(manual: dict[str, Any], data: Path) -> dict[str, str]:
    """Crawl one manual. Gives the Markdown of its sampled pages by path; a page that the crawl did not keep is left out."""
    with serve_folder(manual["folder"]) as site:
        urls = {site + Path(page).relative_to(manual["folder"]).as_posix(): page for page in manual["pages"]}
        command = [
            str(SITELORE),
            "crawl",
            *urls,
            "--max-pages",
            str(2 * len(urls)),
            "--data",
            str(data),
            "--out",
            str(data / "out"),
        ]
        options = ["--output", "jsonl", "--render", "never", "--delay", "0", "--json"]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False, timeout=1800)
    ensure(done.returncode == 0, f"the crawl of {manual['folder']} failed: {done.stderr.strip()[-500:]}")
    markdown = {}
    with (data / "out" / "pages.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            for url in (row["url"], row["final_url"], *row["aliases"]):
                if url in urls:
                    markdown[urls[url]] = row["markdown"]
    return markdown


def crawl_all(sampled: dict[str, Any], into: Path) -> Path:
    """Crawl all manuals, each into a data folder of its own. Gives a JSON file {path: Markdown}."""
    markdown: dict[str, str] = {}
    for name, manual in sampled.items():
        if manual["pages"]:
            crawled_pages = crawled(manual, into / name)
            markdown |= crawled_pages
            print(f"crawled {name}: {len(crawled_pages)} of {len(manual['pages'])} sampled pages kept", file=sys.stderr)
    file = into / "markdown.json"
    file.write_text(json.dumps(markdown))
    return file


def totals(results: list[dict[str, Any]], kinds: Sequence[str]) -> list[dict[str, Any]]:
    """The sums over all manuals, one entry for each extractor."""
    sums: dict[str, dict[str, Any]] = {}
    for row in results:
        total = sums.setdefault(row["who"], {"set": ALL, "who": row["who"], "total": {}, "lost": {}})
        for kind in kinds:
            for side in ("total", "lost"):
                total[side][kind] = total[side].get(kind, 0) + row[side][kind]
        for key in ("pages", "empty", "nav", "nav_kept", "titles", "titles_kept", "titles_first"):
            total[key] = total.get(key, 0) + row[key]
    return list(sums.values())


def over_limits(rows: list[dict[str, Any]], kinds: Sequence[str]) -> list[str]:
    """One sentence for each limit that Sitelore does not keep."""
    problems = []
    for row in (row for row in rows if row["who"] == "sitelore"):
        limit = LOST_OVER_ALL if row["set"] == ALL else LOST_ON_ONE
        for kind in kinds:
            lost, total = row["lost"][kind], row["total"][kind]
            if lost > limit * total:
                problems.append(f"{row['set']}: {lost} of {total} lost, {kind} (at most {limit:.1%})")
        if row["titles_kept"] < row["titles"]:
            problems.append(f"{row['set']}: {row['titles'] - row['titles_kept']} of {row['titles']} titles lost")
        if row["nav_kept"] > NAVIGATION_KEPT * row["nav"]:
            problems.append(
                f"{row['set']}: {row['nav_kept']} of {row['nav']} blocks of navigation kept (at most {NAVIGATION_KEPT:.0%})"
            )
    return problems


def _percent(part: int, whole: int, digits: int) -> str:
    return f"{100 * part / whole:.{digits}f}" if whole else "-"


def print_table(rows: list[dict[str, Any]], kinds: Sequence[str]) -> None:
    heads = "".join(f"{kind:>11}" for kind in kinds)
    print(f"\n{'lost %':<10}{'':<13}{'pages':>6}{'empty':>7}{heads}{'titles %':>11}{'first %':>9}{'nav kept %':>12}")
    for row in rows:
        digits = 2 if row["set"] == ALL else 1
        lost = "".join(f"{_percent(row['lost'][kind], row['total'][kind], digits):>11}" for kind in kinds)
        titles = f"{_percent(row['titles_kept'], row['titles'], 1):>11}{_percent(row['titles_first'], row['titles'], 1):>9}"
        navigation = f"{_percent(row['nav_kept'], row['nav'], 1):>12}"
        print(f"{row['set']:<10}{row['who']:<13}{row['pages']:>6}{row['empty']:>7}{lost}{titles}{navigation}")
        for page in row.get("worst", ()):
            print(f"    {page['page']}, of {page['items']} items: {page['lost']}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Losses on five manuals: Sitelore against other libraries")
    parser.add_argument("--pages", type=int, default=40, help="sampled pages of each manual")
    parser.add_argument("--crawl", action="store_true", help="take Sitelore's Markdown from a crawl of each manual")
    parser.add_argument("--worst", type=int, default=0, help="show this many pages of each manual where Sitelore loses most")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    arguments = parser.parse_args()
    ensure(
        (SHARED / "docs_fidelity.py").exists(),
        f"docs_fidelity.py is not in {SHARED}; set SITELORE_SHARED to the folder that holds it",
    )
    install_scoring()
    sampled = manuals(arguments.pages)
    missing = [name for name, manual in sampled.items() if not manual["pages"]]
    ensure(len(missing) < len(sampled), f"no manual is installed: apt-get install {' '.join(PACKAGES.values())}")
    options = ["score", str(arguments.pages), str(SITELORE), "--worst", str(arguments.worst)]
    with tempfile.TemporaryDirectory() as scratch:
        if arguments.crawl:
            options += ["--crawled", str(crawl_all(sampled, Path(scratch)))]
        scored = _scores(*options)
    kinds = scored["kinds"]
    rows = scored["results"] + totals(scored["results"], kinds)
    print_table(rows, kinds)
    print(", ".join(f"{name} {number}" for name, number in scored["versions"].items()))
    problems = over_limits(rows, kinds)
    problems += [f"{name}: not measured, no pages (apt-get install {PACKAGES.get(name, 'its package')})" for name in missing]
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": rows, "over_limits": problems, "crawl": arguments.crawl}, indent=1))
    print("\nSitelore keeps all limits." if not problems else "\nOver the limits:\n  " + "\n  ".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
