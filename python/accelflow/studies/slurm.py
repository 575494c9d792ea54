"""Watch the SLURM jobs whose workers simulate: what sbatch refuses, what waits, what has ended.

dask-jobqueue submits and cancels the jobs, but does not watch them: if sbatch refuses one, it
prints a traceback and goes on, and it waits for jobs that have ended.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from accelflow.errors import AccelflowError

__all__ = ["Jobs"]

#: States of squeue after which a job does not come back. A completing one may be queued again.
_ENDED: Final = frozenset(
    (
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "REVOKED",
        "TIMEOUT",
    )
)
#: squeue forgets a job some minutes after its end.
_FORGOTTEN: Final = ("GONE", "")
_SQUEUE_S: Final = 20.0


class Jobs:
    """The SLURM jobs of ``--cluster slurm:N``, and the Dask cluster whose workers they run."""

    def __init__(self, jobqueue: Any, where: str, workers: int, say: Callable[[str], None]) -> None:
        """Submit jobs of dask-jobqueue (`jobqueue`) until they have `workers`.

        `where` is how users asked for them, and `say` shows a line. Raises AccelflowError if Dask's
        configuration lacks something, and without sbatch. sbatch answers later: :meth:`check`.
        """
        _check_settings(where)
        self._where, self._say = where, say
        self._said: set[str] = set()
        self._submitted: dict[str, str] = {}
        self._refusals: list[str] = []
        self.cluster = jobqueue.SLURMCluster(
            # Dask warns when its page's usual port is taken, as by another command on this machine.
            scheduler_options={"dashboard_address": ":0", **_setting("scheduler-options", {})},
            job_cls=_watched(jobqueue.slurm.SLURMJob, self._submitted, self._refusals),
        )
        self.cluster.scale(workers)

    def check(self) -> None:
        """Report what the jobs wait for.

        Raises AccelflowError if SLURM refused all of them, or all have ended.
        """
        asked = len(self.cluster.worker_spec)
        if self._refusals and len(self._refusals) < asked:
            self._say_once(f"sbatch refused {len(self._refusals)} of {asked} jobs: {self._reason}")
        elif self._refusals:
            raise AccelflowError(f"--cluster {self._where}: sbatch refused: {self._reason}")
        found = _squeue()
        if found is None or len(self._refusals) + len(self._submitted) < asked:
            return
        states = [found.get(job, _FORGOTTEN) for job in self._submitted]
        if all(state in _ENDED or state == "GONE" for state, _ in states):
            raise AccelflowError(self._all_ended(states))
        reasons = sorted({reason for state, reason in states if state == "PENDING"})
        if reasons and not any(state == "RUNNING" for state, _ in states):
            count = sum(state == "PENDING" for state, _ in states)
            self._say_once(f"waits for SLURM; jobs pending: {count} ({', '.join(reasons)})")

    @property
    def _reason(self) -> str:
        return "; ".join(dict.fromkeys(self._refusals))

    def _say_once(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            self._say(f"--cluster {self._where}: {line}")

    def _all_ended(self, states: list[tuple[str, str]]) -> str:
        counts = Counter(state for state, _ in states)
        said = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
        return (
            f"--cluster {self._where}: every job of SLURM has ended ({said}); the output of one is "
            f"in {list(self._submitted.values())[-1]}. Completed simulations are kept; the same "
            "command resumes"
        )


def _check_settings(where: str) -> None:
    """Raise AccelflowError for what SLURM's jobs need and is not there."""
    for setting in ("cores", "memory"):
        if _setting(setting) is None:
            raise AccelflowError(
                f"--cluster {where}: jobqueue.slurm.{setting} must be set in Dask's configuration "
                "(~/.config/dask/jobqueue.yaml)"
            )
    if shutil.which("sbatch") is None:
        raise AccelflowError(f"--cluster {where}: SLURM's command sbatch is not found here")


def _setting(name: str, default: Any = None) -> Any:
    import dask.config  # noqa: PLC0415 (an extra)

    return dask.config.get(f"jobqueue.slurm.{name}", default)


def _watched(job: Any, submitted: dict[str, str], refusals: list[str]) -> Any:
    """The class `job` of dask-jobqueue that also keeps what sbatch answers.

    `submitted` gets the job's number and its file of output, `refusals` the text of a refusal. Its
    `start` does not raise: Dask would print the traceback and lose the other jobs' numbers.
    """

    async def start(self: Any) -> None:
        try:
            await job.start(self)
        except (OSError, RuntimeError, ValueError) as error:
            refusals.append(_of_sbatch(str(error)))
            await super(jobs_of_dask, self).start()
        else:
            # Dask expects that nothing but itself holds the jobs.
            output = f"slurm-{self.job_id}.out"
            if self.log_directory is not None:
                output = f"{self.log_directory}/{self.job_name or 'worker'}-{self.job_id}.err"
            submitted[self.job_id] = output

    jobs_of_dask = next(cls for cls in job.__mro__ if cls.__name__ == "Job")
    return type("WatchedJob", (job,), {"start": start})


def _of_sbatch(error: str) -> str:
    """What sbatch said, out of the report of dask-jobqueue on a command that failed."""
    _, _, said = error.partition("stderr:\n")
    lines = [line.removeprefix("sbatch: error: ").strip() for line in said.splitlines()]
    return "; ".join(line for line in lines if line) or " ".join(error.split())


def _squeue() -> dict[str, tuple[str, str]] | None:
    """State and reason of each of this user's jobs, None if squeue does not answer."""
    command = ["squeue", "--noheader", "--states=all", f"--user={os.getuid()}"]
    try:
        done = subprocess.run(  # noqa: S603 (no input in it)
            [*command, "--format=%A|%T|%r"],
            capture_output=True,
            text=True,
            check=False,
            timeout=_SQUEUE_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    fields = (line.strip().split("|", 2) for line in done.stdout.splitlines())
    return {row[0]: (row[1], row[2]) for row in fields if len(row) == 3}
