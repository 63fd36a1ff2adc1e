"""Writes the OpenAPI description to `ui/openapi.json`, from which the types of the dashboard are generated: `make openapi`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from sitelore.serve.app import application
from sitelore.serve.context import ApiSettings
from sitelore.serve.openapi import openapi_document

FILE = Path(__file__).parents[1] / "ui" / "openapi.json"
_NO_CONTEXT: Any = None


def main() -> None:
    """Write the file."""
    FILE.write_text(description(), encoding="utf-8")


def description() -> str:
    """The description as it is kept in the repository."""
    app = application(_NO_CONTEXT, ApiSettings(), asyncio.Event())
    return json.dumps(openapi_document(app, with_tokens=True), indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    main()
