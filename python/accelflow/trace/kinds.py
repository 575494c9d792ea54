"""Custom accelerators: their declarations, and their bodies in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from accelflow import _native
from accelflow.errors import instance_of, refused
from accelflow.trace.nodes import Node

#: Which messages an accelerator processes: received ones, sent ones, or both.
Directions: TypeAlias = Literal["both", "receives", "sends"]
#: The type of a fact, which is a value that branches can test.
FactType: TypeAlias = Literal["number", "text"]
#: The second argument of a body: the facts that earlier accelerators have found, by name.
Facts: TypeAlias = dict[str, "int | str"]
#: The result of a body: a new payload or None (unchanged), or a pair of that and the found facts.
Made: TypeAlias = "bytes | tuple[bytes | None, Mapping[str, int | str]] | None"
#: The function that does the work of a custom accelerator, given the payload and the facts.
Body: TypeAlias = Callable[[bytes, Facts], Made]

#: The executor of this process's runs, whose LdB balances over the 36 cores of the paper's Table
#: III.
EXECUTOR: Final = _native.TraceExecutor(cores=36)


def kind(
    name: str, *, directions: Directions = "both", yields: Mapping[str, FactType] | None = None
) -> Node:
    """Declare a custom accelerator, and return a call of it.

    `name` has 1 to 16 letters and digits, the first a letter. `directions` says whether the
    accelerator processes messages that the server ``receives``, ``sends``, or ``both``. `yields`
    has the type (``number`` or ``text``) of each fact that the accelerator finds in a payload, by
    the fact's name; later branches of a trace may test these facts. All traces of a library must
    declare the same name in the same way. As text, a declaration is
    ``kind NAME DIRECTIONS yields FACT TYPE, ...``, without DIRECTIONS for ``both``.

    Raises TraceError for an invalid name or fact, and for one of the paper's nine names, and
    InputError for values of other types.

    Source: AccelFlow, section VIII: "Any accelerator with the standard interface can be seamlessly
    integrated into AccelFlow."
    """
    instance_of("name", name, (str,), "the name of an accelerator")
    instance_of("directions", directions, (str,), "both, receives or sends")
    instance_of("yields", yields, (Mapping, type(None)), "a mapping from facts to their types")
    facts = list((yields or {}).items())
    for fact, of_type in facts:
        instance_of("fact", fact, (str,), "the name of a fact")
        instance_of(f"{name}.yields.{fact}", of_type, (str,), "number or text")
    return _native.trace_kind(name, directions, facts)


def register_body(accelerator: Node, body: Body) -> None:
    """Register the function `body`, which does the work of a custom accelerator.

    `accelerator` is a node that :func:`kind` returned. `body` receives the payload and a dict of
    facts, and returns the new payload, or None to keep the payload. If the accelerator yields
    facts, `body` returns a pair of the payload and a dict of exactly these facts. The new body
    replaces an earlier one in all runs and ensembles of the process. If `body` raises an exception,
    or returns anything else, the run fails: the message is then unchanged, and `cpu_fallback`
    receives it. KeyboardInterrupt, SystemExit and others that do not derive from Exception also end
    the call of :func:`run_trace`, which raises them. A body can neither run traces nor wait for
    one.

    Raises InputError for a body that cannot be called and for an `accelerator` that is no node, and
    TraceError for a node that calls no custom accelerator.
    """
    if not isinstance(accelerator, Node):
        raise refused("accelerator", accelerator, "must be a node that kind() returned")
    if not callable(body):
        raise refused("body", body, "must be a function of the payload and the facts")
    EXECUTOR.add_body(accelerator, body)
