"""The built-in rules as processes load them: `secret_rules.bin`, made of `secret_rules.toml` by

    python -m sitelore.extract.redaction.ready_rules

and held to it by a test. Reading the rules as people write them, and making tables of their hints, would take every process
longer than reading a dozen pages.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import msgspec

from sitelore.extract.redaction.hinting import Look, Tables, looking, tables_of
from sitelore.model.redaction import SecretRule

FILE = Path(__file__).with_name("secret_rules.bin")


class Ready(msgspec.Struct, array_like=True):
    """What the file holds. The tables are numbers as machines with the least significant byte in front keep them."""

    rules: tuple[SecretRule, ...]
    tables: Tables


@lru_cache(maxsize=1)
def ready() -> Ready:
    """The file."""
    return msgspec.msgpack.decode(zlib.decompress(FILE.read_bytes()), type=Ready)


def ready_look() -> Look | None:
    """A function that looks for all hints of the built-in rules at once; None where there is none."""
    return looking(ready().tables if sys.byteorder == "little" else tables_of(_hints(ready().rules)))


def made() -> Ready:
    """What the file should hold."""
    from sitelore.extract.redaction.secret_rules import built_in_rules  # noqa: PLC0415 nothing else here reads TOML

    rules = tuple(each.rule for each in built_in_rules())
    tables = tables_of(_hints(rules))
    if tables is None:
        raise RuntimeError("tables are made by the compiled library, and there is none")
    return Ready(rules, tables)


def _hints(rules: Iterable[SecretRule]) -> Iterable[str]:
    return dict.fromkeys(rule.hint for rule in rules)


if __name__ == "__main__":
    FILE.write_bytes(zlib.compress(msgspec.msgpack.encode(made()), 9))
