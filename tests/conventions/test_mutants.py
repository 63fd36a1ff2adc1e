"""Every mutant of `make mutants` still applies: a refactoring must not leave one behind that changes nothing."""

from __future__ import annotations

from collections import Counter

import pytest
from scripts.mutants import MUTANTS, mutate
from tests.conventions.project import ROOT, SRC
from tests.mutants.mutant import Mutant

MIN_MUTANTS = 150
PACKAGES = {"audit", "crawl", "fetch", "frontier", "media", "platform", "store"}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_changes_its_module_at_one_place_and_its_tests_exist(mutant: Mutant) -> None:
    mutated = mutate(mutant, (SRC / mutant.module).read_text(encoding="utf-8"))
    if mutant.module.endswith(".py"):
        compile(mutated, mutant.module, "exec")
    assert mutant.old != mutant.new
    assert mutant.fault.endswith(".")
    assert mutant.tests
    assert [test for test in mutant.tests if not (ROOT / test).is_file()] == []


def test_mutants_have_names_of_their_own_and_cover_every_package() -> None:
    assert [name for name, count in Counter(mutant.name for mutant in MUTANTS).items() if count > 1] == []
    assert {mutant.module.partition("/")[0] for mutant in MUTANTS} == PACKAGES
    assert len(MUTANTS) >= MIN_MUTANTS
