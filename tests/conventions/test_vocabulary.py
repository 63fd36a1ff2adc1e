"""The code and its documentation use the words of the trade: retired words do not come back, and common terms can be found."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.conventions.project import DOCS, ROOT, SRC, source_files, tree_of

RETIRED = frozenset(
    word
    for line in (
        "anybody asked backstage desk desks door doors everybody foreman house houses likeness mend mended mending mends",
        "nobody peeking receipt receipts reckon reckoned reckoning said shelf shelved shelves somebody toiling told whoever",
    )
    for word in line.split()
)
"""Metaphors and fillers that once stood for parts of the program, as identifiers and in prose."""

RETIRED_PHRASES = ("be had", "of late", "laid out flat", "takes turns", "take turns")

RETIRED_IN_DOCS = frozenset({"room", "rooms"})
"""Once the word for packages. The code uses it for free space in a buffer."""

FILLER_NAMES = frozenset({"asked", "found", "given", "met", "said", "some", "stands", "told"})
"""Participles and pronouns that say nothing about a value, as names of variables, parameters and functions."""

FINDABLE = (
    "backoff",
    "connection pool",
    "idempotency key",
    "leader lock",
    "middleware",
    "prompt injection",
    "quantised",
    "single flight",
)
"""Terms that an engineer searches the source for."""

SUFFIXES = frozenset({".c", ".h", ".json", ".lua", ".md", ".py", ".sql", ".toml"})
"""Kinds of files that are checked. HTML is left out: the demo site is content, not documentation."""

_TRAINED = "the trained model records a digest of this file, so a change needs a new training"

UNCHECKED = {
    "bench/content.py": "not revised yet",
    "bench/content_scores.py": "not revised yet",
    "bench/folds.py": "not revised yet",
    "bench/pseudo_translation.py": _TRAINED,
    "bench/train_content.py": _TRAINED,
    "bench/train_network.py": _TRAINED,
    "tests/conventions/test_vocabulary.py": "it lists the retired words",
}
"""Python files that are not checked, each with its reason."""

_STORED = ("reckon", "reckoned", "shelved", "told")

EXCEPTIONS = {
    "docs/reference/mcp.md": {"whoever": "quotes the notice in serve/mcp/formatting.py"},
    "docs/reference/redaction.md": {"house": "ClickHouse, a product"},
    "docs/reference/structured.md": {"doors": "an exported field of events (schema.org's doorTime)"},
    "src/sitelore/extract/content/vocabulary.py": {"said": "names of features in the trained model"},
    "src/sitelore/extract/redaction/secret_rules.toml": {"house": "ClickHouse, a product"},
    "src/sitelore/extract/structured/entities.py": {"door": "doorTime, a property of schema.org"},
    "src/sitelore/extract/structured/frames.py": {
        "door": "doorTime, a property of schema.org",
        "doors": "an exported field of events",
        "house": "House, a type of schema.org",
    },
    "src/sitelore/index/languages.py": {"door": "a Dutch stop word"},
    "src/sitelore/index/prompt_injection.py": dict.fromkeys(("asked", "said", "told"), "words that injected text uses"),
    "src/sitelore/serve/mcp/formatting.py": {"whoever": "a notice for language models, with its established wording"},
    "src/sitelore/store/redis/gate.lua": {"asked": "a field of a hash in Redis, shared with processes of other versions"},
    "src/sitelore/store/migrations/versions/v0005_knowledge.py": dict.fromkeys(_STORED, "columns and an index of the database"),
    "src/sitelore/store/migrations/versions/v0007_tenants.py": dict.fromkeys(
        ("reckoned", "shelved", "told"), "columns that the migration renames"
    ),
    "scripts/servers.py": {"nobody": "the user of that name on Unix"},
    "tests/unit/extract/scored.py": {"nobody": "text of a test page"},
    "tests/unit/extract/test_block_scorer.py": {
        "nobody": "text of a test page",
        "said": "the name of a feature in the trained model",
    },
    "tests/unit/index/test_chunking.py": dict.fromkeys(("doors", "house", "said"), "text of test pages"),
    "tests/unit/index/test_prompt_injection.py": {"told": "words that injected text uses"},
    "tests/unit/index/test_snippets.py": {"said": "text of a test page"},
}
"""Retired words that may stay, by file, each with its reason."""

FILLER_EXCEPTIONS = {
    "src/sitelore/extract/redaction/redactor.py": {"found": "a key of the rule file"},
}
"""Filler names that may stay, by file, each with its reason."""

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


def words_of(text: str) -> Counter[str]:
    """The words of a text in lower case; identifiers are split into their words."""
    return Counter(word.lower() for word in _WORD.findall(text))


@cache
def python_files() -> tuple[Path, ...]:
    """The Python files of the package, the tests, the benchmarks and the scripts, without `UNCHECKED`."""
    others = [path for folder in ("bench", "scripts", "tests") for path in sorted((ROOT / folder).rglob("*.py"))]
    return tuple(path for path in (*source_files(), *others) if name_of(path) not in UNCHECKED)


@cache
def checked_files() -> tuple[Path, ...]:
    """Source files, Python files, the documentation, and the pages at the root of the project."""
    files = [path for path in SRC.rglob("*") if path.suffix in SUFFIXES and path.suffix != ".py"]
    files += python_files()
    files += DOCS.rglob("*.md")
    files += [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "Makefile")]
    return tuple(sorted(files))


@cache
def retired_words() -> dict[str, frozenset[str]]:
    """The retired words of each file that has any."""
    words = {name_of(path): frozenset(RETIRED & words_of(text_of(path)).keys()) for path in checked_files()}
    return {name: retired for name, retired in words.items() if retired}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_retired_words_do_not_come_back() -> None:
    wrong = {name: sorted(words - EXCEPTIONS.get(name, {}).keys()) for name, words in retired_words().items()}
    assert {name: words for name, words in wrong.items() if words} == {}


def test_every_exception_is_still_needed() -> None:
    unused = {name: sorted(words.keys() - retired_words().get(name, frozenset())) for name, words in EXCEPTIONS.items()}
    assert {name: words for name, words in unused.items() if words} == {}


@pytest.mark.parametrize("phrase", RETIRED_PHRASES)
def test_retired_phrases_do_not_come_back(phrase: str) -> None:
    pattern = _phrase(phrase)
    assert [name_of(path) for path in checked_files() if pattern.search(text_of(path))] == []


def _phrase(phrase: str) -> re.Pattern[str]:
    return re.compile(r"\b" + r"[\s#*/]+".join(phrase.split()) + r"\b", re.IGNORECASE)


def test_the_documentation_speaks_of_packages() -> None:
    pages = [path for path in checked_files() if path.suffix == ".md"]
    assert [name_of(path) for path in pages if RETIRED_IN_DOCS & words_of(text_of(path)).keys()] == []


def test_no_name_is_a_filler() -> None:
    names = [(name_of(path), line, name) for path in python_files() for line, name in filler_names(tree_of(path))]
    assert [f"{file}:{line}: {name}" for file, line, name in names if name not in FILLER_EXCEPTIONS.get(file, {})] == []
    used = {(file, name) for file, _, name in names}
    assert {(file, name) for file, excepted in FILLER_EXCEPTIONS.items() for name in excepted} <= used


def filler_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every place that gives a variable, parameter, function or class the name of a filler."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = node.name
        else:
            continue
        if name.strip("_").lower() in FILLER_NAMES:
            yield node.lineno, name


def test_no_docstring_refers_to_the_one_before() -> None:
    wrong = [
        f"{name_of(path)}:{node.lineno}"
        for path in python_files()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if re.match(r"(?:The same|Likewise|As above)\b", node.value.value)
    ]
    assert wrong == []


@pytest.mark.parametrize("term", FINDABLE)
def test_a_search_for_a_common_term_finds_it_in_the_source(term: str) -> None:
    assert any(term in text_of(path).lower() for path in source_files())


def test_the_check_sees_words_in_identifiers_and_prose() -> None:
    assert {"mcp", "door"} == set(words_of("McpDoor"))
    assert {"open", "house"} == set(words_of("open_house"))
    assert "told" in words_of("What it was told.")
    assert "house" not in words_of("warehouse Lighthouse")
    assert list(filler_names(ast.parse("def f(told): found = 1"))) == [(1, "told"), (1, "found")]
    assert _phrase("of late").search("addresses of\n    # late")
