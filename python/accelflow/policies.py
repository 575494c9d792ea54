"""Policies in Python: queue orders and orchestrators.

A :class:`QueuePolicy` chooses the next entry of an accelerator's queue. An :class:`Orchestrator`
starts from a native system and changes its properties and decisions.
:func:`accelflow.simulation.run` and :func:`accelflow.compare` run both, together with native
systems. Each simulation has its own instance, so a policy may keep state (docs/python-policies.md).
"""

from __future__ import annotations

import copy
import importlib
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Literal, TypeAlias

from accelflow import _native
from accelflow._native import Completion, SimulatedServer, Waiting, WaitingEntry
from accelflow.errors import AccelflowError, InputError, refused
from accelflow.operations import Policy

__all__ = [
    "Completion",
    "Decision",
    "ManagerVisit",
    "Orchestrator",
    "OrchestratorSource",
    "Properties",
    "QueuePolicy",
    "QueuePolicySource",
    "SimulatedServer",
    "System",
    "Waiting",
    "WaitingEntry",
    "systems_in_python",
]

#: The most characters of a system's name, so that tables and plots have room for it.
MAX_NAME: Final = 60


class QueuePolicy:
    """Base class for orders of accelerators' queues in Python. Derive from it, and define `choose`.

    In results, a system with this policy is called ``SYSTEM+NAME``, such as ``accelflow+NAME``.
    `name` defaults to the name of the class. With `deadlines`, operations have deadlines, derived
    from the SLOs of services as for the built-in policy ``edf``. The results then count missed
    deadlines.
    """

    name: ClassVar[str] = ""
    deadlines: ClassVar[bool] = True

    def choose(self, accelerator: str, waiting: Waiting, now_ns: float) -> int:
        """Return the position in `waiting` of the entry that leaves the queue next.

        `accelerator` is the name of the queue's accelerator: TCP, Encr, ..., or that of a custom
        accelerator, as the traces declare it.

        The simulator calls this method when an element of the accelerator is free and at least one
        entry is ready. It also calls the method when an entry of the overflow area can move to the
        input queue; ``waiting.is_overflow`` is then true. `waiting` is in the order in which the
        entries became ready, so 0 is first in, first out. `now_ns` is the time since the simulation
        began.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ManagerVisit:
    """The time that RELIEF's central manager spends on one decision.

    The manager serves nothing else for `occupancy_ns`. The decision takes effect `latency_ns` after
    the manager has begun; if `occupancy_ns` is longer, after that time.
    """

    occupancy_ns: float
    latency_ns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """How long dispatcher, manager and core work, in this order, to find what follows an operation.

    First, the accelerator's output dispatcher takes `dispatcher_ns`. `instructions` is the number
    of instructions that it executes; this number only enters statistics. Then the central `manager`
    decides, if this is not None. Then the request's core works for `core_ns`. The trace waits for
    all three. It does not wait for `background_ns`, further time on that core.
    """

    dispatcher_ns: float = 0.0
    instructions: int = 0
    manager: ManagerVisit | None = None
    core_ns: float = 0.0
    background_ns: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Properties:
    """The properties of an orchestrator that are fixed during a simulation.

    `accelerated`: if false, cores execute every operation, and the other properties have no effect.
    `parks`: a trace that waits for a message keeps its entry in an accelerator's queue, unless the
    server's parameter ``tcp.parking`` says otherwise, and output dispatchers start the arms of
    forks; if false, a trace takes an entry when the message has arrived, and the request's core
    starts the arms, each for `start_ns`. `queueing`: each accelerator has queues, or all share a
    ``central`` queue at the manager; every :class:`Decision` must then have a `manager`. `policy`:
    the order of queues, also if the scenario sets another (None: that of the system `like`, which
    is the scenario's unless the system has one of its own). It has no effect beside a
    :class:`QueuePolicy`. `start_ns`: core time to start a chain of traces. `submission`:
    the manager's time before a chain starts, and with ``central`` also for each message that
    arrives (None: the manager takes no part). `requests`: how a core learns that it must decide for
    an accelerator. `notification`: how a core learns that a trace has ended. `notified_ns`: core
    time to handle the end of a trace.
    """

    accelerated: bool = True
    parks: bool = False
    queueing: Literal["per_accelerator", "central"] = "per_accelerator"
    policy: Policy | None = None
    start_ns: float = 0.0
    submission: ManagerVisit | None = None
    requests: Literal["interrupt", "run_queue", "software_queue"] = "interrupt"
    notification: Literal["flag", "interrupt", "found"] = "flag"
    notified_ns: float = 0.0


class Orchestrator:
    """Base class for orchestrators in Python: rules for who decides an operation's successor.

    Override `properties`, `decide` or both. A method that is not overridden behaves like the
    built-in system `like`, an identifier of :func:`accelflow.simulation.systems`. `name` is the
    identifier in results, by default the name of the class. `queue` is a :class:`QueuePolicy` for
    the accelerators' queues, or its class.
    """

    name: ClassVar[str] = ""
    like: ClassVar[str] = "accelflow"
    queue: ClassVar[QueuePolicySource | None] = None

    def properties(self, server: SimulatedServer) -> Properties:
        """Return the orchestrator's fixed properties on the simulated `server`.

        The simulator calls this when a simulation begins, once for each server.
        """
        return _properties(server, self.like)

    def decide(self, completion: Completion, server: SimulatedServer) -> Decision:
        """Return which units find the successor of an ended operation, and how long they work.

        The simulator calls this whenever an operation ends; `completion` describes the operation.
        """
        dispatcher_ns, instructions, manager, core_ns, background_ns = server.decision(
            self.like, completion
        )
        return Decision(
            dispatcher_ns=dispatcher_ns,
            instructions=instructions,
            manager=None if manager is None else ManagerVisit(*manager),
            core_ns=core_ns,
            background_ns=background_ns,
        )


#: A queue policy, which is copied for each simulation, or a class or function that makes one.
QueuePolicySource: TypeAlias = QueuePolicy | Callable[[], QueuePolicy]
#: An orchestrator, which is copied for each simulation, or a class or function that makes one.
OrchestratorSource: TypeAlias = Orchestrator | Callable[[], Orchestrator]


@dataclass(kw_only=True)
class System:
    """A simulated system whose orchestrator or queue order is written in Python.

    `name` is its identifier in results, and `like` the built-in system for all that the Python
    classes do not override. `place` is the argument that named the system. `orchestrator` and
    `queue` make the objects for one simulation (None: as in the built-in system). `classes` names
    the Python classes.
    """

    name: str
    like: str
    place: str
    orchestrator: Callable[[], Orchestrator] | None
    queue: Callable[[], QueuePolicy] | None
    #: The name of the user's class by kind, ``orchestrator`` or ``queue``, for messages.
    classes: dict[str, str]
    #: The queues of its accelerators, as in `Properties`; None before the first simulation.
    queueing: Literal["per_accelerator", "central"] | None = None
    #: The method that is called before the first decision.
    _step: str = ""
    #: The user's methods by name, for messages.
    _methods: dict[str, Callable[..., Any]] = field(default_factory=dict, repr=False)
    #: The thread that simulates it.
    _thread: int | None = field(default=None, repr=False)

    def begin(
        self, server: SimulatedServer
    ) -> tuple[Properties, Callable[..., Decision] | None, Callable[..., int] | None, bool]:
        """Make the orchestrator and the queue order for one simulation on `server`.

        Returns the orchestrator's fixed properties, its method `decide`, the queue order's method
        `choose` (None: the built-in system decides or chooses), and whether operations have
        deadlines.
        """
        self._thread = threading.get_ident()
        properties, decide, queue = _properties(server, self.like), None, None
        if self.orchestrator is not None:
            self._step = "a copy"
            orchestrator = self.orchestrator()
            self._step = "properties"
            self._methods |= {
                "properties": orchestrator.properties,
                "decide": orchestrator.decide,
            }
            properties = orchestrator.properties(server)
            _check_properties(properties, self.classes["orchestrator"])
            if properties.policy is None:
                properties = replace(properties, policy=_properties(server, self.like).policy)
            if type(orchestrator).decide is not Orchestrator.decide:
                _check_decides(self, orchestrator, properties)
                decide = orchestrator.decide
        self.queueing = properties.queueing
        if self.queue is None:
            return properties, decide, None, False
        self._step = "a copy"
        queue = self.queue()
        self._methods["choose"] = queue.choose
        _check_queues(self, properties)
        return properties, decide, queue.choose, bool(queue.deadlines)

    def failed(self, place: str, error: BaseException) -> str:
        """Return the error message for an exception that the user's method called `place` raised.

        The exception ends the simulation.
        """
        if isinstance(error, InputError) and place == "begin":
            return str(error)
        kind = "queue" if place == "choose" else "orchestrator"
        name = self.classes.get(kind) or next(iter(self.classes.values()))
        called = f"{self.name}: {name}.{self._step if place == 'begin' else place}"
        frames = traceback.extract_tb(error.__traceback__)
        if not frames and isinstance(error, AccelflowError):  # an answer that is not allowed
            text = str(error)
            whole = text.startswith(f"{place}()")
            return f"{self.name}: {name}.{text}" if whole else f"{called}(): {text}"
        places = [(frame.filename, frame.lineno) for frame in frames if frame.filename != __file__]
        if not places:  # the call itself failed: the method takes other arguments
            method = self._methods.get(self._step if place == "begin" else place)
            code = getattr(method, "__code__", None)
            places = [] if code is None else [(code.co_filename, code.co_firstlineno)]
        where = f" ({places[-1][0]}, line {places[-1][1]})" if places else ""
        return f"{called} raised {_last_line(error)}{where}"

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the user's method that is running, which may never end."""
        if self._thread is not None:
            ctypes = importlib.import_module("ctypes")  # slow to load, and seldom needed
            raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
            raise_in(ctypes.c_ulong(self._thread), ctypes.py_object(KeyboardInterrupt))


def systems_in_python(
    policies: Mapping[str, QueuePolicySource | Iterable[QueuePolicySource]] | None,
    orchestrators: Iterable[OrchestratorSource],
) -> list[System]:
    """Return the systems that result from queue orders and orchestrators in Python.

    `policies` maps built-in systems to queue orders: each pair is a system. Each of `orchestrators`
    is a system, too. Raises InputError for a value that is not a policy or an orchestrator, an
    unknown system, and a name that is taken.
    """
    if not isinstance(policies, Mapping | None):
        raise refused("policies", policies, "must map names of systems to queue policies")
    if isinstance(orchestrators, type) or not isinstance(orchestrators, Iterable):
        raise refused("orchestrators", orchestrators, "must be a list of orchestrators")
    known = {name: like for like, paper in _native.system_names() for name in (like, paper)}
    found = []
    for like, given in (policies or {}).items():
        place = f"policies[{like!r}]"
        if like not in known:
            raise refused("policies key", like, known=[like for like, _ in _native.system_names()])
        found += [_ordered(known[like], source, at) for at, source in _several(given, place)]
    found += [
        _orchestrated(source, f"orchestrators[{i}]") for i, source in enumerate(orchestrators)
    ]
    taken = dict.fromkeys(known, "a native system")
    for system in found:
        _check_name(system, taken)
        taken[system.name] = system.place
    return found


def _several(given: Any, place: str) -> Iterable[tuple[str, Any]]:
    """Return the policies in `given`, which is single or a list of them, with their places."""
    single = isinstance(given, QueuePolicy) or callable(given) or not isinstance(given, Iterable)
    return [(place, given)] if single else [(f"{place}[{i}]", each) for i, each in enumerate(given)]


def _ordered(like: str, source: QueuePolicySource, place: str) -> System:
    policy, make = _source(source, QueuePolicy, place)
    name = policy.name or type(policy).__name__
    return System(
        name=f"{like}+{name}",
        like=like,
        place=place,
        orchestrator=None,
        queue=make,
        classes={"queue": type(policy).__name__},
    )


def _orchestrated(source: OrchestratorSource, place: str) -> System:
    orchestrator, make = _source(source, Orchestrator, place)
    ids = [like for like, _ in _native.system_names()]
    if orchestrator.like not in ids:
        raise refused(f"{place}.like", orchestrator.like, known=ids)
    classes, queue = {"orchestrator": type(orchestrator).__name__}, None
    if orchestrator.queue is not None:
        policy, queue = _source(orchestrator.queue, QueuePolicy, f"{place}.queue")
        classes["queue"] = type(policy).__name__
    return System(
        name=orchestrator.name or type(orchestrator).__name__,
        like=orchestrator.like,
        place=place,
        orchestrator=make,
        queue=queue,
        classes=classes,
    )


def _source(source: Any, wanted: type, place: str) -> tuple[Any, Callable[[], Any]]:
    """Return a policy from `source`, for its class attributes, and a function that makes one."""
    article = "an" if wanted is Orchestrator else "a"
    allowed = (
        f"must be {article} {wanted.__name__}, a subclass of it, or a function that returns one"
    )
    if isinstance(source, wanted):
        make = _copies(source, place)
        policy = source
    elif callable(source):
        make = source
        try:
            policy = source()
        except Exception as error:
            raise refused(
                place, source, f"{allowed}; calling it raised {_last_line(error)}"
            ) from error
    else:
        raise refused(place, source, allowed)
    if not isinstance(policy, wanted):
        raise refused(place, source, f"{allowed}; calling it returned {policy!r}")
    if isinstance(policy, Orchestrator) and hasattr(policy, "choose"):
        allowed = (
            "must not define choose, which a QueuePolicy defines: set `queue` to a QueuePolicy"
        )
        raise refused(place, source, allowed)
    if isinstance(policy, QueuePolicy) and type(policy).choose is QueuePolicy.choose:
        raise refused(place, source, "must define choose(accelerator, waiting, now_ns)")
    return policy, make


def _copies(policy: Any, place: str) -> Callable[[], Any]:
    """Return a function that copies `policy` in its present state."""

    def copied() -> Any:
        try:
            return copy.deepcopy(policy)
        except Exception as error:
            allowed = (
                "must be an object that can be copied for each simulation, or a class: "
                f"{_last_line(error)}"
            )
            raise refused(place, policy, allowed) from error

    return copied


def _last_line(error: BaseException) -> str:
    """Return the type and the message of `error`, without its notes, on one line."""
    lines = "".join(traceback.format_exception_only(error)).strip().splitlines()
    # The lines before that of a SyntaxError show its place.
    return lines[-1 if isinstance(error, SyntaxError) else 0]


def _check_name(system: System, taken: Mapping[str, str]) -> None:
    name = system.name
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= MAX_NAME:
        allowed = f"must be a printable text of at most {MAX_NAME} characters"
        raise refused(f"the name of {system.place}", name, allowed)
    if name in taken:
        allowed = f"must differ from the name of {taken[name]}: set `name` in the class"
        raise refused(f"the system's name of {system.place}", name, allowed)


def _check_properties(properties: object, name: str) -> None:
    if not isinstance(properties, Properties):
        allowed = "must be an accelflow.policies.Properties"
        raise refused(f"{name}.properties()", properties, allowed)


def _check_decides(system: System, orchestrator: Orchestrator, properties: Properties) -> None:
    """Refuse a method `decide` of a system without accelerators, which would never be called."""
    # Properties of the class itself may depend on the server: `decide` is called on another one.
    own = type(orchestrator).properties is not Orchestrator.properties
    if not properties.accelerated and not own:
        why = f"{system.name} has no accelerators"
        allowed = f"must not define decide, which would never be called: {why}"
        raise refused(system.place, system.classes["orchestrator"], allowed)


def _check_queues(system: System, properties: Properties) -> None:
    """Refuse a queue policy for a system whose accelerators have no queues of their own."""
    if not properties.accelerated:
        why = f"{system.name} has no accelerators"
    elif properties.queueing == "central":
        why = f"all accelerators of {system.name} share one queue, which the manager orders"
    else:
        return
    policy = system.classes["queue"]
    allowed = f"must be for a system whose accelerators have queues of their own; {why}"
    raise refused(system.place, policy, allowed)


def _properties(server: SimulatedServer, like: str) -> Properties:
    """Return the properties of the native system `like` on `server`."""
    (accelerated, parks, queueing, policy, start, submission, requests, notification, notified) = (
        server.properties(like)
    )
    return Properties(
        accelerated=accelerated,
        parks=parks,
        queueing=queueing,
        policy=policy,
        start_ns=start,
        submission=None if submission is None else ManagerVisit(*submission),
        requests=requests,
        notification=notification,
        notified_ns=notified,
    )
