"""Functions and modules stay short."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from tests.conventions.project import SRC, inside, source_files, tree_of

import sitelore

FUNCTION_LINES = 60
MODULE_LINES = 800
DIRECTORY_MODULES = 14
VISIT_LINES = 80

LONGER = {
    "cli/commands/crawl.py:crawl": "one parameter is one option, with its help text",
}
"""Functions that may be longer, each with its reason."""


def functions() -> Iterator[tuple[str, int]]:
    for path in source_files():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{inside(path)}:{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1


def test_functions_are_short() -> None:
    assert [f"{name}: {lines} lines" for name, lines in functions() if lines > FUNCTION_LINES and name not in LONGER] == []


def test_every_exception_to_the_length_of_functions_is_still_needed() -> None:
    long = {name for name, lines in functions() if lines > FUNCTION_LINES}
    assert set(LONGER) - long == set()


def test_modules_are_short() -> None:
    lines = {inside(path): len(path.read_text(encoding="utf-8").splitlines()) for path in source_files()}
    assert {name: count for name, count in lines.items() if count > MODULE_LINES} == {}


def test_directories_hold_few_modules() -> None:
    versions = SRC / "store" / "migrations" / "versions"  # one module for each version
    counts = Counter(path.parent for path in source_files() if path.name != "__init__.py" and path.parent != versions)
    assert {inside(folder): count for folder, count in counts.items() if count > DIRECTORY_MODULES} == {}


def test_one_visit_can_be_read_at_a_glance() -> None:
    lengths = dict(functions())
    assert lengths["crawl/visit.py:visit"] < VISIT_LINES


def test_a_package_init_holds_only_its_docstring() -> None:
    wrong = []
    for path in SRC.glob("*/__init__.py"):
        body = tree_of(path).body
        docstring = ast.get_docstring(tree_of(path)) or ""
        if len(body) != 1 or len(docstring.split()) < 15:
            wrong.append(inside(path))
    assert wrong == []


def test_the_package_itself_defines_what_it_exports_and_imports_nothing_when_it_is_imported() -> None:
    body = tree_of(SRC / "__init__.py").body
    imported = [name.name for node in body if isinstance(node, ast.Import) for name in node.names]
    imported += [node.module or "" for node in body if isinstance(node, ast.ImportFrom)]
    assert set(imported) <= {"__future__", "sys"}
    public = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")}
    assert public <= set(sitelore.__all__)
    assert all(getattr(sitelore, name).__doc__ for name in sitelore.__all__)
