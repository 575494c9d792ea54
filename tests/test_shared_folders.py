"""Several processes write to one folder: no result is lost, and no two experiments are mixed."""

import errno
import json
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

import pyarrow.parquet as pq
import pytest

from accelflow import files
from accelflow.cli import main
from accelflow.files import alone_in, free_suffix
from processes import running

#: A comparison that is simulated in a moment.
COMPARE = (
    *("compare", "socialnetwork", "--profile", "paper", "--requests", "100"),
    *("--orchestrator", "accelflow", "--service", "UniqId"),
)

#: Commands that choose names for their results, and the first name of one file.
COMMANDS = [(COMPARE, "compare-socialnetwork"), (("reproduce", "table4"), "table4")]

#: Writes the numbers of its process beside the others' with :func:`alone_in`.
WRITER = """
import sys
from pathlib import Path
from accelflow.files import alone_in, free_suffix

folder, mine = Path(sys.argv[1]), sys.argv[2]
for _ in range(20):
    with alone_in(folder):
        suffix = free_suffix(lambda suffix: (folder / f"a{suffix}").exists())
        for name in ("a", "b"):
            (folder / f"{name}{suffix}").write_text(mine, encoding="utf-8")
"""


def test_comparisons_at_the_same_time_keep_all_their_results(tmp_path: Path) -> None:
    seeds = range(1, 6)
    command = (sys.executable, "-m", "accelflow", *COMPARE, "--out", str(tmp_path), "--seed")
    with ExitStack() as started:
        processes = [
            started.enter_context(
                running([*command, str(seed)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            )
            for seed in seeds
        ]
        ended = [(process.communicate()[1], process.returncode) for process in processes]
    assert [code for _, code in ended] == [0] * 5, ended
    stems = {path.stem for path in tmp_path.iterdir()}
    numbered = {f"compare-socialnetwork-{number}" for number in range(2, 6)}
    assert stems == {"compare-socialnetwork", *numbered}
    found = [json.loads((tmp_path / f"{stem}.json").read_text())["seed"] for stem in sorted(stems)]
    assert sorted(found) == list(seeds)
    for stem, seed in zip(sorted(stems), found, strict=True):
        assert set(pq.read_table(tmp_path / f"{stem}.parquet")["seed"].to_pylist()) == {seed}
        assert (tmp_path / f"{stem}.png").exists()


@pytest.mark.parametrize(("command", "name"), COMMANDS)
def test_names_are_chosen_when_no_other_process_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], name: str
) -> None:
    theirs, take = tmp_path / f"{name}.json", files.take_lock

    def take_late(file: TextIO, *, wait: bool) -> bool:
        theirs.write_text("{}", encoding="utf-8")  # by the process that had the lock until now
        return take(file, wait=wait)

    monkeypatch.setattr(files, "take_lock", take_late)
    with pytest.raises(SystemExit) as ended:
        main([*command, "--out", str(tmp_path)])
    assert ended.value.code == 0
    assert theirs.read_text(encoding="utf-8") == "{}"
    assert (tmp_path / f"{name}-2.json").exists()


def test_each_process_gets_its_own_names(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "results"
    command = (sys.executable, "-c", WRITER, str(folder))
    with ExitStack() as started:
        processes = [started.enter_context(running([*command, str(number)])) for number in range(4)]
        assert [process.wait() for process in processes] == [0] * 4
    written = {path.name: path.read_text() for path in folder.iterdir()}
    assert len(written) == 2 * 4 * 20
    firsts = [name for name in written if name.startswith("a")]
    assert all(written[name] == written[f"b{name[1:]}"] for name in firsts)


def test_a_folder_is_free_again_after_an_error_and_keeps_no_lock(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(ArithmeticError), alone_in(tmp_path):
            raise ArithmeticError
        assert list(tmp_path.iterdir()) == []


def test_threads_of_one_process_wait_for_each_other_too(tmp_path: Path) -> None:
    suffixes = []

    def write() -> None:
        with alone_in(tmp_path):
            suffix = free_suffix(lambda suffix: (tmp_path / f"a{suffix}").exists())
            (tmp_path / f"a{suffix}").touch()
            suffixes.append(suffix)

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(suffixes) == ["", *(f"-{number}" for number in range(2, 9))]


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_without_locks_nobody_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fails(*_: object) -> None:
        raise OSError(number, "no locks")

    monkeypatch.setattr(files.fcntl, "flock", fails)
    with alone_in(tmp_path / "new"):
        (tmp_path / "new" / "result").write_text("1", encoding="utf-8")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["result"]


def test_a_process_that_waits_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    take = files.take_lock

    def held(file: TextIO, *, wait: bool) -> bool:
        return take(file, wait=wait) if wait else False

    monkeypatch.setattr(files, "take_lock", held)
    with alone_in(tmp_path):
        pass
    said = f"waiting for another process that writes to {tmp_path}\n"
    assert capsys.readouterr().err == said
    assert not list(tmp_path.iterdir())


def test_the_file_of_a_process_that_was_killed_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / files.LOCK).touch(mode=0o444)
    with alone_in(tmp_path):
        pass
    assert not list(tmp_path.iterdir())
