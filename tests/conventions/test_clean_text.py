"""Nothing unredacted is ever persisted: `CleanText` and `CleanBytes` are made in one file."""

from __future__ import annotations

import ast

import pytest
from tests.conventions.project import inside, source_files, tree_of

MAKER = "extract/redaction/redactor.py"
CLEAN = frozenset({"CleanText", "CleanBytes"})


def makers(tree: ast.Module) -> list[tuple[int, str]]:
    """Every place where clean text is made by force: a call, a cast, or an alias under which it could be called."""
    places = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if _name(node.func) in CLEAN:
                places.append((node.lineno, f"{_name(node.func)}(…)"))
            elif _name(node.func) == "cast" and node.args and _names_clean(node.args[0]):
                places.append((node.lineno, "cast"))
            elif any(_name(argument) in CLEAN for argument in node.args) and _name(node.func) in {"map", "partial"}:
                places.append((node.lineno, f"{_name(node.func)} of a clean type"))
        elif isinstance(node, ast.Assign) and _name(node.value) in CLEAN:
            places.append((node.lineno, "alias"))
        elif isinstance(node, ast.ImportFrom) and any(a.name in CLEAN and a.asname not in {None, a.name} for a in node.names):
            places.append((node.lineno, "renamed import"))
    return places


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _names_clean(node: ast.expr) -> bool:
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)
    return any(name in text for name in CLEAN)


def test_clean_text_is_made_in_the_redactor_alone() -> None:
    wrong = []
    for path in source_files():
        if inside(path) == MAKER:
            continue
        for line, what in makers(tree_of(path)):
            if not _is_the_empty_text(inside(path), tree_of(path), line) and not _is_a_piece(inside(path), tree_of(path), line):
                wrong.append(f"{inside(path)}:{line}: {what}")
    assert wrong == []


def _is_the_empty_text(file: str, tree: ast.Module, line: int) -> bool:
    """`NO_TEXT = CleanText("")`: nothing needs no redaction."""
    return file == "model/ids.py" and any(
        isinstance(node, ast.Assign) and node.lineno == line and ast.unparse(node) == "NO_TEXT = CleanText('')"
        for node in tree.body
    )


def _is_a_piece(file: str, tree: ast.Module, line: int) -> bool:
    """`piece_of`: a stretch of clean text needs no redaction."""
    return file == "model/ids.py" and any(
        isinstance(node, ast.Return) and node.lineno == line and ast.unparse(node) == "return CleanText(text[start:end])"
        for node in ast.walk(tree)
    )


def test_the_redactor_does_make_it() -> None:
    trees = [tree_of(path) for path in source_files() if inside(path) == MAKER]
    assert {what for tree in trees for _, what in makers(tree)} == {"CleanText(…)", "CleanBytes(…)"}


@pytest.mark.parametrize(
    "source",
    [
        "x = CleanText(title)",
        "x = ids.CleanBytes(data)",
        "x = cast(CleanText, title)",
        "x = cast('CleanText | None', title)",
        "make = CleanText",
        "x = map(CleanText, titles)",
        "from sitelore.model.ids import CleanText as T",
    ],
)
def test_every_way_to_make_it_by_force_is_seen(source: str) -> None:
    assert makers(ast.parse(source))


@pytest.mark.parametrize(
    "source", ["def f(x: CleanText) -> CleanText: ...", "x: CleanText = y", "Decoder(dict[str, CleanText])"]
)
def test_naming_the_type_is_not_making_it(source: str) -> None:
    assert not makers(ast.parse(source))
