"""The extension module and its type stub say the same."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import accelflow
from accelflow import _native
from conftest import ROOT

STUB = ROOT / "python" / "accelflow" / "_native.pyi"


def test_version_is_the_workspaces() -> None:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())
    assert (
        accelflow.__version__ == _native.version() == workspace["workspace"]["package"]["version"]
    )


def test_stub_names_everything_in_the_module_and_nothing_else() -> None:
    body = ast.parse(STUB.read_text()).body
    declared = {node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    present = {name for name in dir(_native) if not name.startswith("_")}
    assert present
    assert declared == present


def test_stub_agrees_with_the_module_in_every_signature(tmp_path: Path) -> None:
    # The module imports nothing of its package, whose files would take long to read.
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy]\nfollow_imports = skip\n")
    options = ["--mypy-config-file", str(settings)]
    command = [sys.executable, "-m", "mypy.stubtest", *options, "accelflow._native"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "in 1 module" in done.stdout


def test_every_native_name_has_a_doc_string() -> None:
    names = [name for name in dir(_native) if not name.startswith("_")]
    assert names
    for name in names:
        assert getattr(_native, name).__doc__, name


def test_errors_are_of_one_family() -> None:
    assert accelflow.AccelflowError is _native.AccelflowError
    assert issubclass(accelflow.InputError, accelflow.AccelflowError)
    with pytest.raises(accelflow.AccelflowError, match="why"):
        raise accelflow.InputError("why")
