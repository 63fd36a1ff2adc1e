"""Writes the table of all settings into docs/reference/settings.md: `python -m scripts.settings_table`."""

from __future__ import annotations

import re
from pathlib import Path

from sitelore.app.config.reference import settings_table

FILE = Path(__file__).parents[1] / "docs" / "reference" / "settings.md"
_TABLE = re.compile(r"(?<=<!-- settings: begin -->\n).*?(?=<!-- settings: end -->)", re.DOTALL)


def main() -> None:
    """Write the table."""
    FILE.write_text(with_table(FILE.read_text(encoding="utf-8")), encoding="utf-8")


def with_table(text: str) -> str:
    """The page with the table of the code."""
    assert _TABLE.search(text)
    return _TABLE.sub(lambda _: settings_table(), text)


if __name__ == "__main__":
    main()
