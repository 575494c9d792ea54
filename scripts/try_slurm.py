"""Tries `--cluster slurm:N` on a real SLURM of one node that this script sets up and takes down.

.venv/bin/python scripts/try_slurm.py          # all trials, about three minutes
.venv/bin/python scripts/try_slurm.py sweep    # only the named trials; --list names all

The script needs the packages slurmctld, slurmd, slurm-client and munge of Debian or Ubuntu. It
needs neither root nor a running SLURM: it has its own daemons, keys, ports and state, in a
temporary folder.
"""

# ruff: noqa: S603 (it runs SLURM's commands)

import argparse
import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from trials import (
    PATIENCE_S,
    STUDY,
    TrialError,
    expect,
    expect_equal_rows,
    expect_status,
    tried,
    until,
    write_studies,
)

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "scontrol", "sinfo", "squeue")
MISSING_STATUS = 3
CPUS = 2

CONFIGURATION = """
ClusterName=trial
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
SlurmUser={user}
SlurmdUser={user}
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SchedulerParameters=sched_interval=1,bf_interval=1
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=4000 State=UNKNOWN
PartitionName=batch Nodes=ALL Default=YES MaxTime=60 State=UP
"""


class Node:
    """A SLURM of one node with its own keys, ports and folder."""

    def __init__(self, place: Path) -> None:
        """Plan a node in the folder `place`; nothing runs yet."""
        self.place = place
        self._commands: list[subprocess.Popen[str]] = []
        self.environment = {
            **os.environ,
            "SLURM_CONF": str(place / "slurm.conf"),
            "DASK_JOBQUEUE__SLURM__CORES": "1",
            "DASK_JOBQUEUE__SLURM__MEMORY": "1GB",
            "DASK_JOBQUEUE__SLURM__QUEUE": "batch",
        }

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the daemons, and stop them and all jobs at the end."""
        (self.place / "munge.key").write_bytes(os.urandom(1_024))
        (self.place / "munge.key").chmod(0o600)
        (self.place / "slurm.conf").write_text(self._configuration())
        for name in ("spool", "state", "work"):
            (self.place / name).mkdir()
        with ExitStack() as stack:
            stack.enter_context(self._daemon("munged", *self._munge_options()))
            until((self.place / "munge.socket").exists, "munged listens", 20)
            stack.enter_context(self._daemon("slurmctld", "-D"))
            stack.enter_context(self._daemon("slurmd", "-D"))
            until(lambda: "idle" in self.said("sinfo", "-h", "-o", "%T"), "the node is idle", 60)
            stack.callback(self.end_all)
            yield

    def _configuration(self) -> str:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            second.bind(("127.0.0.1", 0))
            return CONFIGURATION.format(
                host=socket.gethostname().partition(".")[0],
                controller_port=first.getsockname()[1],
                node_port=second.getsockname()[1],
                user=getpass.getuser(),
                place=self.place,
                cpus=CPUS,
            )

    def _munge_options(self) -> list[str]:
        names = {"socket": "socket", "key-file": "key", "pid-file": "pid", "seed-file": "seed"}
        options = [f"--{option}={self.place}/munge.{name}" for option, name in names.items()]
        return ["--foreground", "--force", f"--log-file={self.place}/munge.log", *options]

    @contextmanager
    def _daemon(self, name: str, *arguments: str) -> Iterator[None]:
        with (self.place / f"{name}.log").open("w") as log:
            process = subprocess.Popen(
                [name, *arguments], env=self.environment, stdout=log, stderr=log
            )
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def said(self, *command: str) -> str:
        """Return the output of a command of SLURM."""
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False, timeout=60
        )
        return done.stdout + done.stderr

    def jobs(self, state: str = "PENDING,RUNNING,COMPLETING") -> list[str]:
        """Return the IDs of the jobs that are in one of the states `state`."""
        return self.said("squeue", "-h", "-o", "%A", "-t", state).split()

    def end_all(self) -> None:
        """End every command and job that still runs."""
        for command in self._commands:
            command.kill()
            command.communicate()
        self._commands.clear()
        if jobs := self.jobs():
            self.said("scancel", *jobs)
        until(lambda: not self.jobs(), "every job is gone", 60)

    def started(self, *arguments: str, **settings: str) -> subprocess.Popen[str]:
        """Start `accelflow` in the background, with `settings` of dask-jobqueue."""
        changed = {f"DASK_JOBQUEUE__SLURM__{name}": value for name, value in settings.items()}
        command = subprocess.Popen(
            [sys.executable, "-m", "accelflow", *arguments],
            env={**self.environment, **changed},
            cwd=self.place / "work",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._commands.append(command)
        return command


class Trials:
    """The trials on a node; results are compared with those of threads of this machine."""

    def __init__(self, node: Node) -> None:
        """Write the studies into the node's folder."""
        self.node, self.work = node, node.place / "work"
        write_studies(self.work)

    def sweep(self) -> str:
        """A sweep has the rows of a local run."""
        self._ends_well(self._begin("sweep", "study.toml"), "study.toml")
        return "rows as here"

    def find(self) -> str:
        """A search has the rows of a local run."""
        self._ends_well(self._begin("find", "question.toml"), "question.toml", "find")
        return "rows as here"

    def partition(self) -> str:
        """A partition that does not exist is refused by sbatch."""
        running = self._begin("sweep", "study.toml", QUEUE="fast")
        return self._fails(running, "sbatch refused: invalid partition specified: fast")

    def python(self) -> str:
        """Jobs that fail at once, as without Python on the node, end the command."""
        running = self._begin("sweep", "study.toml", PYTHON="/nowhere/python")
        return self._fails(running, "every job of SLURM has ended (2 FAILED)")

    def cancel_one(self) -> str:
        """The simulations of a job that is withdrawn go to the other one."""
        running = self._begin("sweep", "long.toml")
        self._wait_for_rows(running)
        self.node.said("scancel", self.node.jobs("RUNNING")[0])
        self._ends_well(running, "long.toml")
        return "rows as here"

    def cancel_all(self) -> str:
        """When every job is withdrawn, the command ends; the same command then resumes."""
        running = self._begin("sweep", "long.toml")
        self._wait_for_rows(running)
        self.node.said("scancel", *self.node.jobs())
        said = self._fails(running, "every job of SLURM has ended (2 CANCELLED)", emptied=False)
        self._ends_well(self._begin("sweep", "long.toml", kept=True), "long.toml")
        return said

    def kill_worker(self) -> str:
        """A worker that gets SIGKILL is started again by its job."""
        running = self._begin("sweep", "long.toml")
        self._wait_for_rows(running)
        os.kill(self._processes("spawn_main")[0], signal.SIGKILL)
        self._ends_well(running, "long.toml")
        return "rows as here"

    def kill_job(self) -> str:
        """A command survives that all processes of one job get SIGKILL, as when a node dies."""
        running = self._begin("sweep", "long.toml")
        self._wait_for_rows(running)
        self.node.said("scancel", "--full", "--signal=KILL", self.node.jobs("RUNNING")[0])
        self._ends_well(running, "long.toml")
        return "rows as here"

    def full_queue(self) -> str:
        """While other jobs occupy the node, the command says what it waits for."""
        self.node.said(
            "sbatch", f"--cpus-per-task={CPUS}", "--output=/dev/null", "--wrap=sleep 600"
        )
        running = self._begin("sweep", "study.toml")
        said = running.stderr.readline() if running.stderr else ""
        expect("waits for SLURM; jobs pending: 2 (" in said, "it says what it waits for", said)
        self.node.said("scancel", self.node.jobs("RUNNING")[0])
        self._ends_well(running, "study.toml")
        return said.strip()

    def interrupt(self) -> str:
        """Ctrl-C withdraws the jobs."""
        running = self._begin("sweep", "long.toml")
        self._wait_for_rows(running)
        running.send_signal(signal.SIGINT)
        expect_status(running, 130, PATIENCE_S)
        until(lambda: not self.node.jobs(), "jobs are withdrawn", 10)
        return "exit code 130, no job left"

    def kill_command(self) -> str:
        """Jobs end by themselves when the command is gone."""
        running = self._begin("sweep", "long.toml")
        self._wait_for_rows(running)
        running.kill()
        running.communicate()
        began_s = time.monotonic()
        until(lambda: not self.node.jobs(), "jobs end without the command", 120)
        return f"jobs end after {time.monotonic() - began_s:.0f} s"

    def walltime(self) -> str:
        """The command reports jobs that reach their walltime."""
        (self.work / "long.toml").write_text(STUDY.format(requests=3_000_000))
        running = self._begin("sweep", "long.toml", WALLTIME="00:01:00")
        try:
            return self._fails(running, "every job of SLURM has ended (2 TIMEOUT)", limit_s=240)
        finally:
            (self.work / "long.toml").write_text(STUDY.format(requests=60_000))

    def _begin(
        self, command: str, file: str, *, kept: bool = False, **settings: str
    ) -> subprocess.Popen[str]:
        if not kept:
            shutil.rmtree(self.work / "out", ignore_errors=True)
        arguments = (command, file, "--out", "out", "--cluster", f"slurm:{CPUS}")
        return self.node.started(*arguments, **settings)

    def _wait_for_rows(self, running: subprocess.Popen[str]) -> None:
        """Wait until both jobs run and the first rows are written."""

        def so_far() -> bool:
            expect(running.poll() is None, "the command runs")
            rows = next((self.work / "out").glob("rows/[!.]*.parquet"), None)
            return rows is not None and len(self.node.jobs("RUNNING")) == CPUS

        until(so_far, "rows come")

    def _processes(self, word: str) -> list[int]:
        """Return the IDs of the node's first job's processes whose command contains `word`."""
        listed = self.node.said("scontrol", "listpids", self.node.jobs("RUNNING")[0])
        numbers = [line.split()[0] for line in listed.splitlines()[1:]]
        files = {
            int(number): Path("/proc", number, "cmdline")
            for number in numbers
            if number.isdecimal()
        }
        return [each for each, file in files.items() if word in file.read_text()]

    def _ends_well(self, running: subprocess.Popen[str], file: str, command: str = "sweep") -> None:
        expect_status(running, 0, PATIENCE_S)
        here = self.work / f"here-{file}"
        if not here.exists():
            local = self.node.started(command, file, "--out", here.name)
            expect(local.wait(PATIENCE_S) == 0, "the local run ends well")
        expect_equal_rows(self.work / "out", here)
        until(lambda: not self.node.jobs(), "jobs are withdrawn", 20)

    def _fails(
        self,
        running: subprocess.Popen[str],
        message: str,
        *,
        emptied: bool = True,
        limit_s: float = PATIENCE_S,
    ) -> str:
        err = expect_status(running, 1, limit_s)
        last = err.splitlines()[-1] if err else ""
        expect(message in last and len(err.splitlines()) == 1, f"one line with: {message}", err)
        expect(not emptied or not list(self.work.glob("out/rows/*")), "no row is there")
        until(lambda: not self.node.jobs(), "no job is left", 20)
        return last


NAMES = [name for name in vars(Trials) if not name.startswith("_")]


def main() -> int:
    """Run the trials; return 0 if all succeed, 1 if one fails, 3 if SLURM does not run here."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trials", nargs="*", help=f"of: {', '.join(NAMES)}")
    parser.add_argument("--list", action="store_true", help="name the trials and end")
    chosen = parser.parse_args()
    for name in chosen.trials:
        if name not in NAMES:
            parser.error(f"{name}: must be one of {', '.join(NAMES)}")
    if chosen.list:
        for name in NAMES:
            print(f"{name:13}{getattr(Trials, name).__doc__}")
        return 0
    # Debian keeps daemons in folders that only root has in PATH.
    os.environ["PATH"] = f"{os.environ['PATH']}{os.pathsep}/usr/sbin{os.pathsep}/sbin"
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        print(f"not installed: {', '.join(missing)}; apt-get install slurm-wlm munge")
        return MISSING_STATUS
    with tempfile.TemporaryDirectory(prefix="accelflow-slurm-") as folder:
        Path(folder).chmod(0o755)  # munge refuses a socket that others cannot reach
        node = Node(Path(folder))
        with ExitStack() as stack:
            try:
                stack.enter_context(node.running())
            except TrialError as error:
                print(f"SLURM does not start here: {error}")
                return MISSING_STATUS
            print(node.said("sinfo", "--version").strip(), flush=True)
            trials, names = Trials(node), chosen.trials or NAMES
            failed = [name for name in names if not tried(trials, name, node.end_all)]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
