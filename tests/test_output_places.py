"""Where `--out` writes: folders of results are created, folders of single files must exist."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from accelflow.cli import main

SCRIPT = Path(sys.executable).with_name("accelflow")


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, check=False)


COMPARE = (
    *("compare", "socialnetwork", "--service", "UniqId", "--requests", "100"),
    *("--profile", "paper", "--orchestrator", "accelflow", "--orchestrator", "relief"),
)

#: Commands that write several files, and one of the files.
FOLDERS = [
    (COMPARE, "compare-socialnetwork.json"),
    (("reproduce", "table4"), "table4.json"),
    (("companions", "accelerometer"), "results.json"),
    (
        ("readings", "fig17", "--choice", "relief.occupancy_ns", "--budget", "ci"),
        "readings.json",
    ),
]


#: `companions` draws for seconds; its own tests write to a folder without parents.
QUICK = [given for given in FOLDERS if given[0][0] != "companions"]


@pytest.mark.parametrize(("command", "file"), QUICK, ids=lambda given: str(given[0]))
def test_folders_of_results_are_created_with_their_parents(
    tmp_path: Path, command: tuple[str, ...], file: str
) -> None:
    out = tmp_path / "missing" / "results"
    done = run(*command, "--out", out)
    assert done.returncode == 0, done.stderr
    assert (out / file).exists()


@pytest.mark.parametrize("command", [command for command, _ in FOLDERS], ids=lambda one: one[0])
def test_a_folder_that_cannot_be_made_is_refused_before_any_work(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "file").write_text("in the way")
    done = run(*command, "--out", tmp_path / "file" / "results")
    assert done.returncode == 2
    assert "must be in a folder that can be written" in done.stderr


@pytest.mark.parametrize(
    ("command", "option", "name"),
    [
        (("trace", "show", "T1"), "--out", "x.png"),
        (("record", "a:b", "--service", "a.b=C"), "--out", "x.json"),
        (("import", "jaeger", "spans.json"), "--out", "x.toml"),
        (("service", "new", "shop"), "--out", "shop.toml"),
        (COMPARE, "--report", "x.html"),
    ],
)
def test_the_folder_of_a_single_file_must_exist(
    tmp_path: Path, command: tuple[str, ...], option: str, name: str
) -> None:
    place = tmp_path / "missing" / name
    done = run(*command, option, place)
    assert done.returncode == 2
    assert f"{option} = '{place}': must be in a folder that exists" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--spans", "--report", "--samples"])
def test_a_full_disk_is_a_failure_that_names_the_option(tmp_path: Path, option: str) -> None:
    done = run(*COMPARE[:-2], "--out", tmp_path, option, "/dev/full")
    assert done.returncode == 1
    words = "= '/dev/full': must be a place that can be written: No space left on device"
    assert f"accelflow: error: {option} {words}\n" in done.stderr


@pytest.mark.parametrize(
    ("number", "code"), [(errno.ENOSPC, 1), (errno.EIO, 1), (errno.EACCES, 2)], ids=str
)
def test_results_that_cannot_be_written_are_a_failure_if_the_machine_is_at_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    def write(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("accelflow.cli.compare.write_json", write)
    with pytest.raises(SystemExit) as ended:
        main([*COMPARE, "--out", str(tmp_path)])
    assert ended.value.code == code
