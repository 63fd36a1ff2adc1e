"""The units for systemd are valid, start commands that exist, and restrict what the services may do."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest
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
