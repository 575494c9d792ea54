"""Traces on real bytes from Python: the paper's Listing 2."""

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

import accelflow
import accelflow.trace
from accelflow import InputError, TraceError
from accelflow.trace import (
    LIBRARY,
    demo_request,
    demo_secrets,
    enqueue_trace,
    run_counters,
    run_trace,
)
from test_trace import LISTING_1

#: As the paper prints it, with `...` and all; only the endless loop must end some time.
LISTING_2 = """\
while True:
    conn, addr = accept_connection()
    try:
        inReq = conn.recv()
        processed = run_trace("func_req", inReq)
        ...
    except TraceError:
        result = cpu_fallback(inReq)
    conn.send(response)
    conn.close()
"""

AROUND_LISTING_2 = """
from AFlow import TraceError, run_trace
from accelflow.trace import demo_request

good, bad = demo_request("ComposePost", compressed=True), b"no packet"
waiting, seen, fell_back, response = [good, bad, good], [], [], b"done"

class Closed(Exception):
    pass

class Connection:
    def __init__(self, payload):
        self.recv = lambda: payload
    def send(self, data):
        assert data == response
    def close(self):
        seen.append(globals().pop("processed", None))

def accept_connection():
    if not waiting:
        raise Closed
    return Connection(waiting.pop(0)), "address"

def cpu_fallback(payload):
    fell_back.append(payload)

try:
    exec(LISTING)
except Closed:
    pass
assert fell_back == [bad], fell_back
assert [run is not None for run in seen] == [True, False, True]
assert [name for _, _, name, _, _ in seen[0].steps] == "TCP Decr RPC Dser Dcmp LdB".split()
assert seen[0].arrivals[0].texts["method"] == "ComposePost"
"""


def error_of(action: Callable[[], object]) -> TraceError:
    with pytest.raises(TraceError) as caught:
        action()
    return caught.value


def test_listing_1_and_2_run_as_printed() -> None:
    code = f"{LISTING_1}\nLISTING = {LISTING_2!r}\n{AROUND_LISTING_2}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("compressed", [False, True])
def test_t1_gives_the_request_to_the_core(compressed: bool) -> None:
    run = run_trace("T1", demo_request("ComposeUniqueId", compressed=compressed))
    (arrival,) = run.arrivals
    assert (arrival.trace, arrival.arm) == ("T1", 0)
    assert arrival.core in range(36)
    assert arrival.facts["compressed"] == compressed
    assert isinstance(json.loads(arrival.data), dict)
    assert run.sent == []
    assert run.visits == LIBRARY.link().walk("T1", arrival.facts)


def test_a_read_of_the_cache_goes_there_and_back() -> None:
    run = run_trace("T4", b"{}", call=("cache_get", "user", "42"))
    names = [name for _, _, name, _, _ in run.steps]
    assert names == ["Ser", "Encr", "TCP", "TCP", "Decr", "Dser", "LdB"]
    assert [trace for trace, _ in run.sent] == ["T4"]
    assert run.arrivals[0].trace == "T5"


def test_failures_name_reason_trace_and_step_and_are_counted() -> None:
    packets = demo_request("ComposePost")
    damaged = packets[:-1] + bytes([packets[-1] ^ 1])
    before = run_counters()[1]
    error = error_of(lambda: run_trace("T1", damaged))
    assert (error.trace, error.step) == ("T1", 1)
    assert run_counters()[1][error.reason] == before.get(error.reason, 0) + 1
    error = error_of(lambda: run_trace("T13", packets))
    assert (error.reason, error.trace, error.step) == ("unknown_trace", "T13", None)
    assert error_of(lambda: run_trace("T2", b"{}", call=("fax", "x"))).reason == "bad_call"
    assert error_of(lambda: demo_request("Frobnicate")).reason == "unknown_method"


def test_a_fallback_gets_the_payload_untouched_and_its_result_is_returned() -> None:
    garbage = bytes(range(64))
    assert run_trace("T1", garbage, cpu_fallback=lambda payload: payload[::-1]) == garbage[::-1]
    request = demo_request("Login")
    outcome = run_trace("T1", request, cpu_fallback=lambda _: pytest.fail("nothing went wrong"))
    assert outcome.arrivals

    def broken(_: bytes) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_trace("T1", garbage, cpu_fallback=broken)


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_a_payload_may_be_a_buffer(kind: type) -> None:
    request = demo_request("Login")
    assert run_trace("T1", kind(request)).steps == run_trace("T1", request).steps
    assert enqueue_trace("T1", kind(request)).wait(60).steps == run_trace("T1", request).steps
    assert run_trace("T1", kind(b"no packet"), cpu_fallback=bytes.upper) == b"NO PACKET"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: run_trace("T1", "text"), "payload = 'text': must be bytes, a bytearray or"),
        (lambda: run_trace("T1", None, cpu_fallback=repr), "payload = None: must be bytes"),
        (lambda: enqueue_trace("T1", 5), "payload = 5: must be bytes"),
        (lambda: demo_request("Login", seed=-1), "seed = -1: must be a whole number from 0 to"),
        (lambda: demo_request("Login", seed="a"), "seed = 'a': must be a whole number"),
        (lambda: demo_request("Login", index=2**64), "index = .*: must be a whole number"),
        (lambda: demo_secrets(-1), "number = -1: must be a whole number from 0 to"),
    ],
)
def test_values_that_are_no_payload_or_number_are_refused_by_name(
    make: Callable[[], object], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        make()


def test_the_package_itself_has_the_names_of_the_listings() -> None:
    for name in ("Trace", "seq", "branch", "trans", "transform", "run_trace", "TraceError"):
        assert getattr(accelflow, name) is getattr(accelflow.trace, name)


def test_a_trace_that_cannot_be_linked_does_not_stop_the_others() -> None:
    library = accelflow.trace.Library()
    trace = accelflow.Trace(library=library)
    trace.build(accelflow.seq("Ser", "TCP", accelflow.tail("nowhere")))
    trace.register(name="lost")
    request = demo_request("Login")
    assert run_trace("T1", request, library=library).arrivals
    with pytest.raises(TraceError) as caught:
        run_trace("lost", b"{}", library=library, call=("rpc", "Login"))
    assert caught.value.reason == "unknown_tail"
