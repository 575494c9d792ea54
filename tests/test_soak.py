"""`scripts/soak` repeats a command, beside busy loops too, and says how each run ended."""

import os
import subprocess
from pathlib import Path

from conftest import ROOT

OUTPUT = """\
test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
test result: ok. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
test places::one ... FAILED
FAILED tests/test_flood.py::test_memory - assert 2 <= 1
======= 1 failed, 41 passed, 2 skipped in 3.20s (0:00:03) =======
"""


def soak(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "scripts" / "soak", *arguments],
        env=os.environ | {"SOAK_COMMAND": command},
        capture_output=True,
        text=True,
        check=False,
    )


def test_each_run_has_a_line_and_a_log(tmp_path: Path) -> None:
    # Fails from the third run on, and says which loops run beside it.
    script = tmp_path / "tests.sh"
    script.write_text(
        f"cd {tmp_path}; echo run >>runs; cat output\n"
        "pgrep -P $PPID -c >>loops\n"
        "[ $(wc -l <runs) -lt 3 ]\n"
    )
    (tmp_path / "output").write_text(OUTPUT)
    done = soak(f"bash {script}", "3", "1")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    counts = "Rust: 15 passed, 1 failed; Python: 1 failed, 41 passed, 2 skipped;"
    for line, begin in zip(
        [line for line in lines if line.startswith("run ")],
        [
            "run 1 of 3, quiet: ok, ",
            "run 2 of 3, quiet: ok, ",
            "run 3 of 3, beside two busy loops: FAILED (exit 1), ",
        ],
        strict=True,
    ):
        assert line.startswith(begin)
        assert counts in line
        assert (ROOT / line.rpartition(" ")[2]).read_text() == OUTPUT
    assert lines[-2:] == [
        "    test places::one ... FAILED",
        "    FAILED tests/test_flood.py::test_memory - assert 2 <= 1",
    ]
    assert "soak: 1 of 3 runs failed" in done.stderr
    # The command, and in the last run two loops.
    assert (tmp_path / "loops").read_text().split() == ["1", "1", "3"]


def test_bad_numbers_are_refused() -> None:
    for arguments, why in [
        (["0"], "RUNS = '0': must be a whole number from 1 to 9999"),
        (["3", "4"], "LOADED = '4': must be a whole number from 0 to 3"),
    ]:
        done = soak("false", *arguments)
        assert (done.returncode, done.stderr) == (2, f"soak: error: {why}\n")
