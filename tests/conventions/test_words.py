"""Names contain no empty words, and files no machine paths or registry hosts."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from tests.conventions.project import ROOT, inside, source_files, tree_of

EMPTY_WORDS = frozenset({"util", "utils", "helper", "helpers", "common", "misc"})

_NAME_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")
# Written in pieces, so that this file does not match.
_MACHINE = re.compile(
    "|".join(
        (
            r"(?<![\w.])/(?:home|Users)/[A-Za-z0-9_.-]+/",
            r"(?<![\w.])/(?:root|work|opt|mnt)/[A-Za-z0-9_.-]+",
            r"[A-Z]:\\\\?Users\\",
            "files\\.python" + r"hosted\.org",
            "pypi" + r"\.(?:org|python\.org)/simple",
            "registry\\.npm" + r"js\.org",
            "registry\\.yarn" + r"pkg\.com",
            r"(?:--(?:extra-)?index-url|--find-links)[ =]",
            "artifact" + r"ory\.|nexus\.[a-z]",
        )
    )
)


def words_of(name: str) -> set[str]:
    return {part.lower() for part in _NAME_PARTS.findall(name)}


def test_no_module_or_class_is_named_by_an_empty_word() -> None:
    wrong = [inside(path) for path in source_files() if words_of(path.stem) & EMPTY_WORDS]
    wrong += [inside(path) for path in source_files() if set(path.parent.parts) & EMPTY_WORDS]
    for path in source_files():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef) and words_of(node.name) & EMPTY_WORDS:
                wrong.append(f"{inside(path)}: class {node.name}")
    assert wrong == []


def test_the_check_of_names_splits_names_into_words() -> None:
    assert words_of("HTTPHelper") == {"http", "helper"}
    assert words_of("url_utils") == {"url", "utils"}
    assert not words_of("Commonplace") & EMPTY_WORDS


def test_no_tracked_file_names_a_machine_path_or_a_registry() -> None:
    wrong = [
        f"{name}:{number}: {match[0]}"
        for name, text in _tracked()
        for number, line in enumerate(text.splitlines(), 1)
        if (match := _MACHINE.search(line))
    ]
    assert wrong == []


def test_the_check_of_paths_recognises_them() -> None:
    assert _MACHINE.search("see /ho" + "me/ann/project")
    assert _MACHINE.search("pip install --index" + "-url http://x")
    assert not _MACHINE.search("https://site.com/home/news/ and docs/core/")


def _tracked() -> Iterator[tuple[str, str]]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this copy of the project is not a git checkout, so there is no list of tracked files")
    # Files that are new and not ignored will be tracked by the next commit.
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    for name in sorted({name.decode() for name in listed.stdout.split(b"\0") if name}):
        path = ROOT / name
        if path.is_file() and name != "tests/conventions/test_words.py":
            data = path.read_bytes()
            if b"\0" not in data[:8000]:
                yield name, data.decode("utf-8", "replace")
