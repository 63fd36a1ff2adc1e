"""Every type in schema.org's own examples is found, in each of the three syntaxes.

`make bench-structured` gives the figures of another library beside these, and the CPU of both.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from bench.structured_scores import CORPUS, named_types, types_within, written_types
from tests.support.corpora import present

from sitelore.extract import dom
from sitelore.extract.structured.entities import read_structured

PAGE = "https://site.example/dir/page"
JSON_LD_FLOOR, JSON_LD_CASES = 621, 621
REPAIRED_FLOOR, REPAIRED_CASES = 24, 25
MICRODATA_FLOOR, MICRODATA_CASES = 301, 301
RDFA_FLOOR, RDFA_CASES = 269, 269


@cache
def cases() -> list[dict[str, Any]]:
    all_cases: list[dict[str, Any]] = json.loads(present(CORPUS).read_text(encoding="utf-8"))["cases"]
    return all_cases


def found_types(html: str, source: str) -> set[str]:
    return types_within([entity for entity in read_structured(dom.parse(html), PAGE) if entity["source"] == source])


def as_script(text: str) -> str:
    return text if "<script" in text else f'<script type="application/ld+json">{text}</script>'


def test_json_ld_gives_every_type() -> None:
    valid = [case for case in cases() if case["jsonld_valid"]]
    missed = [
        case["id"]
        for case in valid
        if not named_types(case["jsonld_types"]) <= found_types(as_script(case["jsonld"]), "json-ld")
    ]
    assert len(valid) == JSON_LD_CASES
    assert len(valid) - len(missed) >= JSON_LD_FLOOR, missed


def test_broken_json_ld_is_repaired() -> None:
    broken = [case for case in cases() if case["jsonld"] and not case["jsonld_valid"]]
    missed = []
    for case in broken:
        expected = named_types(re.findall(r'@?type"\s*:\s*"([^"]*)', case["jsonld"]))
        if not expected <= found_types(as_script(case["jsonld"]), "json-ld"):
            missed.append(case["id"])
    assert len(broken) == REPAIRED_CASES
    assert len(broken) - len(missed) >= REPAIRED_FLOOR, missed


def test_microdata_gives_every_type() -> None:
    marked = [case for case in cases() if case["microdata"]]
    missed = [
        case["id"]
        for case in marked
        if not written_types(case["microdata"], "itemtype") <= found_types(case["microdata"], "microdata")
    ]
    assert len(marked) == MICRODATA_CASES
    assert len(marked) - len(missed) >= MICRODATA_FLOOR, missed


def test_rdfa_gives_every_type() -> None:
    marked = [case for case in cases() if case["rdfa"]]
    missed = [case["id"] for case in marked if not written_types(case["rdfa"], "typeof") <= found_types(case["rdfa"], "rdfa")]
    assert len(marked) == RDFA_CASES
    assert len(marked) - len(missed) >= RDFA_FLOOR, missed


def test_the_three_ways_of_saying_the_same_agree() -> None:
    """Examples that exist in all three syntaxes have the same outermost types in most cases."""
    same = whole = 0
    for case in cases():
        if case["jsonld_valid"] and case["microdata"] and case["rdfa"]:
            linked = found_types(as_script(case["jsonld"]), "json-ld")
            others = found_types(case["microdata"], "microdata"), found_types(case["rdfa"], "rdfa")
            whole += 1
            same += all(linked & other or not other for other in others)
    assert whole > 200
    assert same / whole > 0.95
