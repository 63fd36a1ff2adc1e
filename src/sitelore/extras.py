"""Optional dependencies: the libraries of an extra, and the error that says how to install them."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec

from sitelore.model.errors import UsageError

LIBRARIES = {
    "mcp": ("mcp",),
    "media": ("pyvips",),
    "scaled": ("asyncpg", "greenlet", "obstore", "redis"),
    "secrets": ("cryptography",),
    "search": ("numpy", "Stemmer", "splintr"),
}
"""The modules that code imports of each extra of pyproject.toml."""


def missing_libraries(extra: str) -> list[str]:
    """The modules of an extra that are not installed."""
    return [name for name in LIBRARIES[extra] if find_spec(name) is None]


def require_extra(extra: str, feature: str) -> None:
    """Raise `UsageError`, with the command that installs the extra, where one of its modules is missing."""
    if missing := missing_libraries(extra):
        raise UsageError(f"{feature} needs {', '.join(missing)}: {install_command(extra)}")


def install_command(extra: str) -> str:
    """The command that adds an extra to the environment of this process.

    It names the interpreter: in a clone, `pip` is often that of another environment, which does not know the package.
    Environments of `uv` have no pip.
    """
    python = shlex.quote(sys.executable)
    if find_spec("pip") is None:
        return f"uv pip install --python {python} 'sitelore[{extra}]'"
    return f"{python} -m pip install 'sitelore[{extra}]'"
