"""Traces with names, and the library of the process."""

import warnings
from dataclasses import dataclass
from typing import Final, TypeAlias

from accelflow import _native
from accelflow.errors import TraceError
from accelflow.trace.nodes import Pipeline, Steps, seq

#: Named traces that may refer to one another; safe to use from several threads.
Library: TypeAlias = _native.TraceLibrary

#: The library of this process. It holds the templates of the paper from the start.
LIBRARY: Final = Library()


class TraceWarning(UserWarning):
    """A trace that can run, with a pair of accelerators that the paper's Table I does not list."""


@dataclass(frozen=True)
class Template:
    """A trace of the paper's Table II, or one of the error subtraces."""

    name: str
    about: str
    pipeline: Pipeline


def templates() -> tuple[Template, ...]:
    """The twelve traces of the paper with their variants and error subtraces, in its order.

    Where the core decides before it starts a trace whether to compress, there are two: T8 and
    T8+Cmp.

    Source: AccelFlow, Table II and Figs. 2, 4 and 7.
    """
    return tuple(
        Template(name, about, tuple(nodes)) for name, about, nodes in _native.trace_templates()
    )


class Trace:
    """A trace under construction: build it from a pipeline, then register it under a name.

    Source: AccelFlow, section V.4 and Listing 1.
    """

    def __init__(self, *, library: Library = LIBRARY) -> None:
        """Make an empty trace that will be registered in `library`."""
        self._library = library
        self._pipeline: Pipeline = ()
        self._warnings: tuple[str, ...] = ()
        self._name: str | None = None

    @property
    def name(self) -> str | None:
        """The name of the last registration, or None."""
        return self._name

    @property
    def pipeline(self) -> Pipeline:
        """What was built; empty before."""
        return self._pipeline

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is unusual about the trace: its pairs of accelerators that are not in Table I."""
        return self._warnings

    @property
    def listing(self) -> str:
        """The source of the trace as indented text, one node a line."""
        return _native.trace_listing(self._pipeline)

    def build(self, pipeline: Steps) -> None:
        """Make `pipeline` this trace's program, and emit a TraceWarning for each of its warnings.

        Raises TraceError for a trace that is impossible: an empty one, something after LdB or after
        a TCP that sends, code that no path reaches and the like. The trace is then as it was.
        """
        nodes = seq(pipeline)
        self._warnings = tuple(_native.trace_check(nodes))
        self._pipeline = nodes
        self._name = None
        for warning in self._warnings:
            warnings.warn(warning, TraceWarning, stacklevel=2)

    def register(self, name: str, *, replace: bool = False) -> None:
        """Give the trace the name that tails and executions call it by.

        Raises TraceError for an illegal name, for a trace that was not built, and for a name that a
        different trace has, unless `replace`. To register the same trace again is harmless.
        """
        if not self._pipeline:
            error = TraceError(f"trace '{name}': build it before it is registered")
            error.reason, error.trace = "not_built", name
            raise error
        self._library.register(name, self._pipeline, replace=replace)
        self._name = name

    def __repr__(self) -> str:
        return f"<Trace {self._name or 'without a name'}: {len(self._pipeline)} nodes>"
