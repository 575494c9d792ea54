"""Kubernetes's pods: why they wait, which end a command, and what is deleted then.

The pods are written down here as Kubernetes's API reports them. `scripts/try_kubernetes.py` tries
the same on a real Kubernetes.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner

from accelflow import AccelflowError, InputError
from accelflow.cli.sweep import sweep as sweep_command
from accelflow.studies import kubernetes
from accelflow.studies.kubernetes import Pods

dask_config = pytest.importorskip("dask").config

Raw = dict[str, Any]
WHERE = "kubernetes:2"


def pod(component: str, phase: str = "Running", **status: Any) -> Raw:
    labels = {"dask.org/component": component}
    return {"metadata": {"labels": labels}, "status": {"phase": phase, **status}}


def waiting(component: str, reason: str, message: str = "", restarts: int = 0) -> Raw:
    state = {"waiting": {"reason": reason, "message": message}}
    statuses = [{"state": state, "restartCount": restarts}]
    return pod(component, "Pending", containerStatuses=statuses)


SCHEDULER = pod("scheduler", containerStatuses=[{"state": {"running": {}}, "restartCount": 0}])
DEPLOYMENT: Raw = {"status": {}}
UNSCHEDULABLE = pod(
    "worker",
    "Pending",
    conditions=[
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/1 nodes are available: 1 Insufficient cpu.",
        }
    ],
)
QUOTA: Raw = {
    "status": {
        "conditions": [
            {
                "type": "ReplicaFailure",
                "status": "True",
                "reason": "FailedCreate",
                "message": "exceeded quota: few",
            }
        ]
    }
}


class Kr8s:
    """What kr8s.asyncio answers: the given pods and deployments."""

    def __init__(self, pods: list[Raw], deployments: list[Raw]) -> None:
        self.found = {"pods": pods, "deployments": deployments}

    async def get(
        self, kind: str, *, namespace: str, label_selector: str
    ) -> AsyncIterator[SimpleNamespace]:
        assert (namespace, label_selector) == ("default", "dask.org/cluster-name=it")
        for raw in self.found[kind]:
            yield SimpleNamespace(raw=raw)


class KubeCluster:
    """Like dask-kubernetes's class, it starts when it is made and waits for its scheduler."""

    made: ClassVar["list[KubeCluster]"] = []
    starts = True

    def __init__(self, *, quiet: bool, idle_timeout: int) -> None:
        assert quiet
        self.name, self.namespace, self.shutdown_on_close = "it", "default", True
        self.idle_timeout, self.closed, self.workers = idle_timeout, False, 0
        self._resource_timeout = 0.05
        self.made.append(self)
        asyncio.run(self._start())

    async def _start(self) -> None:
        await self._wait_for_controller()
        while not self.starts:
            await asyncio.sleep(0.01)

    async def _wait_for_controller(self) -> None:
        raise AssertionError("the phase of the Dask cluster is not reliable")

    async def _close(self) -> None:
        self.closed = True

    def scale(self, workers: int) -> None:
        self.workers = workers

    def sync(self, function: Callable[..., Any], *arguments: Any) -> None:
        asyncio.run(function(*arguments))


@pytest.fixture
def operator(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(kubernetes, "_LOOK_S", 0.01)
    monkeypatch.setattr(KubeCluster, "made", [])
    monkeypatch.setattr(KubeCluster, "starts", True)
    return SimpleNamespace(KubeCluster=KubeCluster)


def started(operator: Any, pods: list[Raw], deployments: list[Raw]) -> tuple[Pods, Kr8s, list[str]]:
    kr8s, said = Kr8s(pods, deployments), list[str]()
    return Pods(operator, kr8s, WHERE, 2, said.append), kr8s, said


def test_a_cluster_has_the_workers_and_ends_when_its_command_is_gone(operator: Any) -> None:
    found, _, said = started(operator, [SCHEDULER, pod("worker"), pod("worker")], [DEPLOYMENT])
    found.check()
    assert found.cluster.workers == 2
    assert found.cluster.idle_timeout == 3_600
    assert not said


def test_the_idle_timeout_is_that_of_dask_s_configuration(operator: Any) -> None:
    with dask_config.set({"kubernetes.idle-timeout": 40}):
        found, _, _ = started(operator, [SCHEDULER], [DEPLOYMENT])
    assert found.cluster.idle_timeout == 40
    with (
        dask_config.set({"kubernetes.idle-timeout": "soon"}),
        pytest.raises(InputError, match=r"idle-timeout .* = 'soon': must be a whole number from 0"),
    ):
        started(operator, [SCHEDULER], [DEPLOYMENT])


@pytest.mark.parametrize(
    ("workers", "deployments", "reason"),
    [
        (
            [UNSCHEDULABLE, UNSCHEDULABLE],
            [DEPLOYMENT],
            "2 (Unschedulable: 0/1 nodes are available: 1 Insufficient cpu)",
        ),
        ([], [DEPLOYMENT, QUOTA, QUOTA], "2 (FailedCreate: exceeded quota: few)"),
        ([waiting("worker", "ErrImagePull", "no such host")], [DEPLOYMENT], "1 (ErrImagePull:"),
        # It may start at its next restart, such as when the scheduler was away.
        ([waiting("worker", "CrashLoopBackOff", restarts=2)], [DEPLOYMENT], "1 (CrashLoopBackOff"),
    ],
)
def test_a_line_says_why_pods_wait_once(
    operator: Any, workers: list[Raw], deployments: list[Raw], reason: str
) -> None:
    found, _, said = started(operator, [SCHEDULER, *workers], deployments)
    found.check()
    found.check()
    assert len(said) == 1
    assert f"--cluster {WHERE}: waits for Kubernetes; pods pending: {reason}" in said[0]


def test_nothing_is_said_while_a_worker_runs_or_containers_are_created(operator: Any) -> None:
    found, kr8s, said = started(operator, [SCHEDULER, UNSCHEDULABLE, pod("worker")], [DEPLOYMENT])
    found.check()
    kr8s.found["pods"] = [SCHEDULER, waiting("worker", "ContainerCreating")]
    found.check()
    assert not said


@pytest.mark.parametrize(
    ("workers", "reason"),
    [
        ([waiting("worker", "ImagePullBackOff", "no such image")] * 2, "2 ImagePullBackOff: no su"),
        ([waiting("worker", "CrashLoopBackOff", restarts=3)], "1 CrashLoopBackOff"),
        ([pod("worker", "Failed", reason="Evicted", message="no memory")], "1 Evicted: no memory"),
    ],
)
def test_pods_that_cannot_run_end_the_command(
    operator: Any, workers: list[Raw], reason: str
) -> None:
    found, _, _ = started(operator, [SCHEDULER, *workers], [DEPLOYMENT])
    with pytest.raises(AccelflowError, match="the same command resumes") as raised:
        found.check()
    assert f"--cluster {WHERE}: every pod fails ({reason}" in str(raised.value)


def test_a_pod_that_can_run_again_is_waited_for(operator: Any) -> None:
    broken = waiting("worker", "ImagePullBackOff")
    found, kr8s, _ = started(operator, [SCHEDULER, broken, UNSCHEDULABLE], [DEPLOYMENT])
    found.check()
    kr8s.found["pods"] = [SCHEDULER, pod("worker"), broken]
    found.check()


def test_a_scheduler_that_cannot_run_ends_the_command_and_is_deleted(
    operator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KubeCluster, "starts", False)
    with pytest.raises(AccelflowError, match="the pod of the scheduler fails"):
        started(operator, [waiting("scheduler", "InvalidImageName")], [DEPLOYMENT])
    assert KubeCluster.made[0].closed
    assert not KubeCluster.made[0].shutdown_on_close


def test_a_pod_that_is_being_deleted_says_nothing(operator: Any) -> None:
    ended = pod("scheduler", "Succeeded")
    ended["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    found, _, said = started(operator, [ended, SCHEDULER, pod("worker")], [DEPLOYMENT])
    found.check()
    assert not said


def test_without_an_operator_the_cluster_is_deleted(operator: Any) -> None:
    with pytest.raises(TimeoutError, match="does it run in Kubernetes"):
        started(operator, [], [])
    assert KubeCluster.made[0].closed


def test_a_cluster_that_is_deleted_while_it_starts_ends_the_command(
    operator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kr8s = Kr8s([SCHEDULER], [DEPLOYMENT])

    async def start(self: KubeCluster) -> None:
        await self._wait_for_controller()
        kr8s.found = {"pods": [], "deployments": []}
        await asyncio.sleep(60)

    monkeypatch.setattr(KubeCluster, "_start", start)
    with pytest.raises(AccelflowError, match="the Dask cluster 'it' was deleted"):
        Pods(operator, kr8s, WHERE, 2, print)


def test_a_deleted_cluster_ends_the_command(operator: Any) -> None:
    found, kr8s, _ = started(operator, [SCHEDULER, pod("worker")], [DEPLOYMENT])
    kr8s.found = {"pods": [], "deployments": []}
    with pytest.raises(AccelflowError, match="the Dask cluster 'it' was deleted"):
        found.check()


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setitem(sys.modules, "dask_kubernetes", None)
    (tmp_path / "study.toml").write_text(
        'schema = "accelflow.study/1"\n[scenario]\nservices = ["UniqId"]\nrequests = 100\n'
        "[axes]\nrate_rps = [1000, 2000]\n"
    )
    arguments = [str(tmp_path / "study.toml"), "--out", str(tmp_path / "out"), "--cluster", WHERE]
    found = CliRunner().invoke(sweep_command, arguments)
    assert "pip install 'accelflow[kubernetes]'" in str(found.exception)
