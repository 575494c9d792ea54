"""No signal that ends a program is missed."""

import os
import signal
import sys
import threading
from collections.abc import Iterator

import pytest

from accelflow.signals import StopSignals, interrupt_check


@pytest.fixture(autouse=True)
def _keep_handlers() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    assert [signal.getsignal(number) for number in numbers] == before


def test_a_signal_that_arrives_as_the_wait_begins_is_not_missed() -> None:
    # With an Event in its place, about one in twenty is missed.
    main = threading.get_ident()
    for _ in range(500):
        begin = threading.Event()

        def send(begin: threading.Event = begin) -> None:
            begin.wait(60)
            signal.pthread_kill(main, signal.SIGTERM)

        with StopSignals() as stop:
            sender = threading.Thread(target=send)
            sender.start()
            begin.set()
            assert stop.wait(60)
            sender.join(60)


def test_a_signal_before_the_wait_ends_it() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        with StopSignals() as stop:
            os.kill(os.getpid(), number)
            assert stop.wait()


def test_other_signals_call_their_actions_and_the_wait_goes_on() -> None:
    called: list[int] = []
    with StopSignals({signal.SIGHUP: lambda: called.append(1)}) as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not stop.wait(0.0)
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.wait()
    assert called == [1, 1]


def test_the_wait_ends_after_its_time() -> None:
    with StopSignals() as stop:
        assert not stop.wait(0.01)


@pytest.fixture
def _raising() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, whatever an import of other tests has left."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class _Interrupted:
    """An object in whose destructor Ctrl-C arrives."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("_raising")
def test_an_interrupt_that_a_destructor_swallows_is_raised_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    swallowed: list[type[BaseException] | None] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: swallowed.append(found.exc_type))
    with interrupt_check() as check:
        check()
        _Interrupted()
        assert swallowed == [KeyboardInterrupt]
        with pytest.raises(KeyboardInterrupt):
            check()
    with interrupt_check() as check:
        check()


@pytest.mark.usefixtures("_raising")
def test_an_interrupt_is_raised_where_it_arrives() -> None:
    with interrupt_check(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_handler_of_the_program_stays_in_place() -> None:
    called: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: called.append(number))
    try:
        with interrupt_check() as check:
            signal.raise_signal(signal.SIGINT)
            check()
    finally:
        signal.signal(signal.SIGINT, before)
    assert called == [signal.SIGINT]
