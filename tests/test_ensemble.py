"""Traces in the ensemble from Python: handles, waiting, awaiting, callbacks, limits, threads."""

import asyncio
import gc
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from accelflow import InputError, TraceError
from accelflow.trace import (
    Ensemble,
    Handle,
    Library,
    Trace,
    demo_request,
    enqueue_trace,
    kind,
    register_body,
    run_trace,
    seq,
    templates,
)

REQUEST = demo_request("ComposePost", compressed=True)
ARGUMENTS = run_trace("T1", demo_request("Login")).arrivals[0].data
RESULT = b'{"success": "token"}'


#: Each template that a core or a message starts, with what it is run on; the others follow them.
STARTS: dict[str, tuple[bytes, tuple[str, ...] | None]] = {
    "T1": (REQUEST, None),
    "T2": (RESULT, ("reply", "Login")),
    "T3": (RESULT, ("reply", "Login")),
    "T4": (b"{}", ("cache_get", "user", "42")),
    "T8": (b'{"name":"x"}', ("db_insert", "user", "42")),
    "T8+Cmp": (b'{"name":"x"}', ("cache_set", "user", "42")),
    "T9": (ARGUMENTS, ("rpc", "Login")),
    "T9+Cmp": (ARGUMENTS, ("rpc", "Login")),
    "T11": (b"{}", ("http", "media.example", "/v1")),
    "T11+Cmp": (b"{}", ("http", "media.example", "/v1")),
}


@pytest.mark.parametrize("name", STARTS)
def test_a_template_does_the_same_in_the_ensemble_as_inline(name: str) -> None:
    payload, call = STARTS[name]
    inline = run_trace(name, payload, call=call)
    apart = enqueue_trace(name, payload, call=call).wait()
    assert apart.visits == inline.visits
    assert apart.steps == inline.steps
    assert apart.sent == inline.sent
    assert [(end.trace, end.arm, end.data, end.facts) for end in apart.arrivals] == [
        (end.trace, end.arm, end.data, end.facts) for end in inline.arrivals
    ]


@pytest.mark.parametrize("name", STARTS)
def test_small_payloads_stay_on_the_calling_thread_with_the_same_results(name: str) -> None:
    payload, call = STARTS[name]
    inline = run_trace(name, payload, call=call)
    with Ensemble(least_bytes=len(payload) + 1) as ensemble:
        handle = ensemble.enqueue(name, payload, call=call)
        assert handle.done()
        here = handle.wait()
        assert ensemble.too_small == 1
        assert all(counted["done"] == 0 for counted in ensemble.counters().values())
    assert (here.visits, here.steps, here.sent) == (inline.visits, inline.steps, inline.sent)
    assert [(end.trace, end.data) for end in here.arrivals] == [
        (end.trace, end.data) for end in inline.arrivals
    ]


def test_payloads_of_the_threshold_and_above_are_handed_over() -> None:
    with Ensemble(least_bytes=len(REQUEST)) as ensemble:
        assert ensemble.enqueue("T1", REQUEST).wait().arrivals
        assert ensemble.too_small == 0
        assert ensemble.counters()["TCP"]["done"] == 1


def test_the_templates_above_are_all_that_start() -> None:
    runs = [run_trace(name, payload, call=call) for name, (payload, call) in STARTS.items()]
    begun = {trace for run in runs for trace, *_ in run.steps}
    rest = {template.name for template in templates()} - STARTS.keys() - begun
    # They follow a miss of the cache, or an error: crates/runtime/tests/ensemble.rs runs those.
    assert rest <= {"T6", "T6_error", "T7_error", "T10_error"}


def test_many_traces_are_awaited_at_once() -> None:
    async def all_at_once() -> list[str]:
        with Ensemble() as ensemble:
            handles = [ensemble.enqueue("T1", REQUEST) for _ in range(30)]
            return [run.arrivals[0].texts["method"] for run in await asyncio.gather(*handles)]

    assert asyncio.run(all_at_once()) == ["ComposePost"] * 30


def test_failures_are_raised_where_the_run_is_waited_for() -> None:
    handle = enqueue_trace("T1", b"garbage")
    for _ in range(2):
        with pytest.raises(TraceError) as caught:
            handle.wait()
        assert (caught.value.trace, caught.value.step) == ("T1", 1)
    assert handle.done()

    async def fails() -> None:
        await enqueue_trace("T1", b"garbage")

    with pytest.raises(TraceError):
        asyncio.run(fails())
    with pytest.raises(TraceError) as caught:
        enqueue_trace("T13", REQUEST).wait()
    assert caught.value.reason == "unknown_trace"


def test_a_callback_is_called_once_and_one_that_raises_harms_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Handle] = []
    called = threading.Event()
    raised = threading.Event()
    monkeypatch.setattr(sys, "unraisablehook", lambda _: raised.set())

    def note(handle: Handle) -> None:
        seen.append(handle)
        called.set()

    def fail(_: Handle) -> None:
        raise ZeroDivisionError

    handle = enqueue_trace("T1", REQUEST)
    handle.on_done(note)
    assert called.wait(10)
    assert seen == [handle]
    with pytest.raises(InputError, match="callback = 5: must be a function"):
        handle.on_done(5)  # type: ignore[arg-type]
    enqueue_trace("T1", REQUEST).on_done(fail)
    assert raised.wait(10)
    assert enqueue_trace("T1", REQUEST).wait().arrivals


def hold(ensemble: Ensemble, opened: threading.Event) -> None:
    """Holds the worker that ends the runs of T1 until an event. A run that ends before its callback
    is registered has it called at once, on this thread: then the next run is tried."""
    caller = threading.get_ident()
    here: list[bool] = []

    def wait(_: Handle) -> None:
        here.append(threading.get_ident() == caller)
        if not here[-1]:
            opened.wait(60)

    for _ in range(1_000):
        here.clear()
        ensemble.enqueue("T1", REQUEST).on_done(wait)
        if here != [True]:
            return
    raise AssertionError


def test_all_callbacks_run_in_order_and_all_awaits_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    opened, last = threading.Event(), threading.Event()
    seen: list[int] = []

    def fail(_: Handle) -> None:
        seen.append(1)
        raise ZeroDivisionError

    async def method(handle: Handle) -> str:
        return (await handle).arrivals[0].texts["method"]

    async def several() -> list[str]:
        with Ensemble() as ensemble:
            hold(ensemble, opened)
            handle = ensemble.enqueue("T1", REQUEST)
            handle.on_done(lambda _: seen.append(0))
            handle.on_done(fail)
            tasks = [asyncio.ensure_future(method(handle)) for _ in range(2)]
            await asyncio.sleep(0)
            handle.on_done(lambda _: seen.append(2))
            handle.on_done(lambda _: last.set())
            assert not handle.done()
            opened.set()
            return [*await asyncio.wait_for(asyncio.gather(*tasks), 10), await method(handle)]

    assert asyncio.run(several()) == ["ComposePost"] * 3
    assert last.wait(10)
    assert seen == [0, 1, 2]


def test_cancelled_awaits_leave_nothing_behind() -> None:
    opened = threading.Event()

    def futures() -> int:
        gc.collect()
        return sum(isinstance(each, asyncio.Future) for each in gc.get_objects())

    async def give_up(handle: Handle) -> None:
        awaiting = asyncio.ensure_future(method(handle))
        await asyncio.sleep(0)
        awaiting.cancel()
        await asyncio.wait([awaiting])
        assert awaiting.cancelled()

    async def method(handle: Handle) -> str:
        return (await handle).arrivals[0].texts["method"]

    async def many() -> str:
        with Ensemble() as ensemble:
            hold(ensemble, opened)
            handle = ensemble.enqueue("T1", REQUEST)
            await give_up(handle)
            before = futures()
            for _ in range(50):
                await give_up(handle)
            assert futures() == before
            assert not handle.done()
            stays = asyncio.ensure_future(method(handle))
            await asyncio.sleep(0)
            opened.set()
            return await asyncio.wait_for(stays, 10)

    assert asyncio.run(many()) == "ComposePost"


def test_a_tenant_runs_no_more_traces_than_its_limit() -> None:
    with Ensemble(tenant_runs=1, most_runs=2) as ensemble:
        handles: list[Handle] = []

        def flood() -> None:
            while True:
                handles.append(ensemble.enqueue("T1", REQUEST, tenant=7))

        with pytest.raises(TraceError) as caught:
            flood()
        assert caught.value.reason == "tenant_busy"
        assert all(handle.wait().arrivals for handle in handles)
        assert ensemble.enqueue("T1", REQUEST, tenant=7).wait(10).arrivals
        assert ensemble.counters()["TCP"]["done"] == len(handles) + 1


def test_settings_out_of_range_and_closed_ensembles_are_refused() -> None:
    for bad, text in [
        ({"workers": 0}, "workers = 0: must be a whole number from 1"),
        ({"workers_of": {"TPC": 2}}, "did you mean TCP?"),
        ({"workers_of": {"TCP": 0}}, "must be at least 1"),
        ({"policy": "lifo"}, "policy = 'lifo': must be fifo"),
        ({"notification": "shout"}, "must be wake, poll or check"),
        ({"response_timeout_s": -1.0}, "must be 0 seconds or more"),
        ({"response_timeout_s": float("nan")}, "must be 0 seconds or more"),
        ({"workers": True}, "workers = True: must be a whole number of at least 1"),
        ({"response_timeout_s": True}, "response_timeout_s = True: must be a number of seconds"),
        ({"workers": -1}, "workers = -1: must be a whole number of at least 1"),
        ({"overflow_entries": -1}, "overflow_entries = -1: must be a whole number of at least 0"),
        ({"tenant_runs": -1}, "tenant_runs = -1: must be a whole number of at least 0"),
        ({"least_bytes": -1}, "least_bytes = -1: must be a whole number of at least 0"),
        ({"policy": 3}, "policy = 3: must be the name of a policy"),
    ]:
        with pytest.raises(TraceError, match=text):
            Ensemble(**bad)  # type: ignore[arg-type]
    ensemble = Ensemble(workers_of={"TCP": 2}, notification="poll", pinned=True)
    assert ensemble.enqueue("T1", REQUEST).wait().arrivals
    for tenant in (-1, 1 << 16):
        with pytest.raises(
            TraceError, match=f"tenant = {tenant}: must be a whole number from 0 to"
        ):
            ensemble.enqueue("T1", REQUEST, tenant=tenant)
    for bad, text in [
        (-1, "timeout_s = -1: must be 0 seconds or more"),
        ("soon", "timeout_s = 'soon': must be 0 seconds or more, or None"),
        (10**400, "timeout_s = 1000.*: must be 0 seconds or more, or None"),
    ]:
        for ask in (Handle.wait, Handle.next_arrival):
            with pytest.raises(TraceError, match=text):
                ask(ensemble.enqueue("T1", REQUEST), bad)  # type: ignore[arg-type]
    ensemble.close()
    with pytest.raises(TraceError) as caught:
        ensemble.enqueue("T1", REQUEST)
    assert caught.value.reason == "ensemble_ended"


def test_threads_that_run_traces_at_once_get_the_same_data() -> None:
    """Inline and in the ensemble, while the other thread has runs open."""
    together = threading.Barrier(2, timeout=20)

    def run(_: int) -> bytes:
        handle = enqueue_trace("T1", REQUEST)
        together.wait()
        inline = run_trace("T1", REQUEST)
        return handle.wait().arrivals[0].data + inline.arrivals[0].data

    with ThreadPoolExecutor(2) as pool:
        assert len(set(pool.map(run, range(20)))) == 1


@pytest.mark.filterwarnings("ignore::accelflow.trace.TraceWarning")
def test_accelerators_beside_the_nine_run_on_a_core() -> None:
    ours = kind("Backwards")
    library = Library(templates=False)
    trace = Trace(library=library)
    trace.build(seq(ours, "Cmp", "Dcmp"))
    trace.register("t")
    with Ensemble() as ensemble:

        def end() -> bytes:
            return ensemble.enqueue("t", b"abc", library=library).wait().arrivals[0].data

        register_body(ours, lambda payload, facts: payload[::-1])
        assert end() == b"cba"
        # Bodies that are registered later take the place of the others there, too.
        register_body(ours, lambda payload, facts: payload.upper())
        assert end() == b"ABC"
        run = ensemble.enqueue("t", b"abc", library=library).wait()
        assert ("call", "Backwards") in run.visits
        assert [step[2] for step in run.steps] == ["Backwards", "Cmp", "Dcmp"]
        # A body that waited for a trace would hold the thread that the trace may need.
        other = ensemble.enqueue("t", b"abc", library=library)
        register_body(ours, lambda payload, facts: other.wait().arrivals[0].data)
        with pytest.raises(TraceError, match="cannot wait for a trace") as caught:
            end()
        assert caught.value.reason == "body_failed"


@pytest.mark.filterwarnings("ignore::accelflow.trace.TraceWarning")
def test_a_time_limit_of_0_does_not_wait() -> None:
    slow = kind("Held")
    library = Library(templates=False)
    trace = Trace(library=library)
    trace.build(seq(slow, "Cmp", "Dcmp"))
    trace.register("t")
    goes_on = threading.Event()

    def hold(payload: bytes, facts: object) -> bytes:
        goes_on.wait(20)
        return payload

    register_body(slow, hold)
    with Ensemble() as ensemble:
        handle = ensemble.enqueue("t", b"abc", library=library, early=True)
        try:
            with pytest.raises(TimeoutError):
                handle.wait(0)
            with pytest.raises(TimeoutError):
                handle.next_arrival(0)
        finally:
            goes_on.set()
        assert handle.wait().arrivals[0].data == b"abc"
        assert handle.wait(0).arrivals[0].data == b"abc"
        assert handle.next_arrival(0) is None


INTERRUPTED = """
import os, signal, sys, threading
from accelflow import TraceError
from accelflow.trace import Ensemble, Library, Trace, kind, register_body, seq

begun, never = threading.Event(), threading.Event()

def body(payload, facts):
    begun.set()
    never.wait()

signal.signal(signal.SIGINT, signal.default_int_handler)
slow = kind("Slow")
register_body(slow, body)
library = Library(templates=False)
trace = Trace(library=library)
trace.build(seq("Cmp", slow))
trace.register("slow")

def interrupt():
    begun.wait()
    try:
        while sys.argv[1] == "close":
            ensemble.counters()
    except TraceError:
        pass  # The main thread closes it.
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
try:
    if sys.argv[1] == "close":
        with Ensemble() as ensemble:
            ensemble.enqueue("slow", b"abc", library=library)
    else:
        # Nothing else has the ensemble, whose run goes on.
        Ensemble().enqueue("slow", b"abc", library=library).wait()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    os._exit(0)
"""

LEFT = """
import sys, threading, time
from accelflow.trace import Ensemble, Library, Trace, kind, register_body, seq

begun, left = threading.Event(), threading.Event()

def body(payload, facts):
    begun.set()
    left.wait()
    for _ in range(200):
        time.sleep(0.001)
    print("ended", flush=True)

slow = kind("Slow")
register_body(slow, body)
library = Library(templates=False)
trace = Trace(library=library)
trace.build(seq("Cmp", slow))
trace.register("slow")
ensemble = Ensemble()
ensemble.enqueue("slow", b"abc", library=library)
begun.wait()
if sys.argv[1] == "dropped":
    del ensemble
print("left", flush=True)
left.set()
"""

FORKED = """
import asyncio
import os
import threading
from accelflow import TraceError
from accelflow.trace import Ensemble, demo_request, enqueue_trace

request = demo_request("Login")
assert enqueue_trace("T1", request).wait().arrivals
own = Ensemble()
ended = own.enqueue("T1", request)
ended.wait()
opened = threading.Event()
caller = threading.get_ident()
here = [True]

def hold(_):
    here[:] = [threading.get_ident() == caller]
    if not here[0]:
        opened.wait(60)

# Holds the worker that ends the run. A run that ended first has it called here, at once.
while here[0]:
    here[:] = [False]
    own.enqueue("T1", request).on_done(hold)
running = own.enqueue("T1", request)

async def until_end(handle):
    return await handle

async def begin(handle):
    try:
        await asyncio.wait_for(until_end(handle), 0.01)
    except TimeoutError:
        return
    raise AssertionError

asyncio.run(begin(running))
child = os.fork()
if child == 0:
    assert enqueue_trace("T1", request).wait().arrivals
    assert ended.wait().arrivals
    try:
        asyncio.run(until_end(running))
    except TraceError as error:
        assert error.reason == "forked", error
    else:
        os._exit(2)
    try:
        own.enqueue("T1", request)
    except TraceError as error:
        assert error.reason == "forked", error
        own.close()
        del own
        os._exit(7)
    os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
opened.set()
assert asyncio.run(until_end(running)).arrivals
assert own.enqueue("T1", request).wait().arrivals
assert enqueue_trace("T1", request).wait().arrivals
"""


def alone(*program: str) -> tuple[int, str, str]:
    """The exit code and the outputs of a Python program with its arguments."""
    command = [sys.executable, "-c", *program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("waits", ["wait", "close"])
def test_an_interrupt_ends_waits_for_a_body_that_does_not_end(waits: str) -> None:
    assert alone(INTERRUPTED, waits) == (0, "interrupted\n", "")


def test_a_fork_has_an_ensemble_of_its_own_and_refuses_that_of_the_process_before_it() -> None:
    assert alone(FORKED) == (0, "", "")


@pytest.mark.parametrize("ensemble", ["kept", "dropped"])
def test_the_end_of_the_program_waits_for_bodies(ensemble: str) -> None:
    assert alone(LEFT, ensemble) == (0, "left\nended\n", "")
