"""Where `--out` writes: folders of results are created, folders of single files must exist."""

import subprocess
import sys
from pathlib import Path

import pytest

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
