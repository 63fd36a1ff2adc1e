"""Compiles the C in `extract/native/` and `store/` when the package is built, by the system's compiler or one that pip brings.

They are plain shared libraries that ctypes loads, so neither Python headers nor a matching Python version matter. Where nothing
can compile them, or with SITELORE_PURE=1, the package is built without them and does the same in Python and numpy.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARIES = {
    Path("src/sitelore/extract/native/extract"): (
        "src/sitelore/extract/native/**/*.c",
        "pages are read at three times the cost",
    ),
    Path("src/sitelore/store/near"): ("src/sitelore/store/near.c", "vectors are compared at three times the cost"),
}
"""Each library, what it is made of, and what is so without it."""
COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-O3", "-shared", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off")


class WalkBuilder(BuildHookInterface):  # type: ignore[type-arg, misc]
    """Puts each library beside its source, where both an installed and an editable package look for it."""

    def dependencies(self) -> list[str]:
        """What has to be installed for the build: a compiler, where the system has none."""
        return [] if _system_compiler() or os.environ.get("SITELORE_PURE") else ["ziglang==0.17.0"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 the interface is given
        """Before the wheel is put together."""
        if self.target_name != "wheel" or os.environ.get("SITELORE_PURE"):
            return
        for library, (sources, without) in LIBRARIES.items():
            target = library.with_suffix(".dll" if sys.platform == "win32" else ".so")
            if not _compiled(Path(self.root), target, sorted(Path(self.root).glob(sources))):
                self.app.display_warning(f"C sources could not be compiled: {without}")
                continue
            build_data["artifacts"].append(str(target))
            build_data["pure_python"] = False
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"py3-none-{platform}"


def _system_compiler() -> str | None:
    return next(filter(None, map(shutil.which, COMPILERS)), None)


def _compiled(root: Path, target: Path, sources: list[Path]) -> bool:
    found = _system_compiler()
    command = [found] if found else [sys.executable, "-m", "ziglang", "cc"]
    draft = root / target.with_suffix(f"{target.suffix}.new")
    try:
        folders = [f"-I{folder}" for folder in sorted({source.parent for source in sources})]
        compiling: list[str | Path] = [*command, *FLAGS, *folders, "-o", draft, *sources]
        done = subprocess.run(compiling, capture_output=True, check=False, timeout=300)  # noqa: S603 our own words
    except (OSError, subprocess.SubprocessError):
        return False
    if done.returncode:
        return False
    draft.replace(root / target)
    return True
