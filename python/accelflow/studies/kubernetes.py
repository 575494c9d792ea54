"""The Kubernetes pods whose workers simulate: which wait, which cannot run, and why.

dask-kubernetes creates and deletes the pods, but does not watch them. It waits without end, and
without a word, for a pod that has no node or whose image does not exist. It also waits until Dask's
operator reports a certain phase of the cluster. The operator may overwrite this phase with an
earlier one, and the wait then never ends; so this module waits for the first deployment instead.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple

from accelflow.errors import AccelflowError, whole_number

__all__ = ["Pods"]

#: The time in seconds after which the operator deletes a cluster without work, such as that of a
#: killed command. It is used unless Dask's configuration has ``kubernetes.idle-timeout``.
_IDLE_S: Final = 3_600
_LONGEST_IDLE_S: Final = 10**9
_LOOK_S: Final = 1.0
#: The longest time in seconds to wait for the deletion of pods after Ctrl-C.
_CLOSE_S: Final = 30.0
#: The reasons for which kubelet does not start a container, and that do not end by themselves.
_BROKEN: Final = frozenset(
    (
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ImagePullBackOff",
        "InvalidImageName",
        "RunContainerError",
    )
)
#: The reasons of a pod that usually starts within seconds; the user hears of them only later.
_STARTS: Final = frozenset(("", "ContainerCreating", "PodInitializing"))
_STARTS_S: Final = 10.0
_CRASHES: Final = "CrashLoopBackOff"
#: The number of restarts after which a container that ends again counts as broken.
_MOST_RESTARTS: Final = 3


class _State(NamedTuple):
    """What a pod does: it runs, is broken or waits; with the reason and Kubernetes's message."""

    kind: str
    reason: str = ""
    message: str = ""


class Pods:
    """The Kubernetes pods that form a Dask cluster, for ``--cluster kubernetes:N``."""

    def __init__(
        self, operator: Any, kr8s: Any, where: str, workers: int, say: Callable[[str], None]
    ) -> None:
        """Create a Dask cluster of `workers` workers, and wait until its scheduler runs.

        `operator` and `kr8s` are the modules ``dask_kubernetes.operator`` and ``kr8s.asyncio``,
        `where` is the value of ``--cluster``, for messages, and `say` shows a line to the user.
        Raises AccelflowError if the scheduler's pod cannot run, and InputError for an idle timeout
        that is not allowed. If Kubernetes, a permission or Dask's operator is missing, raises the
        exception of dask-kubernetes.
        """
        self._kr8s, self._where, self._say = kr8s, where, say
        self._said: set[str] = set()
        self._since_s = time.monotonic()
        self._acted, self._given_up, self._closed = False, False, threading.Event()
        kubecluster = _watched(operator.KubeCluster, self)
        try:
            self.cluster = kubecluster(quiet=True, idle_timeout=_idle_timeout_s())
        except KeyboardInterrupt:
            self._given_up = True
            self._closed.wait(_CLOSE_S)
            raise
        self.cluster.scale(workers)

    def check(self) -> None:
        """Tell the user why pods wait.

        Raises AccelflowError if no pod can run, or the Dask cluster was deleted.
        """
        self.cluster.sync(self.look, self.cluster)

    async def started(self, cluster: Any, starting: asyncio.Future[None]) -> None:
        """Wait for `starting`, the start of `cluster`, and look at its pods meanwhile.

        If the start fails, deletes the cluster and raises the start's exception. It does the same
        with the exceptions of :meth:`look`, and with CancelledError after Ctrl-C.
        """
        try:
            while not (await asyncio.wait([starting], timeout=_LOOK_S))[0]:
                if self._given_up:
                    raise asyncio.CancelledError
                await self.look(cluster)
            await starting
        except BaseException:
            starting.cancel()
            with suppress(Exception):
                await cluster._close()
            cluster.shutdown_on_close = False  # dask-kubernetes would delete it again
            self._closed.set()
            raise

    async def acted(self, cluster: Any, limit_s: float) -> None:
        """Wait until Dask's Kubernetes operator has created the first deployment of `cluster`.

        Raises TimeoutError after `limit_s` seconds.
        """
        deadline_s = time.monotonic() + limit_s
        while not await self._found("deployments", cluster):
            if time.monotonic() > deadline_s:
                raise TimeoutError(
                    f"Dask's operator did nothing for {limit_s:g} s; does it run in Kubernetes?"
                )
            await asyncio.sleep(_LOOK_S)
        self._acted = True

    async def _found(self, kind: str, cluster: Any) -> list[Any]:
        """Return the resources of a `kind` that belong to `cluster`."""
        label = f"dask.org/cluster-name={cluster.name}"
        every = self._kr8s.get(kind, namespace=cluster.namespace, label_selector=label)
        return [each.raw async for each in every]

    async def look(self, cluster: Any) -> None:
        """Tell the user why pods of `cluster` wait. Raises as :meth:`check` does."""
        # Kubernetes may be out of reach for a while, and the next look succeeds.
        try:
            pods = await self._found("pods", cluster)
            deployments = await self._found("deployments", cluster)
        except Exception:  # whatever its client raises
            return
        if self._acted and not deployments:
            raise AccelflowError(self._ended(f"the Dask cluster '{cluster.name}' was deleted"))
        refused = [state for each in deployments if (state := _of_deployment(each)) is not None]
        for component in ("scheduler", "worker"):
            # A pod that is being deleted has ended because of that.
            left = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
            of = [_of_pod(pod) for pod in left if _component(pod) == component]
            self._judge(component, of + (refused if component == "worker" else []))

    def _judge(self, component: str, states: list[_State]) -> None:
        """Report the `states` of the pods of one component of the Dask cluster."""
        broken = [state for state in states if state.kind == "broken"]
        waiting = [state for state in states if state.kind == "waits"]
        if any(state.kind == "runs" for state in states):
            return
        if broken and not waiting:
            pods = "the pod of the scheduler" if component == "scheduler" else "every pod"
            raise AccelflowError(self._ended(f"{pods} fails ({_counted(broken)})"))
        slow = [state for state in states if state.reason not in _STARTS]
        if time.monotonic() - self._since_s > _STARTS_S:
            slow = states
        if slow:
            reason = _with_message(slow[-1].reason, slow)
            self._say_once(f"waits for Kubernetes; pods pending: {len(states)} ({reason})")

    def _say_once(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            self._say(f"--cluster {self._where}: {line}")

    def _ended(self, why: str) -> str:
        return (
            f"--cluster {self._where}: {why}. Completed simulations are kept; the same command "
            "resumes"
        )


def _idle_timeout_s() -> int:
    """Return the idle timeout of Dask's configuration, or the default.

    Raises InputError if it is not a whole number of seconds.
    """
    import dask.config  # noqa: PLC0415 (an extra)

    name = "kubernetes.idle-timeout"
    found = dask.config.get(name, None)
    if found is None:
        return _IDLE_S
    return whole_number(f"{name} (seconds, in Dask's configuration)", found, 0, _LONGEST_IDLE_S)


def _watched(kubecluster: Any, pods: Pods) -> Any:
    """Return a subclass of dask-kubernetes's class whose start is watched by `pods`."""

    async def start(self: Any) -> None:
        await pods.started(self, asyncio.ensure_future(kubecluster._start(self)))

    async def wait_for_controller(self: Any) -> None:
        await pods.acted(self, self._resource_timeout)

    changed = {"_start": start, "_wait_for_controller": wait_for_controller}
    return type("WatchedCluster", (kubecluster,), changed)


def _component(pod: Any) -> str:
    return str(pod["metadata"]["labels"].get("dask.org/component"))


def _of_deployment(deployment: Any) -> _State | None:
    """Return the state of a pod that Kubernetes refuses to create, such as for a quota."""
    for condition in deployment.get("status", {}).get("conditions", []):
        if condition["type"] == "ReplicaFailure" and condition["status"] == "True":
            return _State("waits", condition.get("reason", ""), condition.get("message", ""))
    return None


def _of_pod(pod: Any) -> _State:
    """Return the state of a pod that exists."""
    status = pod.get("status", {})
    if status.get("phase") in ("Failed", "Succeeded"):
        return _State("broken", status.get("reason", status["phase"]), status.get("message", ""))
    for container in status.get("containerStatuses", []):
        waiting = container.get("state", {}).get("waiting")
        if waiting is None:
            continue
        reason = waiting.get("reason", "")
        crashes = reason == _CRASHES and container.get("restartCount", 0) >= _MOST_RESTARTS
        kind = "broken" if reason in _BROKEN or crashes else "waits"
        return _State(kind, reason, waiting.get("message", ""))
    for condition in status.get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return _State("waits", condition.get("reason", ""), condition.get("message", ""))
    return _State("runs" if status.get("phase") == "Running" else "waits")


def _counted(states: list[_State]) -> str:
    """Return the numbers of states by reason, with Kubernetes's last message."""
    counts = Counter(state.reason for state in states)
    said = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))
    return _with_message(said, states)


def _with_message(said: str, states: list[_State]) -> str:
    message = " ".join(states[-1].message.split()).rstrip(".")
    return f"{said}: {message}" if message else said
