"""Every text of the dashboard is in `texts.ts`, so that another language needs one file."""

from __future__ import annotations

import re

from tests.conventions.project import ROOT

from sitelore.audit.catalogue import RULES

SOURCES = ROOT / "ui" / "src"
# Words between tags, and in attributes that people read or hear.
_BETWEEN_TAGS = re.compile(r"(?:^\s*|[\"'}\w]>)([A-Z][a-z]+(?: [\w',.-]+)*[.!?…]?)(?:</|\s*$)")
_ATTRIBUTE = re.compile(
    r"\b(?:aria-label|title|label|placeholder|alt|hint|description|word|content)=\"([^\"]*[A-Za-z]{2}[^\"]*)\""
)
_CALL = re.compile(r"\b(?:alert|confirm|prompt)\(['\"`]([^'\"`]+)")
_TEXT = re.compile(r"texts\.((?:\w+\.)*\w+)")


def test_components_hold_no_text() -> None:
    literals = [
        f"{path.relative_to(SOURCES)}:{number}: {match[1]}"
        for path in sorted(SOURCES.rglob("*.tsx"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if not line.lstrip().startswith(("*", "//", "/*", "import", "export type", "type ", "{/*"))
        for pattern in (_BETWEEN_TAGS, _ATTRIBUTE, _CALL)
        if (match := pattern.search(line))
    ]
    assert literals == []


def test_the_patterns_recognise_texts() -> None:
    for line in ("<Text>Nothing here</Text>", "  Nothing was found.", '<Button aria-label="Close">', "alert('Done')"):
        assert any(pattern.search(line) for pattern in (_BETWEEN_TAGS, _ATTRIBUTE, _CALL)), line
    for line in ("{texts.search.nothing}", '<Text size="sm" c="dimmed">', "const Shown = Card", 'role="region"', "<Row>"):
        assert not any(pattern.search(line) for pattern in (_BETWEEN_TAGS, _ATTRIBUTE, _CALL)), line


def test_every_group_of_texts_is_used() -> None:
    text = (SOURCES / "texts.ts").read_text(encoding="utf-8")
    groups = re.findall(r"^  (\w+): \{$", text, re.MULTILINE)
    code = "".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.ts*") if path.name != "texts.ts")
    used = {name.partition(".")[0] for name in _TEXT.findall(code)} | set(re.findall(r"texts\[(\w+)\]", code))
    assert len(groups) > 20
    assert [group for group in groups if group not in used] == []


def test_every_threshold_of_a_rule_has_a_name_and_a_unit() -> None:
    text = (SOURCES / "texts.ts").read_text(encoding="utf-8")
    entries = re.findall(r"^      '?([\w.-]+)'?: \['([^']+)', '([^']+)'\],$", text, re.MULTILINE)
    known = {name for name, _, _ in entries}
    names = {(rule.id, name) for rule in RULES.values() for name in rule.thresholds}
    assert [pair for pair in sorted(names) if not known & {pair[1], ".".join(pair)}] == []
    used = {name for _, name in names} | {".".join(pair) for pair in names}
    assert sorted(known - used) == []
