"""Studies and searches on Dask: workers die, hang and differ, and results stay as they are."""

import itertools
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from accelflow import AccelflowError, InputError, studies
from accelflow.cli.find import find as find_command
from accelflow.cli.sweep import sweep as sweep_command
from accelflow.studies.batches import Batch
from accelflow.studies.cluster import on_cluster
from dask_cluster import Dask, wait_for_rows

distributed = pytest.importorskip("distributed")
dask_config = pytest.importorskip("dask").config

STUDY = """
schema = "accelflow.study/1"
[scenario]
services = ["UniqId"]
profile = "paper"
requests = 3000
slo_factor = 10
orchestrators = ["relief", "accelflow"]
[design]
seeds = 2
[axes]
"config.pes.TCP" = [2, 8]
rate_rps = { from = 1000, to = 20000, points = 3, scale = "log" }
"""

QUESTION = """
schema = "accelflow.study/1"
[scenario]
services = ["Login", "UniqId"]
profile = "paper"
requests = 3000
rate_rps = 60000
slo_factor = 5
[find]
least = "config.pes.TCP"
range = { from = 1, to = 8, whole = true }
most_seeds = 4
[find.limits]
p99_us = 250
"""


@pytest.fixture
def study_file(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def rows(place: Path) -> list[dict[str, object]]:
    return pq.read_table(place / "results.parquet").to_pylist()


@pytest.fixture
def dask(tmp_path: Path):
    found = Dask(tmp_path, workers=3)
    yield found
    found.stop()


IMPATIENT = """
import sys
from pathlib import Path
from accelflow import studies
from accelflow.studies.cluster import Patience, on_cluster

study = studies.read_study(sys.argv[1])
with on_cluster(sys.argv[3], Patience(factor=3.0, least_s=1.0)) as runner:
    print(studies.sweep(study, Path(sys.argv[2]), runner=runner).simulated)
"""


def test_workers_that_die_or_hang_change_nothing(study_file: Path, tmp_path: Path, dask: Dask):
    place = tmp_path / "out"
    running = subprocess.Popen(
        [sys.executable, "-c", IMPATIENT, str(study_file), str(place), dask.address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for_rows(place, 1, running)
    dask.workers[0].kill()
    os.kill(dask.workers[1].pid, signal.SIGSTOP)  # hangs, and the scheduler does not know
    out, err = running.communicate(timeout=120)
    assert running.returncode == 0, err
    assert out.strip() == "12"
    studies.sweep(studies.read_study(study_file), tmp_path / "here")
    assert rows(place) == rows(tmp_path / "here")


def test_a_lost_scheduler_ends_the_command_and_the_same_resumes(
    study_file: Path, tmp_path: Path, dask: Dask
):
    study_file.write_text(STUDY.replace("3000", "60000"))
    place = tmp_path / "out"
    command = [sys.executable, "-m", "accelflow", "sweep", str(study_file), "--out", str(place)]
    running = subprocess.Popen(
        [*command, "--cluster", dask.address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for_rows(place, 1, running)
    dask.scheduler.kill()
    _, err = running.communicate(timeout=120)
    assert running.returncode == 1
    assert err == (
        "accelflow: error: the connection to Dask's scheduler was lost. Completed simulations are "
        "kept; the same command resumes\n"
    )
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    known = int(done.stdout.partition(" were known")[0].split()[-1])
    assert known >= 1


@pytest.mark.parametrize(
    "case",
    [
        ("scheduler-connection-lost", "connection to Dask's scheduler was lost"),
        ("scheduler-restart", "Dask cancelled the simulations"),
    ],
)
def test_simulations_that_dask_cancels_end_the_command(
    study_file: Path,
    tmp_path: Path,
    dask: Dask,
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[str, str],
):
    """If the connection is lost during a wait, Dask cancels, too."""
    reason, message = case
    client = pytest.importorskip("distributed.client")

    def cancelled(*_: object, **__: object) -> None:
        error = client.FutureCancelledError("a", reason, "gone")
        raise client.FuturesCancelledError([client.CancelledFuturesGroup([error], reason)])

    study = studies.read_study(study_file)
    with on_cluster(dask.address) as runner:
        monkeypatch.setattr("distributed.wait", cancelled)
        with pytest.raises(AccelflowError, match=message):
            studies.sweep(study, tmp_path / "out", runner=runner)


@pytest.mark.parametrize(
    "case",
    [
        (OSError("Timed out trying to connect"), "connection to Dask's scheduler was lost"),
        (TimeoutError("No valid workers found"), "answered in time: No valid workers found. Comp"),
    ],
)
def test_a_call_of_dask_in_vain_ends_the_command(
    study_file: Path,
    tmp_path: Path,
    dask: Dask,
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[OSError, str],
):
    error, message = case

    def in_vain(*_: object, **__: object) -> None:
        raise error

    study = studies.read_study(study_file)
    with on_cluster(dask.address) as runner:
        monkeypatch.setattr("distributed.Client.nthreads", in_vain)
        with pytest.raises(AccelflowError, match=message):
            studies.sweep(study, tmp_path / "out", runner=runner)


def test_errors_of_the_batches_are_no_lost_connection(study_file: Path, tmp_path: Path, dask: Dask):
    def unreadable(batches: Iterable[Batch]) -> Iterator[Batch]:
        yield from itertools.islice(batches, 1)
        raise OSError("disk failed")

    study = studies.read_study(study_file)
    with on_cluster(dask.address) as run, pytest.raises(OSError, match="disk failed"):
        studies.sweep(
            study, tmp_path / "out", runner=lambda batches, limit: run(unreadable(batches), limit)
        )


def test_a_worker_with_other_code_is_refused(study_file: Path, tmp_path: Path, dask: Dask):
    code = IMPATIENT.replace(
        "study =", 'import accelflow.studies.cluster as c; c.code_version = lambda: "1"\nstudy ='
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(study_file), str(tmp_path / "out"), dask.address],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "has accelflow" in done.stderr
    assert "must be 1, as in this process" in done.stderr
    assert not (tmp_path / "out").exists()


OTHER_CODE = "import accelflow.studies.cluster as c; c.code_version = lambda: 'another'"


def test_a_worker_with_other_code_that_joins_later_is_refused(
    study_file: Path, tmp_path: Path, dask: Dask
):
    study, place = studies.read_study(study_file), tmp_path / "out"

    def replaced(_done: int, _total: int) -> None:
        for worker in dask.workers:
            worker.kill()
        if len(dask.workers) == 3:
            dask.workers.append(dask.worker(OTHER_CODE))

    with (
        on_cluster(dask.address) as runner,
        pytest.raises(AccelflowError, match=r"a worker has accelflow another: must be \d"),
    ):
        studies.sweep(study, place, runner=runner, progress=replaced)
    assert 0 < studies.sweep(study, place).known < 12


#: In place of SLURM's commands: the job's script runs here, at once.
SBATCH = """#!/bin/sh
cp "$1" "{folder}/job-$$.sh"
setsid sh "{folder}/job-$$.sh" >/dev/null 2>&1 &
echo $! >>{folder}/jobs
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
for job in "$@"; do echo "$job" >>{folder}/withdrawn; kill -- "-$job"; done
"""
REFUSE = """#!/bin/sh
echo "sbatch: error: invalid partition specified: fast" >&2
exit 1
"""
#: All jobs are in the state that the file `state` has.
SQUEUE = """#!/bin/sh
state=$(cat {folder}/state)
while read -r job; do echo "$job|$state|Resources"; done <{folder}/jobs
"""
IDLE_SBATCH = """#!/bin/sh
echo $$ >>{folder}/jobs
echo "Submitted batch job $$"
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put stand-ins for SLURM's commands, by name, in front of all others."""
    pytest.importorskip("dask_jobqueue")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("DASK_JOBQUEUE__SLURM__CORES", "1")
    monkeypatch.setenv("DASK_JOBQUEUE__SLURM__MEMORY", "1GB")
    monkeypatch.setenv("DASK_JOBQUEUE__SLURM__QUEUE", "fast")

    def install(**commands: str) -> None:
        for name, text in commands.items():
            (tmp_path / name).write_text(text.format(folder=tmp_path))
            (tmp_path / name).chmod(0o755)

    install(squeue="#!/bin/sh\nexit 1\n")
    return install


def on_slurm(study_file: Path, place: Path) -> subprocess.Popen[str]:
    arguments = ["sweep", str(study_file), "--out", str(place), "--cluster", "slurm:2"]
    return subprocess.Popen(
        [sys.executable, "-m", "accelflow", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def withdrawn_are_all(folder: Path) -> bool:
    jobs = (folder / "jobs").read_text().split()
    return sorted((folder / "withdrawn").read_text().split()) == sorted(jobs)


def test_jobs_of_slurm_are_workers(study_file: Path, tmp_path: Path, slurm):
    slurm(sbatch=SBATCH, scancel=SCANCEL)
    place = tmp_path / "out"
    running = on_slurm(study_file, place)
    _, err = running.communicate(timeout=120)
    assert running.returncode == 0, err
    jobs = [job.read_text() for job in tmp_path.glob("job-*.sh")]
    assert len(jobs) == 2
    assert all("#SBATCH -p fast" in job and "#SBATCH --cpus-per-task=1" in job for job in jobs)
    studies.sweep(studies.read_study(study_file), tmp_path / "here")
    assert rows(place) == rows(tmp_path / "here")
    assert withdrawn_are_all(tmp_path)


def test_ctrl_c_withdraws_the_jobs_of_slurm(study_file: Path, tmp_path: Path, slurm):
    slurm(sbatch=SBATCH, scancel=SCANCEL)
    study_file.write_text(STUDY.replace("requests = 3000", "requests = 100000"))
    running = on_slurm(study_file, tmp_path / "out")
    wait_for_rows(tmp_path / "out", 1, running)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=120)
    assert running.returncode == 130, err
    assert withdrawn_are_all(tmp_path)


IN_A_DESTRUCTOR = """
import signal
import sys
from pathlib import Path
from accelflow import studies
from accelflow.studies.cluster import on_cluster

class Interrupted:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def interrupted(batches):
    for number, batch in enumerate(batches):
        if number == 1:
            Interrupted()
        yield batch

study, place = studies.read_study(sys.argv[1]), Path(sys.argv[2])
with on_cluster(sys.argv[3]) as run:
    try:
        studies.sweep(study, place, runner=lambda batches, limit: run(interrupted(batches), limit))
    except KeyboardInterrupt:
        print("ended")
"""


def test_ctrl_c_that_a_destructor_swallows_ends_a_study(
    study_file: Path, tmp_path: Path, dask: Dask
):
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            IN_A_DESTRUCTOR,
            str(study_file),
            str(tmp_path / "out"),
            dask.address,
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "KeyboardInterrupt" in done.stderr  # Python says what the destructor swallowed
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr


def test_a_refusal_of_sbatch_ends_the_command(study_file: Path, tmp_path: Path, slurm):
    slurm(sbatch=REFUSE)
    running = on_slurm(study_file, tmp_path / "out")
    _, err = running.communicate(timeout=120)
    assert running.returncode == 1
    assert err == (
        "accelflow: error: --cluster slurm:2: sbatch refused: invalid partition specified: fast\n"
    )


def test_jobs_that_wait_and_that_have_ended_are_said(study_file: Path, tmp_path: Path, slurm):
    slurm(sbatch=IDLE_SBATCH, scancel="#!/bin/sh\n", squeue=SQUEUE)
    (tmp_path / "state").write_text("PENDING")
    running = on_slurm(study_file, tmp_path / "out")
    assert "slurm:2: waits for SLURM; jobs pending: 2 (Resources)" in running.stderr.readline()
    (tmp_path / "state").write_text("CANCELLED")
    _, err = running.communicate(timeout=120)
    assert running.returncode == 1
    assert "slurm:2: every job of SLURM has ended (2 CANCELLED); the output of one is in" in err


def test_missing_parts_of_slurm_are_reported(
    study_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    arguments = [str(study_file), "--out", str(tmp_path / "out"), "--cluster", "slurm:2"]
    monkeypatch.setitem(sys.modules, "dask_jobqueue", None)
    found = CliRunner().invoke(sweep_command, arguments)
    assert "pip install 'accelflow[slurm]'" in str(found.exception)
    monkeypatch.undo()
    pytest.importorskip("dask_jobqueue")
    found = CliRunner().invoke(sweep_command, arguments)
    assert "--cluster slurm:2: jobqueue.slurm.cores must be set" in str(found.exception)
    with dask_config.set({"jobqueue.slurm.cores": 1, "jobqueue.slurm.memory": "1GB"}):
        monkeypatch.setenv("PATH", str(tmp_path))
        found = CliRunner().invoke(sweep_command, arguments)
    assert isinstance(found.exception, AccelflowError)
    assert "--cluster slurm:2: SLURM's command sbatch is not found" in str(found.exception)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("local", "must be a scheduler's address (tcp://HOST:PORT), or local:N, slurm:N or"),
        ("local:0", "must be a scheduler's address"),
        ("slrum:4", "did you mean slurm:4?"),
        ("slrum:4", "--cluster = 'slrum:4': must be a scheduler's address"),
    ],
)
def test_clusters_are_checked(study_file: Path, tmp_path: Path, where: str, message: str):
    question = tmp_path / "question.toml"
    question.write_text(QUESTION)
    for command, file in ((sweep_command, study_file), (find_command, question)):
        arguments = [str(file), "--out", str(tmp_path / "out"), "--cluster", where]
        found = CliRunner().invoke(command, arguments)
        assert isinstance(found.exception, InputError)
        assert message in str(found.exception)
    both = CliRunner().invoke(command, [*arguments, "--workers", "2"])
    assert "--workers = 2: must be left out with --cluster" in str(both.exception)


def test_a_search_whose_worker_dies_finds_what_it_finds_here(tmp_path: Path, dask: Dask):
    question = tmp_path / "question.toml"
    question.write_text(QUESTION)
    place = tmp_path / "out"
    arguments = ["find", str(question), "--out", str(place), "--cluster", dask.address, "--json"]
    running = subprocess.Popen(
        [sys.executable, "-m", "accelflow", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for_rows(place, 2, running)
    for worker in dask.workers[:2]:
        worker.send_signal(signal.SIGKILL)
    out, err = running.communicate(timeout=120)
    assert running.returncode == 0, err
    here = studies.find(studies.read_question(question), tmp_path / "here")
    found = json.loads(out)
    assert found["ended"]
    assert found["best"] == here.best.to_dict()
    assert found["tried"] == [each.to_dict() for each in here.tried]
    assert rows(place) == rows(tmp_path / "here")


def test_local_workers_write_no_tracebacks_at_the_end() -> None:
    # A worker that replaces a dead one may lose its scheduler, and logs that as an error.
    with on_cluster("local:1"):
        heartbeat = logging.getLogger("distributed.worker")
        levels = distributed.get_client().run(heartbeat.getEffectiveLevel)
    assert all(level > logging.ERROR for level in levels.values())
    assert levels


def test_workers_that_cannot_begin_are_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_options: object) -> None:
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", fail)
    said = "--cluster local:2: cannot be started: Nanny failed to start. A script must start it"
    with pytest.raises(AccelflowError, match=said), on_cluster("local:2"):
        pass
