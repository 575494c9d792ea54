"""The lock files pin what pyproject.toml asks for, and the scripts are there to be run."""

import os
import re
import subprocess
import tomllib

import pytest

from conftest import ROOT

SCRIPTS = ["scripts/bootstrap", "scripts/lock", "scripts/run", "scripts/test", ".ci/run"]


def locked(name: str) -> dict[str, str]:
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
    pins = [line.split("==") for line in lines if not line.startswith("#")]
    return {re.sub("[-_.]+", "-", package).lower(): version for package, version in pins}


def asked(requirements: list[str]) -> dict[str, str]:
    return dict(line.split("==", 1) for line in requirements)


def test_lock_files_pin_what_pyproject_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    run = asked(project["project"]["dependencies"] + project["build-system"]["requires"])
    dev = run | asked(project["project"]["optional-dependencies"]["dev"])
    assert run.items() <= locked("run").items()
    assert dev.items() <= locked("dev").items()


def test_dev_lock_holds_the_run_lock() -> None:
    assert locked("run")
    assert locked("run").items() <= locked("dev").items()


@pytest.mark.parametrize("script", SCRIPTS)
def test_script_is_executable_and_parses(script: str) -> None:
    path = ROOT / script
    assert os.access(path, os.X_OK)
    text = path.read_text()
    assert text.startswith("#!/usr/bin/env bash\n")
    assert "set -euo pipefail" in text
    subprocess.run(["/bin/bash", "-n", path], check=True)


def test_bootstrap_refuses_an_unknown_kind() -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "bootstrap", "fast"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "bootstrap: error: unknown kind 'fast'; allowed are run and dev\n"
