"""The built-in rules in binary form: `secret_rules.bin`, which is built from `secret_rules.toml` by

    python -m sitelore.extract.redaction.ready_rules

A test checks that the two agree. Parsing the TOML and building the prefilter would take every process longer than reading a
dozen pages.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import msgspec

from sitelore.extract.redaction.prefilter import Prefilter, Tables, build_tables, prefilter_for, prefilter_from
from sitelore.model.redaction import SecretRule

FILE = Path(__file__).with_name("secret_rules.bin")


class Ready(msgspec.Struct, array_like=True):
    """The contents of the file. The tables are little-endian."""

    rules: tuple[SecretRule, ...]
    tables: Tables


@lru_cache(maxsize=1)
def ready() -> Ready:
    """The contents of the packaged file."""
    return msgspec.msgpack.decode(zlib.decompress(FILE.read_bytes()), type=Ready)


def ready_prefilter() -> Prefilter | None:
    """The prefilter for the hints of the built-in rules."""
    return prefilter_from(ready().tables) if sys.byteorder == "little" else prefilter_for(_hints(ready().rules))


def made() -> Ready:
    """What the file should contain, built from the TOML file."""
    from sitelore.extract.redaction.secret_rules import built_in_rules  # noqa: PLC0415 nothing else here reads TOML

    rules = tuple(each.rule for each in built_in_rules())
    tables = build_tables(_hints(rules))
    if tables is None:
        raise RuntimeError("the prefilter cannot represent a hint of the built-in rules")
    return Ready(rules, tables)


def _hints(rules: Iterable[SecretRule]) -> Iterable[str]:
    return dict.fromkeys(rule.hint for rule in rules)


if __name__ == "__main__":
    FILE.write_bytes(zlib.compress(msgspec.msgpack.encode(made()), 9))
