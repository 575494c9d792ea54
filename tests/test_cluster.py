"""Studies and searches on Dask: workers die, hang and differ, and results stay as they are."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from accelflow import InputError, studies
from accelflow.cli.find import find as find_command
from accelflow.cli.sweep import sweep as sweep_command
from dask_cluster import Dask, wait_for_rows

pytest.importorskip("distributed")

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
    assert "must be 1, as here" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("local", "must be a scheduler's address, local:N, slurm:N or kubernetes:N"),
        ("local:0", "must be a scheduler's address"),
        ("slrum:4", "did you mean slurm"),
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
    assert "--workers: must be left out with --cluster" in str(both.exception)


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
    assert found["tried"] == [one.to_dict() for one in here.tried]
    assert rows(place) == rows(tmp_path / "here")
