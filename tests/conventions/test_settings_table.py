"""The catalogue has every setting, and the reference has the table of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from scripts.settings_table import FILE, with_tables

from sitelore.app.config.catalogue import BY_NAME, GROUPS, SETTINGS, SHORT_KEYS, crawl_settings
from sitelore.app.config.kinds import Items
from sitelore.model.settings import CrawlSettings


def names(settings: Any, above: str = "") -> Iterator[str]:
    for field in fields(settings):
        value = getattr(settings, field.name)
        if is_dataclass(value):
            yield from names(value, f"{above}{field.name}.")
        else:
            yield f"{above}{field.name}"


def test_the_reference_has_the_tables_of_the_code() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert with_tables(text) == text, "run: python -m scripts.settings_table"


def test_every_setting_of_a_run_is_in_the_catalogue() -> None:
    assert sorted(BY_NAME) == sorted(names(CrawlSettings()))
    assert len(BY_NAME) == len(SETTINGS)


def test_no_short_key_is_the_name_of_another_setting() -> None:
    assert BY_NAME.keys() & SHORT_KEYS.keys() == set()
    assert SHORT_KEYS.keys() & GROUPS == {"media"}


@pytest.mark.parametrize("name", BY_NAME)
def test_every_default_is_a_valid_value(name: str) -> None:
    setting = BY_NAME[name]
    default = setting.default()
    assert setting.check(list(default) if isinstance(setting.kind, Items) else default) == default
    assert crawl_settings({name: default}) == CrawlSettings()


def test_every_option_of_a_setting_is_an_option_of_crawl() -> None:
    from typer.main import get_command

    from sitelore.cli.main import parser

    crawl = get_command(parser(["crawl"])).commands["crawl"]  # type: ignore[attr-defined]  # the parser is a group
    options = {option for parameter in crawl.params for option in parameter.opts}
    assert {own.option for own in SETTINGS if own.option.startswith("--")} <= options
