"""Writes the tables of all settings and options into docs/reference/settings.md: `python -m scripts.settings_table`."""

from __future__ import annotations

import re
from pathlib import Path

from sitelore.app.config.reference import access_table, output_table, settings_table

FILE = Path(__file__).parents[1] / "docs" / "reference" / "settings.md"
TABLES = {"settings": settings_table, "output": output_table, "access": access_table}
"""What writes each table, by the name in the comments around it."""


def main() -> None:
    """Write the tables."""
    FILE.write_text(with_tables(FILE.read_text(encoding="utf-8")), encoding="utf-8")


def with_tables(text: str) -> str:
    """The page with the tables of the code."""
    for name, write in TABLES.items():
        table = re.compile(rf"(?<=<!-- {name}: begin -->\n).*?(?=<!-- {name}: end -->)", re.DOTALL)
        assert table.search(text), name
        text = table.sub(lambda _: write(), text)  # noqa: B023 called at once
    return text


if __name__ == "__main__":
    main()
