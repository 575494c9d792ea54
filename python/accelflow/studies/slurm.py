"""The SLURM jobs whose workers simulate: which were refused, which wait, and which have ended.

dask-jobqueue submits and cancels the jobs, but does not watch them. If sbatch refuses a job,
dask-jobqueue prints a traceback and goes on, and it waits for jobs that have ended.
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

#: The states of squeue after which a job does not run again; one that is completing may.
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
#: The state of a job that squeue does not list, since it forgets jobs some minutes after their end.
_FORGOTTEN: Final = ("GONE", "")
_SQUEUE_S: Final = 20.0


class Jobs:
    """The SLURM jobs that run the workers of a Dask cluster, for ``--cluster slurm:N``."""

    def __init__(self, jobqueue: Any, where: str, workers: int, say: Callable[[str], None]) -> None:
        """Submit jobs for `workers` workers by `jobqueue`, the module ``dask_jobqueue``.

        `where` is the value of ``--cluster``, for messages, and `say` shows a line to the user.
        Raises AccelflowError if Dask's configuration lacks a setting, and if sbatch is missing.
        Refusals of sbatch come later: see :meth:`check`.
        """
        _check_settings(where)
        self._where, self._say = where, say
        self._said: set[str] = set()
        self._submitted: dict[str, str] = {}
        self._refusals: list[str] = []
        self.cluster = jobqueue.SLURMCluster(
            # Any port will do for Dask's page; Dask would warn if the usual one is taken.
            scheduler_options={"dashboard_address": ":0", **_setting("scheduler-options", {})},
            job_cls=_watched(jobqueue.slurm.SLURMJob, self._submitted, self._refusals),
        )
        self.cluster.scale(workers)

    def check(self) -> None:
        """Tell the user about refused jobs, and why jobs wait.

        Raises AccelflowError if SLURM refused all jobs, or all have ended.
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
    """Raise AccelflowError if a setting of Dask for SLURM's jobs, or sbatch, is missing."""
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
    """Return a subclass of dask-jobqueue's class `job` that stores the answers of sbatch.

    `submitted` gets the job's ID and its output file, and `refusals` the text of a refusal. `start`
    does not raise, since Dask would then print the traceback and lose the other jobs' IDs.
    """

    async def start(self: Any) -> None:
        try:
            await job.start(self)
        except (OSError, RuntimeError, ValueError) as error:
            refusals.append(_of_sbatch(str(error)))
            await super(jobs_of_dask, self).start()
        else:
            # Only strings are stored, since Dask expects that nothing else holds the jobs.
            output = f"slurm-{self.job_id}.out"
            if self.log_directory is not None:
                output = f"{self.log_directory}/{self.job_name or 'worker'}-{self.job_id}.err"
            submitted[self.job_id] = output

    jobs_of_dask = next(cls for cls in job.__mro__ if cls.__name__ == "Job")
    return type("WatchedJob", (job,), {"start": start})


def _of_sbatch(error: str) -> str:
    """Return the words of sbatch in dask-jobqueue's report on a command that failed."""
    _, _, said = error.partition("stderr:\n")
    lines = [line.removeprefix("sbatch: error: ").strip() for line in said.splitlines()]
    return "; ".join(line for line in lines if line) or " ".join(error.split())


def _squeue() -> dict[str, tuple[str, str]] | None:
    """Return state and reason of each of this user's jobs by ID; None if squeue fails."""
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
