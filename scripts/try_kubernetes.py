"""Tries `--cluster kubernetes:N` on a real Kubernetes of one node that this script sets up.

sudo .venv/bin/python scripts/try_kubernetes.py WHEEL          # all trials, about six minutes
sudo .venv/bin/python scripts/try_kubernetes.py WHEEL sweep    # only the named trials

WHEEL is a wheel of accelflow (`scripts/wheel build`). The script needs root, Go, and Debian's
packages etcd-server, containerd, runc, containernetworking-plugins, iptables, debootstrap and
openssl. The first run builds Kubernetes and CoreDNS from their Go modules and installs Debian for
the container image, about fifteen minutes, in `target/kubernetes`. Daemons, pods, network and keys
are its own, and are removed at the end.
"""

# ruff: noqa: S603 (it runs commands)

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kubernetes_parts import image, operator, programs
from kubernetes_parts.node import Node
from trials import (
    PATIENCE_S,
    TrialError,
    expect,
    expect_equal_rows,
    expect_status,
    tried,
    until,
    write_studies,
)

NEEDED = ("etcd", "containerd", "ctr", "runc", "iptables", "debootstrap", "openssl", "ip", "go")
MISSING_STATUS = 3
WORKERS = 2
PACKAGES = ("dask-kubernetes==2026.3.0", "distributed==2026.8.0")
PODS = "/api/v1/namespaces/default/pods"
CLUSTERS = "/apis/kubernetes.dask.org/v1/namespaces/default/daskclusters"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
OPERATOR = "/apis/apps/v1/namespaces/default/deployments/dask-operator"


class Trials:
    """The trials on a node; results are compared with those of threads of this machine."""

    def __init__(self, node: Node, python: Path) -> None:
        """Write the studies into the node's folder; `python` runs accelflow."""
        self.node, self._python = node, python
        self.work = node.run / "work"
        self.work.mkdir(exist_ok=True)
        write_studies(self.work)
        self._commands: list[subprocess.Popen[str]] = []

    def sweep(self) -> str:
        """A sweep has the rows of a local run."""
        self._ends_well(self._begin("sweep", "study.toml"), "study.toml")
        return "rows as here"

    def find(self) -> str:
        """A search has the rows of a local run."""
        self._ends_well(self._begin("find", "question.toml"), "question.toml", "find")
        return "rows as here"

    def image(self) -> str:
        """An image that does not exist ends the command with one message."""
        running = self._begin("sweep", "study.toml", IMAGE="localhost/nothing:1")
        said = self._fails(running, "the pod of the scheduler fails (1 ImagePullBackOff")
        return said.partition(": Back-off")[0]

    def command(self) -> str:
        """Workers that end at once, as with an option that Dask lacks, end the command."""
        running = self._begin("sweep", "study.toml", WORKER_COMMAND="dask-worker --nothing")
        return self._fails(running, "every pod fails (2 CrashLoopBackOff", 180).partition(": b")[0]

    def resources(self) -> str:
        """While no node has the CPUs for a pod, the command says why it waits."""
        running = self._begin("sweep", "study.toml", RESOURCES='{"requests": {"cpu": "64"}}')
        said = self._line(running)
        expect("pods pending: 1 (Unschedulable: 0/1 nodes are available" in said, "why", said)
        running.send_signal(signal.SIGINT)
        expect_status(running, 130, PATIENCE_S)
        self._nothing_left()
        return said.strip()

    def quota(self) -> str:
        """While a quota allows no workers, the command says so, and then goes on."""
        quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "2"}}}
        self.node.asked(QUOTAS, "POST", quota)
        running = self._begin("sweep", "study.toml")
        said = self._line(running)
        self.node.asked(f"{QUOTAS}/few", "DELETE")
        expect("(FailedCreate: " in said and "exceeded quota: few" in said, "the quota", said)
        self._ends_well(running, "study.toml")
        return said.strip()

    def operator(self) -> str:
        """Without an operator, the command ends with one message."""
        self._scale_operator(0)
        try:
            running = self._begin("sweep", "study.toml", RESOURCE_TIMEOUT="10")
            return self._fails(running, "does it run in Kubernetes?", left=True)
        finally:
            self._scale_operator(1)

    def kill_worker(self) -> str:
        """The simulations of a worker that is killed go to the other one."""
        running = self._begin("sweep", "long.toml")
        self._wait_for_rows(running)
        self._delete(self._pods("worker")[0])
        self._ends_well(running, "long.toml")
        return "rows as here"

    def kill_workers(self) -> str:
        """The command survives that all workers are killed; Kubernetes starts new ones."""
        running = self._begin("sweep", "long.toml")
        self._wait_for_rows(running)
        for name in self._pods("worker"):
            self._delete(name)
        self._ends_well(running, "long.toml", limit_s=180)
        return "rows as here"

    def kill_scheduler(self) -> str:
        """When the scheduler is killed, the command ends; the same command then resumes."""
        running = self._begin("sweep", "long.toml")
        self._wait_for_rows(running)
        self._delete(self._pods("scheduler")[0])
        said = self._fails(running, "the same command resumes", 180)
        self._ends_well(self._begin("sweep", "long.toml", kept=True), "long.toml")
        return said

    def delete(self) -> str:
        """When the Dask cluster is deleted, the command ends."""
        running = self._begin("sweep", "long.toml")
        self._wait_for_rows(running)
        name = self.node.asked(CLUSTERS)["items"][0]["metadata"]["name"]
        self.node.asked(f"{CLUSTERS}/{name}", "DELETE")
        return self._fails(running, "the same command resumes", 180)

    def interrupt(self) -> str:
        """Ctrl-C deletes the pods."""
        running = self._begin("sweep", "long.toml")
        self._wait_for_rows(running)
        running.send_signal(signal.SIGINT)
        expect_status(running, 130, PATIENCE_S)
        self._nothing_left()
        return "exit code 130, no pod left"

    def kill_command(self) -> str:
        """The operator deletes the pods of a killed command, after the idle timeout."""
        running = self._begin("sweep", "long.toml", IDLE_TIMEOUT="40")
        self._wait_for_rows(running)
        running.kill()
        running.communicate()
        began_s = time.monotonic()
        until(lambda: not self.node.asked(CLUSTERS)["items"], "the Dask cluster is deleted", 180)
        return f"deleted after {time.monotonic() - began_s:.0f} s"

    def _begin(
        self, command: str, file: str, *, kept: bool = False, **settings: str
    ) -> subprocess.Popen[str]:
        if not kept:
            shutil.rmtree(self.work / "out", ignore_errors=True)
        cluster = ("--cluster", f"kubernetes:{WORKERS}")
        return self._started(command, file, "--out", "out", *cluster, **settings)

    def _started(self, *arguments: str, **settings: str) -> subprocess.Popen[str]:
        """Start accelflow in the background, with `settings` of dask-kubernetes."""
        changed = {f"DASK_KUBERNETES__{name}": value for name, value in settings.items()}
        environment = {
            **os.environ,
            "DASK_KUBERNETES__IMAGE": image.NAME,
            "KUBECONFIG": str(self.node.kubeconfig),
            # The image's Python may be another patch version, of which Dask warns.
            "PYTHONWARNINGS": "ignore:Mismatched versions",
            **changed,
        }
        command = subprocess.Popen(
            [self._python, "-m", "accelflow", *arguments],
            env=environment,
            cwd=self.work,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._commands.append(command)
        return command

    def _line(self, running: subprocess.Popen[str]) -> str:
        return running.stderr.readline() if running.stderr else ""

    def _pods(self, component: str) -> list[str]:
        """Return the names of the running pods of a component of the Dask cluster."""
        selection = f"?labelSelector=dask.org/component={component}"
        pods = self.node.asked(PODS + selection)["items"]
        return [pod["metadata"]["name"] for pod in pods if pod["status"]["phase"] == "Running"]

    def _delete(self, pod: str) -> None:
        self.node.asked(f"{PODS}/{pod}?gracePeriodSeconds=0", "DELETE")

    def _scale_operator(self, replicas: int) -> None:
        self.node.asked(OPERATOR, "PATCH", {"spec": {"replicas": replicas}})

        def is_there() -> bool:
            status = self.node.asked(OPERATOR)["status"]
            return int(status.get("readyReplicas", 0)) == replicas

        until(is_there, f"there are {replicas} operators")

    def _wait_for_rows(self, running: subprocess.Popen[str]) -> None:
        """Wait until all workers run and the first rows are written."""

        def so_far() -> bool:
            if running.poll() is not None:
                expect(False, "the command runs", *running.communicate())
            rows = next((self.work / "out").glob("rows/[!.]*.parquet"), None)
            return rows is not None and len(self._pods("worker")) == WORKERS

        until(so_far, "rows come")

    def _ends_well(
        self,
        running: subprocess.Popen[str],
        file: str,
        command: str = "sweep",
        limit_s: float = PATIENCE_S,
    ) -> None:
        expect_status(running, 0, limit_s)
        here = self.work / f"here-{file}"
        if not here.exists():
            local = self._started(command, file, "--out", here.name)
            expect(local.wait(PATIENCE_S) == 0, "the local run ends well")
        expect_equal_rows(self.work / "out", here)
        self._nothing_left()

    def _fails(
        self,
        running: subprocess.Popen[str],
        message: str,
        limit_s: float = PATIENCE_S,
        *,
        left: bool = False,
    ) -> str:
        err = expect_status(running, 1, limit_s)
        last = err.splitlines()[-1] if err else ""
        expect(message in last, f"one line with: {message}", err)
        expect("Traceback" not in err, "no traceback", err)
        if not left:
            self._nothing_left()
        return last

    def _nothing_left(self) -> None:
        def is_empty() -> bool:
            pods = self.node.asked(f"{PODS}?labelSelector=dask.org/cluster-name")["items"]
            return not self.node.asked(CLUSTERS)["items"] + pods

        until(is_empty, "no pod is left")

    def _end_all(self) -> None:
        """End every command and Dask cluster that still runs."""
        for command in self._commands:
            command.kill()
            command.communicate()
        self._commands.clear()
        self.node.asked(CLUSTERS, "DELETE")
        self._nothing_left()


NAMES = [name for name in vars(Trials) if not name.startswith("_")]


def main() -> int:
    """Run the trials; return 0 if all succeed, 1 if one fails, 3 if a program is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path, help="a wheel of accelflow")
    parser.add_argument("trials", nargs="*", help=f"of: {', '.join(NAMES)}")
    parser.add_argument("--place", type=Path, default=Path("target/kubernetes"), help="for builds")
    chosen = parser.parse_args()
    for name in chosen.trials:
        if name not in NAMES:
            parser.error(f"{name}: must be one of {', '.join(NAMES)}")
    if not chosen.wheel.is_file():
        parser.error(f"{chosen.wheel}: there is no such file")
    os.environ["PATH"] = f"{os.environ['PATH']}{os.pathsep}/usr/sbin{os.pathsep}/sbin"
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        print(f"needs root and: {', '.join(NEEDED)}; missing: {', '.join(missing) or 'root'}")
        return MISSING_STATUS
    # A shell starts background commands without Ctrl-C, which the trials' commands would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with ExitStack() as stack:
        place, wheel = chosen.place.resolve(), chosen.wheel.resolve()
        try:
            node, python = stack.enter_context(running(place, wheel))
        except (TrialError, subprocess.CalledProcessError) as error:
            print(f"Kubernetes does not start here: {error}")
            return MISSING_STATUS
        names = chosen.trials or NAMES
        trials = Trials(node, python)
        failed = [name for name in names if not tried(trials, name, trials._end_all)]
    return 1 if failed else 0


@contextmanager
def running(place: Path, wheel: Path) -> Iterator[tuple[Node, Path]]:
    """Run a Kubernetes with the operator; yield the node, and the Python that has the wheel."""
    place.mkdir(parents=True, exist_ok=True)
    built = programs.built(place)
    environment = place / "environment"
    python = environment / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *PACKAGES, wheel], check=True)
    subprocess.run([*pip, "--no-deps", "--force-reinstall", wheel], check=True)
    packages = next(environment.glob("lib/python3.*/site-packages"))
    archive = image.built(place, packages)
    with ExitStack() as stack:
        run = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="accelflow-kubernetes-")))
        node = Node(place, run, built)
        stack.enter_context(node.running(archive))
        operator.install(node, packages)
        print(f"Kubernetes {programs.KUBERNETES}, {', '.join(PACKAGES)}", flush=True)
        yield node, python


if __name__ == "__main__":
    sys.exit(main())
