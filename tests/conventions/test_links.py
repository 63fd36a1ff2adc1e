"""What the pages of documentation refer to exists: files, headings, make targets and commands."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from tests.conventions.project import DOCS, ROOT, source_files

PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])
_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)+\.(?:c|js|lua|py|sql|toml|tsx?))`")
_LINK = re.compile(r"\]\(([^()\s]+)\)")


@cache
def anchors(page: Path) -> frozenset[str]:
    """The fragments that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    wrong = []
    for link in _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8"))):
        if ":" in link:
            continue
        name, _, fragment = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (fragment and fragment not in anchors(target)):
            wrong.append(link)
    assert wrong == []


def test_every_source_file_that_the_documentation_or_a_docstring_names_exists() -> None:
    files = [path for name in ("src", "tests", "bench", "scripts", "ui/src") for path in (ROOT / name).rglob("*.*")]
    ends = ["/" + path.relative_to(ROOT).as_posix() for path in (*files, *(ROOT / "ui").glob("*.*"))]
    wrong = [
        f"{page.relative_to(ROOT)}: {name}"
        for page in (*PAGES, *source_files())
        for name in _PATH.findall(page.read_text(encoding="utf-8"))
        if not any(end.endswith(f"/{name}") for end in ends)
    ]
    assert wrong == []


def test_every_make_target_in_the_documentation_exists() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {
        (page.name, target)
        for page in PAGES
        for code in _CODE.findall(page.read_text(encoding="utf-8"))
        for target in re.findall(r"(?:^|`|\n)make ([a-z][a-z-]*)", code)
    }
    assert len(named) > 20
    assert {(page, target) for page, target in named if target not in targets} == set()


def test_every_command_in_the_documentation_exists() -> None:
    from sitelore.cli.main import COMMANDS

    named = {
        (page.name, command)
        for page in PAGES
        for code in _CODE.findall(page.read_text(encoding="utf-8"))
        for command in re.findall(r"(?:^|`|\n)(?:\$ )?sitelore ([a-z]+)", code)
    }
    assert len(named) > 20
    assert {(page, command) for page, command in named if command not in COMMANDS} == set()


def test_every_decision_has_a_status_and_is_listed_with_it() -> None:
    index = (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| \[\d{4}\]\((.+?\.md)\) \|.*\| (.+?) \|$", index, re.MULTILINE))
    records = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "decisions").glob("0*.md")}
    assert rows.keys() == records.keys()
    for name, text in records.items():
        status = re.search(r"^Status: (accepted|superseded)\b.*$", text, re.MULTILINE)
        assert status is not None, name
        assert rows[name].startswith(status[1]), name
        assert status[1] == "accepted" or re.search(r"\]\(\d{4}-", status[0]), f"{name} does not name its successor"
