"""The lock files pin what pyproject.toml asks for, scripts can be run, distributions are whole."""

import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

from distributions import problems_of_source, problems_of_wheel

SCRIPTS = [
    "scripts/bootstrap",
    "scripts/docs",
    "scripts/install-browser",
    "scripts/install-shells",
    "scripts/install-valgrind",
    "scripts/wheel",
    "scripts/lock",
    "scripts/run",
    "scripts/soak",
    "scripts/tenants",
    "scripts/test",
    ".ci/run",
]


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
    docs = run | asked(project["project"]["optional-dependencies"]["docs"])
    assert run.items() <= locked("run").items()
    assert docs.items() <= locked("docs").items()
    assert dev.items() <= locked("dev").items()


def test_dev_lock_holds_the_docs_lock_and_that_the_run_lock() -> None:
    assert locked("run")
    assert locked("run").items() <= locked("docs").items()
    assert locked("docs").items() <= locked("dev").items()


def test_bootstrap_refuses_an_unknown_build() -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "bootstrap", "dev"],
        env=os.environ | {"EXTENSION_BUILD": "fast"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == ("bootstrap: error: EXTENSION_BUILD = 'fast': must be extension or dev\n")


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
    assert done.stderr == "bootstrap: error: unknown kind 'fast'; allowed are run, docs and dev\n"


def bootstrap_with(tools: Path, *, real: list[str], fake: dict[str, str]) -> tuple[int, str]:
    """Run the script where only the tools in `real` and the one-line scripts in `fake` exist."""
    for name in real:
        found = shutil.which(name)
        assert found is not None, name
        (tools / name).symlink_to(found)
    for name, line in fake.items():
        (tools / name).write_text(f"#!/bin/bash\n{line}\n")
        (tools / name).chmod(0o755)
    done = subprocess.run(
        ["/bin/bash", ROOT / "scripts" / "bootstrap"],
        env={"PATH": str(tools), "HOME": str(tools)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


BASICS = ["dirname", "sed", "cut", "sort", "head"]


def test_bootstrap_without_rust_says_so(tmp_path: Path) -> None:
    code, error = bootstrap_with(tmp_path, real=BASICS, fake={"cc": "exit 0"})
    assert (code, error) == (
        1,
        "bootstrap: error: cargo is not installed; install Rust with rustup\n",
    )


def test_bootstrap_with_an_old_rust_names_both_versions(tmp_path: Path) -> None:
    fake = {"cc": "exit 0", "cargo": "echo 'cargo 1.9.0 (aaaa 2016-05-16)'"}
    code, error = bootstrap_with(tmp_path, real=BASICS, fake=fake)
    need = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    assert code == 1
    assert f"cargo is 1.9.0, but {need} or later is needed" in error


def test_bootstrap_without_a_compiler_tells_who_may_not_install_one(tmp_path: Path) -> None:
    code, error = bootstrap_with(tmp_path, real=BASICS, fake={"id": "echo 1000"})
    assert code == 1
    assert "there is no C compiler and linker (cc)" in error
    assert "apt-get install build-essential" in error


def third_party(*arguments: str) -> set[str]:
    """The packages of a build by Cargo that are not ours, with their features."""
    tree = ["cargo", "tree", "--locked", "--prefix", "none", "--format", "{p} {f}"]
    done = subprocess.run([*tree, *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    lines = (line.removesuffix(" (*)") for line in done.stdout.splitlines())
    return {line for line in lines if not line.startswith("accelflow-")}


def test_the_builds_of_tests_serve_the_extension_module_in_ci() -> None:
    """Packages with other features would be built a second time, and all that depends on them."""
    tests = third_party("--workspace", "--edges", "normal,build,dev")
    module = ["--package", "accelflow-python", "--edges", "normal,build"]
    assert third_party(*module, "--features", "accelflow-python/as_in_tests") <= tests
    # The module that ships has less of them.
    assert not third_party(*module) <= tests


def wheel(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "scripts" / "wheel", *arguments],
        env={**os.environ, "PYTHON": sys.executable, **settings},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_source_distribution_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = wheel("sdist", OUT=str(tmp_path))
    assert done.returncode == 0, done.stderr
    (file,) = tmp_path.iterdir()
    monkeypatch.chdir(ROOT)
    assert problems_of_source(file) == []
    # The checker finds what is missing and what does not belong there.
    with tarfile.open(file) as whole, tarfile.open(tmp_path / "spoilt.tar.gz", "w:gz") as spoilt:
        for member in whole:
            if not member.name.endswith("/NOTICE"):
                spoilt.addfile(member, whole.extractfile(member))
        stray = tarfile.TarInfo("accelflow-0.1.0/python/accelflow/_native.new")
        spoilt.addfile(stray, io.BytesIO())
    assert problems_of_source(tmp_path / "spoilt.tar.gz") == [
        "has python/accelflow/_native.new",
        "lacks NOTICE",
    ]


def test_the_checker_of_wheels_finds_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    file = tmp_path / "accelflow-0.1.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for path in (ROOT / "python").rglob("*.py"):
            archive.write(path, path.relative_to(ROOT / "python"))
        archive.writestr("tests/test_packaging.py", "")
        archive.writestr("accelflow/__pycache__/errors.pyc", "")
        archive.writestr("accelflow-0.1.0.dist-info/METADATA", "Name: accelflow\nVersion: 0.1.0\n")
    found = problems_of_wheel(file)
    for problem in (
        "its metadata lack License-Expression",
        "has accelflow/__pycache__/errors.pyc",
        "has tests/test_packaging.py, which is not in the repository",
        "lacks accelflow/_native.abi3.so",
        "lacks accelflow/page/page.css",
        "lacks accelflow/chips/paper.toml",
        "lacks accelflow/experiments/paper-targets.toml",
        "its name has no tag abi3, so it works with only one version of Python",
        "its tag is that of this machine, which no index takes",
    ):
        assert problem in found
    assert not any("metadata lack Name" in problem for problem in found)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "unknown command ''; allowed are build, sdist, check, try and crates"),
        (["build", "musl"], "unknown argument of build 'musl'; allowed is zig"),
        (["try"], "try takes one wheel"),
        (["try", "missing.whl"], "there is no missing.whl"),
    ],
)
def test_wheel_refuses_what_it_cannot_do(arguments: list[str], words: str) -> None:
    done = wheel(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == f"wheel: error: {words}"


def test_every_crate_says_what_it_is() -> None:
    for path in sorted(ROOT.glob("crates/*/Cargo.toml")):
        package = tomllib.loads(path.read_text())["package"]
        assert len(package.get("description", "")) > 20, path
        assert package["license"] == {"workspace": True}, path
