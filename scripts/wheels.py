"""Builds the source distribution and a manylinux wheel, and tests each in an empty environment: `make wheels`.

    python -m scripts.wheels [FOLDER]

The wheel is built from the unpacked source distribution, by zig's C compiler for glibc 2.17, and checked by auditwheel. Then
each of the two is installed with the pinned dependencies, and its `sitelore` reports its version, checks itself and extracts
a page.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLATFORM, TARGET = "manylinux_2_17_x86_64", "x86_64-linux-gnu.2.17"
TOOLS = ("hatchling", "ziglang==0.17.0", "auditwheel")
PAGE = "<title>Mill</title><main><h1>Mill</h1><p>" + "The mill stands where the river bends. " * 30 + "</p></main>"


def main() -> None:
    """Build, check, install and test."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "dist").resolve()
    with tempfile.TemporaryDirectory() as scratch:
        tools = environment(Path(scratch) / "tools")
        run(tools, "-m", "pip", "install", "--quiet", *TOOLS)
        source = build_distribution(folder, Path(scratch) / "source", tools, "sdist", ROOT)
        wheel = build_wheel(tools, source, Path(scratch) / "unpacked", folder)
        verdict = run(tools, "-m", "auditwheel", "show", str(wheel))
        if PLATFORM not in verdict:
            sys.exit(f"auditwheel does not find {wheel.name} to be {PLATFORM}:\n{verdict}")
        for built in (wheel, source):
            check_distribution(built, Path(scratch) / built.name)


def build_wheel(tools: Path, source: Path, unpacked: Path, folder: Path) -> Path:
    """Build the wheel from the source distribution, so that a missing file shows in both."""
    with tarfile.open(source) as archive:
        archive.extractall(unpacked, filter="data")
    (project,) = unpacked.iterdir()
    variables = {"SITELORE_CC": f"{tools} -m ziglang cc -target {TARGET}", "SITELORE_WHEEL_PLATFORM": PLATFORM}
    return build_distribution(folder, unpacked.with_name("wheel"), tools, "wheel", project, **variables)


def build_distribution(folder: Path, scratch: Path, tools: Path, kind: str, project: Path, **variables: str) -> Path:
    """Build one kind of distribution and move it into the folder."""
    run(tools, "-m", "hatchling", "build", "-t", kind, "-d", str(scratch), cwd=project, **variables)
    (built,) = scratch.iterdir()
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.move(built, folder / built.name))


def check_distribution(built: Path, folder: Path) -> None:
    """Install the distribution into an empty environment and use it."""
    python = environment(folder)
    requirements = ROOT / "requirements" / "run.txt"
    run(python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(requirements))
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", str(built))
    page = folder / "page.html"
    page.write_text(PAGE, encoding="utf-8")
    command = str(python.with_name("sitelore"))
    version = last_line(run(command, "--version", cwd=folder))
    checks = run(command, "doctor", cwd=folder)
    markdown = run(command, "extract", str(page), "--url", "http://site.example/", cwd=folder)
    if checks.count("Compiled library") != 2 or "The mill stands where the river bends." not in markdown:
        sys.exit(f"{built.name} does not work:\n{checks}\n{markdown}")
    print(f"{built.name}: {version}, installs, checks itself and extracts a page")


def environment(folder: Path) -> Path:
    """An empty virtual environment; the path of its Python."""
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def run(program: Path | str, *arguments: str, cwd: Path | None = None, **variables: str) -> str:
    """Run a command and return its output; exit with its output when it fails."""
    inherited = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(
        [str(program), *arguments], cwd=cwd, env={**inherited, **variables}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{program} {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def last_line(text: str) -> str:
    """The last line that is not empty."""
    return text.strip().splitlines()[-1]


if __name__ == "__main__":
    main()
