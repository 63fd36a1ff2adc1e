"""Units for systemd, image and composition are valid, start commands that exist, and restrict what the services may do."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from tests.conventions.project import ROOT

from sitelore.cli.main import COMMANDS

UNITS = sorted((ROOT / "deploy").glob("*.service"))
HARDENING = {
    "NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes",
    "PrivateDevices": "yes", "RestrictSUIDSGID": "yes", "UMask": "0077", "User": "sitelore",
}  # fmt: skip


def service(unit: Path) -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(unit)
    return parser["Service"]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_starts_an_existing_command_with_few_rights(unit: Path) -> None:
    options = service(unit)
    program, command, *_ = options["ExecStart"].split()
    assert program.endswith("/sitelore")
    assert command in COMMANDS
    assert {name: options.get(name) for name in HARDENING} == HARDENING


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze on this machine")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    program = tmp_path / "sitelore"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for unit in (ROOT / "deploy").glob("*.[st]*e*"):
        if unit.suffix in {".service", ".timer"}:
            text = unit.read_text(encoding="utf-8").replace("/usr/local/bin/sitelore", str(program))
            (tmp_path / unit.name.replace("@.", "@1.")).write_text(text)
    units = sorted(path for path in tmp_path.iterdir() if path.suffix in {".service", ".timer"})
    assert len(units) == 4
    done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False)
    ours = [line for line in done.stderr.splitlines() if "sitelore" in line]
    assert (done.returncode, ours) == (0, [])


def test_the_image_installs_every_extra_pinned_by_hash_and_runs_without_root() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    assert any("--require-hashes -r requirements/all.txt" in line for line in lines)
    assert lines.index("USER sitelore") > max(number for number, line in enumerate(lines) if line.startswith("RUN"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    [everything] = extras["all"]
    assert set(everything.removeprefix("sitelore[").removesuffix("]").split(",")) == extras.keys() - {"all", "dev", "search"}
    wanted = [*project["dependencies"], *(text for name in extras.keys() - {"all", "dev"} for text in extras[name])]
    pinned = {
        normal_name(line) for line in (ROOT / "requirements/all.txt").read_text(encoding="utf-8").splitlines() if "==" in line
    }
    assert {normal_name(text) for text in wanted} - {"sitelore"} <= pinned


def normal_name(requirement: str) -> str:
    """The name of a package in its normal form (PEP 503)."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name is not None, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


@pytest.mark.parametrize("name", ["server", "worker", "postgres", "redis", "s3"])
def test_each_service_of_the_composition_has_a_health_check(name: str) -> None:
    service = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"][name]
    assert service["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
    if "build" in service:
        assert service["command"][0] in COMMANDS
