"""A crawl works with the mandatory dependencies alone; what needs an extra says how to install it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.support.http_server import page, prose, serve_site, site

from sitelore.extras import LIBRARIES

_ROOT = Path(__file__).parents[2]
_OF_EXTRAS = ("mcp", "numpy", "onnx", "onnxruntime", "playwright", "pypdfium2", "Stemmer", "splintr", "tokenizers")
_BLOCK_IMPORTS = f"import sys\nsys.modules.update(dict.fromkeys({_OF_EXTRAS}))\n"


@pytest.fixture(scope="module")
def without_extras(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which no process, extraction processes included, can import the libraries of an extra."""
    folder = tmp_path_factory.mktemp("blocked")
    (folder / "sitecustomize.py").write_text(_BLOCK_IMPORTS, encoding="utf-8")
    return {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{_ROOT / 'src'}"}


def sitelore(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sitelore", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_site_is_crawled_and_exported_without_any_extra(without_extras: dict[str, str], tmp_path: Path) -> None:
    with serve_site(site({"/": page("Home", prose("home"))})) as http_server:
        done = sitelore(without_extras, "crawl", http_server.url("/"), "--data", str(tmp_path / "data"))
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "data" / "pages").rglob("*.md"))) == 1


def test_the_installation_is_sound_without_any_extra(without_extras: dict[str, str], tmp_path: Path) -> None:
    done = sitelore(without_extras, "doctor", "--data", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{sys.executable} -m pip install 'sitelore[search]'" in done.stdout


@pytest.mark.parametrize("command", [("search", "mill"), ("reindex",), ("audit",), ("serve", "--port", "0")])
def test_a_command_that_needs_an_extra_names_the_command_that_installs_it(
    without_extras: dict[str, str], tmp_path: Path, command: tuple[str, ...]
) -> None:
    data = tmp_path / "data"
    with serve_site(site({"/": page("Home", prose("home"))})) as http_server:
        assert sitelore(without_extras, "crawl", http_server.url("/"), "--data", str(data)).returncode == 0
    done = sitelore(without_extras, *command, "--data", str(data))
    assert done.returncode == 2
    assert f"needs numpy, Stemmer, splintr: {sys.executable} -m pip install 'sitelore[search]'" in done.stderr


def test_every_extra_whose_libraries_are_checked_exists() -> None:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(LIBRARIES) <= set(project["optional-dependencies"])
