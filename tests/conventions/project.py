"""Access to the project for tests: source files, their imports, and the marked blocks of the documentation."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "sitelore"
DOCS = ROOT / "docs"


@dataclass(frozen=True, slots=True)
class Import:
    """One import statement: in which file (from the package's root), of which module, on which line."""

    file: str
    module: str
    line: int

    @property
    def package(self) -> str:
        return package_of(self.file)

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]

    @property
    def target(self) -> str | None:
        """The imported package of Sitelore, None for another library."""
        return self.module.split(".")[1] if self.module.startswith("sitelore.") else None

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.module}"


def package_of(file: str) -> str:
    """`crawl/visit.py` → `crawl`, `ports.py` → `ports`."""
    return file.partition("/")[0].removesuffix(".py")


@cache
def source_files() -> tuple[Path, ...]:
    """Every Python file below `src/sitelore`."""
    return tuple(sorted(SRC.rglob("*.py")))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def inside(path: Path) -> str:
    """The path from the package's root, with slashes."""
    return path.relative_to(SRC).as_posix()


@cache
def imports() -> tuple[Import, ...]:
    """Every import, at any place in a file; `from sitelore import x` counts as an import of `sitelore.x`."""
    return tuple(statement for path in source_files() for statement in _imports_of(path))


def _imports_of(path: Path) -> Iterator[Import]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield Import(inside(path), name.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            module = _absolute(path, node)
            if module == "sitelore":
                for name in node.names:
                    yield Import(inside(path), f"sitelore.{name.name}", node.lineno)
            else:
                yield Import(inside(path), module, node.lineno)


def _absolute(path: Path, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = ("sitelore", *path.relative_to(SRC).parts[:-1])
    return ".".join((*package[: len(package) - node.level + 1], *([node.module] if node.module else [])))


def is_standard(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def block(name: str, page: str = "architecture.md") -> list[str]:
    """The lines of the fenced block marked `name` on a page of the documentation."""
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(rf"^```{re.escape(name)}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1, f"{page} has {len(blocks)} blocks marked {name}, not one"
    return [line for line in blocks[0].splitlines() if line.strip()]


def pairs(name: str, separator: str) -> dict[str, frozenset[str]]:
    """A marked block whose lines are `key<separator>value, value`."""
    table = {}
    for line in block(name):
        key, _, values = line.partition(separator)
        assert key.strip() not in table, f"{key.strip()} is twice in the block {name}"
        table[key.strip()] = frozenset(value.strip() for value in values.split(",") if value.strip())
    return table


def packages_by_layer() -> list[list[str]]:
    """The import rule of the documentation, highest layer first."""
    return [[package.strip() for package in line.split("|")] for line in block("layers")]
