"""A study on a real SLURM of one node, where one is installed."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("dask_jobqueue")

SCRIPT = Path(__file__).parents[1] / "scripts" / "try_slurm.py"
#: The script's exit code when SLURM is not installed.
MISSING_STATUS = 3


def test_a_real_slurm_of_one_node_runs_a_study_and_refuses_a_partition():
    if shutil.which("sbatch") is None:
        pytest.skip("SLURM is not installed: apt-get install slurm-wlm munge")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "sweep", "partition"],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    if done.returncode == MISSING_STATUS:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split()[:2] for line in done.stdout.splitlines()[1:]] == [
        ["ok", "sweep"],
        ["ok", "partition"],
    ]
