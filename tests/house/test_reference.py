"""What a person can ask for, and every answer they can get, is written down in docs/reference/."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest
from tests.house.house import DOCS

from sitelore.model import errors
from sitelore.model.response import Failure
from sitelore.model.settings import CrawlSettings, FetchLimits, Identity, Overrides, Pace
from sitelore.model.states import Proof, RunState, SkipReason, UrlState


def page(name: str) -> str:
    return (DOCS / "reference" / name).read_text(encoding="utf-8")


def missing(name: str, words: Iterator[str] | list[str]) -> list[str]:
    """Words that do not stand on the page as code: `word`, alone or at the start of a longer span of code."""
    text = page(name)
    return [word for word in words if not any(f"`{word}{end}" in text for end in ("`", " ", "="))]


@pytest.mark.parametrize("words", [UrlState, SkipReason, RunState, Proof])
def test_every_state_and_reason_is_explained(words: Any) -> None:
    assert missing("states.md", [word.value for word in words]) == []


def test_every_failure_is_explained() -> None:
    assert missing("errors.md", [failure.value for failure in Failure]) == []


def test_every_exception_has_its_exit_code_in_the_table() -> None:
    rows = {row[1].strip(): row[3] for line in page("errors.md").splitlines() if (row := line.split("|"))[3:]}
    classes = [cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, errors.SiteloreError)]
    wrong = [cls.__name__ for cls in classes if f"`{cls.__name__}`" not in rows.get(str(cls.exit_code), "")]
    assert wrong == []


@pytest.mark.parametrize("settings", [CrawlSettings, Identity, FetchLimits, Pace, Overrides])
def test_every_setting_is_explained(settings: Any) -> None:
    assert missing("settings.md", [field.name for field in fields(settings)]) == []


def test_every_command_and_option_is_explained() -> None:
    assert missing("cli.md", list(_commands_and_options())) == []


def _commands_and_options() -> Iterator[str]:
    import typer

    from sitelore.cli.main import app

    yield from _of(typer.main.get_command(app), "sitelore")


def _of(command: Any, name: str) -> Iterator[str]:
    for parameter in command.params:
        if parameter.param_type_name == "option" and not parameter.hidden:
            yield from (option for option in parameter.opts if option.startswith("--") and option != "--help")
    for word, child in getattr(command, "commands", {}).items():
        if not child.hidden:
            yield f"{name} {word}"
            yield from _of(child, f"{name} {word}")
