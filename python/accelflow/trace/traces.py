"""Named traces, templates, and the library of the process."""

import warnings
from dataclasses import dataclass
from typing import Final, TypeAlias

from accelflow import _native
from accelflow.errors import TraceError, instance_of
from accelflow.trace.nodes import Pipeline, Steps, seq

#: Named traces that may refer to one another; safe to use from several threads.
Library: TypeAlias = _native.TraceLibrary

#: The library of this process. It initially holds the paper's templates.
LIBRARY: Final = Library()


class TraceWarning(UserWarning):
    """A warning: a valid trace uses accelerators in a way that the paper's Table I lacks."""


@dataclass(frozen=True)
class Template:
    """A trace of the paper's Table II, or a trace that reports an error (an error subtrace).

    `about` describes it.
    """

    name: str
    about: str
    pipeline: Pipeline


def templates() -> tuple[Template, ...]:
    """Return the paper's twelve traces with variants and error subtraces, in the paper's order.

    Where the core decides before the start whether to compress, there are two variants, such as T8
    and T8+Cmp.

    Source: AccelFlow, Table II and Figs. 2, 4 and 7.
    """
    return tuple(
        Template(name, about, tuple(nodes)) for name, about, nodes in _native.trace_templates()
    )


class Trace:
    """A trace, a program of accelerator calls: build it from nodes, then register it by name.

    Source: AccelFlow, section V.4 and Listing 1.
    """

    def __init__(self, *, library: Library = LIBRARY) -> None:
        """Make an empty trace that will be registered in `library`.

        Raises InputError if `library` is not a library.
        """
        instance_of("library", library, (Library,), "a trace Library")
        self._library = library
        self._pipeline: Pipeline = ()
        self._warnings: tuple[str, ...] = ()
        self._name: str | None = None

    @property
    def name(self) -> str | None:
        """The name under which the trace was last registered.

        None before the first registration, and again after each :meth:`build`.
        """
        return self._name

    @property
    def pipeline(self) -> Pipeline:
        """The nodes that were built; empty before :meth:`build`."""
        return self._pipeline

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about uses of accelerators that the paper's Table I does not list.

        There is one for each such pair of successive accelerators, and one if the trace begins with
        an accelerator that no core starts in the table.
        """
        return self._warnings

    @property
    def listing(self) -> str:
        """The source of the trace as indented text, one node a line."""
        return _native.trace_listing(self._pipeline)

    def build(self, pipeline: Steps) -> None:
        """Make `pipeline` this trace's program, and emit a TraceWarning for each warning about it.

        Raises TraceError for an invalid trace, such as an empty one, one with nodes after LdB or
        after a TCP that sends, or one with unreachable nodes. The trace is then unchanged.

        A library keeps a registered trace as it was; :meth:`register` with `replace` replaces it.
        """
        nodes = seq(pipeline)
        self._warnings = tuple(_native.trace_check(nodes))
        self._pipeline = nodes
        self._name = None
        for warning in self._warnings:
            warnings.warn(warning, TraceWarning, stacklevel=2)

    def register(self, name: str, *, replace: bool = False) -> None:
        """Register the trace in its library as `name`, by which runs and tails refer to it.

        Raises TraceError for an invalid name, for a trace that was not built, and for the name of a
        different trace, unless `replace`. Registering the same trace again has no effect. Raises
        InputError for a name that is not text.
        """
        instance_of("name", name, (str,), "the name of a trace")
        if not self._pipeline:
            error = TraceError(f"trace '{name}': build it before registering it")
            error.reason, error.trace = "not_built", name
            raise error
        self._library.register(name, self._pipeline, replace=replace)
        self._name = name

    def __repr__(self) -> str:
        return f"<Trace {self._name or 'unnamed'}: {len(self._pipeline)} nodes>"
