"""The script that builds and starts the demonstration, with stand-ins for what it calls."""

import subprocess
from pathlib import Path

from conftest import ROOT


def stand_in(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_the_build_says_what_it_does(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    for name in ("redis-server", "postgres", "initdb"):
        stand_in(tools / name, "exit 0")
    # As cargo does: a line for each crate, unless it is asked to be quiet.
    stand_in(tools / "cargo", 'case "$*" in *--quiet*) ;; *) echo "   Compiling one" >&2 ;; esac')
    stand_in(tmp_path / "target/extension/socialnetwork", 'echo "ran $*"')
    done = subprocess.run(
        [ROOT / "examples/socialnetwork/run", "measure", "--seconds", "1"],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": f"{tools}:/usr/bin:/bin", "CARGO_TARGET_DIR": str(tmp_path / "target")},
    )
    assert done.stdout == "ran measure --seconds 1\n"
    assert "building the demonstration" in done.stderr
    assert "Compiling one" in done.stderr
