"""`accelflow doctor`: what is there, what is missing, and how to get it."""

import json
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from accelflow.cli import doctor as module
from accelflow.cli.doctor import PACKAGES, doctor
from conftest import ROOT


def test_doctor_looks_for_every_package_that_is_needed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert set(PACKAGES) == {
        dependency.split("==")[0] for dependency in project["project"]["dependencies"]
    }


def test_installed_packages_have_a_version() -> None:
    found = {check["name"]: check for check in json.loads(run("--json").stdout)["checks"]}
    assert found["rich"]["found"] == metadata.version("rich")
    assert found["Python"]["state"] == "ok"
    assert all(row["remedy"] for row in found.values() if row["state"] != "ok")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(doctor, arguments)


def test_missing_packages_have_a_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "PACKAGES", {"no-such-package": "nothing"})
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    done = run()
    assert done.exit_code == 1
    assert "the installation lacks no-such-package" in str(done.exception)
    text = " ".join(done.stdout.split())
    assert "MISSING no-such-package for nothing: scripts/bootstrap, or pip install" in text
    # What only tests need is no error.
    assert "- chromium for tests and pictures of reports: scripts/install-browser" in text
    assert "- measured costs for compare socialnetwork without --profile" in text


def test_a_machine_with_everything_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACKAGES", {"rich": "tables in the terminal"})
    done = run()
    assert done.exit_code == 0
    assert done.stdout.endswith("Everything that the commands need is there.\n")
