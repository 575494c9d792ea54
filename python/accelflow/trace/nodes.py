"""The words that a trace is written with."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from accelflow import _native
from accelflow.errors import InputError

#: One element of a trace; immutable, comparable and hashable.
Node: TypeAlias = _native.TraceNode

#: What :func:`seq` returns and everything else takes: nodes that run one after another.
Pipeline: TypeAlias = tuple[Node, ...]

#: What may stand where a part of a trace is expected: the name of an accelerator, a node, a
#: sequence of these, or None for nothing.
Steps: TypeAlias = "str | Node | Iterable[Steps] | None"

#: Deeper nesting of sequences in sequences is a mistake, such as a list that holds itself.
_MAX_NESTING = 64


def seq(*accels: Steps) -> Pipeline:
    """A linear chain of accelerators, and of everything else a trace is made of.

    Strings are names of accelerators (TCP, Encr, Decr, RPC, Ser, Dser or Deser, Cmp, Dcmp, LdB, in
    any case). A sequence inside is put in place, and None adds nothing. Raises TraceError for an
    unknown accelerator and InputError for anything that is no part of a trace.

    Source: AccelFlow, section V.4.
    """
    return tuple(_nodes(accels, 0))


def branch(
    condition_op: str, on_true: Steps = None, on_false: Steps = None, likely: bool | None = None
) -> Node:
    """Go on with one of two arms, then with what follows the branch.

    `condition_op` tests integer fields of the output of the accelerator before, written
    ``out['name']`` or just ``name``, with comparisons, ``& | ^``, ``and``, ``or``, ``not`` and
    parentheses, which bind as in Python. None is an empty arm; one of the two must have something
    in it. `likely` says which outcome is expected: where a trace is too long for a word, the other
    arm is moved out first.

    Raises TraceError whose `position` is the index of the character that cannot be accepted.

    Source: AccelFlow, sections IV.A and V.4.
    """
    return _native.trace_branch(condition_op, seq(on_true), seq(on_false), likely)


def trans(src: str, dst: str) -> Node:
    """Change the format of the payload: str (or string), JSON or BSON, in any case.

    The output dispatcher of the accelerator before does it. Raises TraceError for an unknown
    format, and for two equal ones.

    Source: AccelFlow, sections V.2 and V.4.
    """
    return _native.trace_trans(src, dst)


def transform(src: str, dst: str) -> Node:
    """The same as :func:`trans`; the paper uses both names."""
    return trans(src, dst)


def fork(*arms: Steps) -> Node:
    """Run all arms in parallel, each on a copy of the payload and to its own end.

    At least two arms, none of them empty; nothing may follow a fork. Both is checked when the
    trace is built. The paper's T6 needs it: one arm notifies the core, the other writes the cache.

    Source: AccelFlow, Fig. 7.
    """
    return _native.trace_fork([seq(arm) for arm in arms])


def join(*arms: Steps) -> Node:
    """Run all arms in parallel, each on a copy of the payload, until all have come to what follows.

    The accelerator that follows runs once, when the last arm has come. It is given the payloads of
    all, one behind the other in the order of the arms, which must all be protocol data (str); what
    branches test after it is what the first arm says. At least two arms, none of them empty; no
    path of an arm may end or fork, and nothing but an accelerator may follow. That is checked when
    the trace is built. Arms may have joins of their own.

    Source: AccelFlow, section IV.A: "If an input queue entry needs data from multiple source
    accelerators, the dispatcher marks the entry as ready when all data has arrived."
    """
    return _native.trace_join([seq(arm) for arm in arms])


def tail(name: str) -> Node:
    """End this trace and go on with the trace called `name`, from the accelerator trace memory.

    If that one begins with TCP, it waits there for a message. `name` may be registered later.

    Source: AccelFlow, section IV.A.
    """
    return _native.trace_tail(name)


def notify() -> Node:
    """End this trace and notify the core; implied where a path just ends."""
    return _native.trace_notify()


def _nodes(steps: Iterable[Steps], nesting: int) -> Iterator[Node]:
    for index, step in enumerate(steps):
        match step:
            case str():
                yield _native.trace_accel(step)
            case _native.TraceNode():
                yield step
            case None:
                pass
            case Iterable() if nesting < _MAX_NESTING:
                yield from _nodes(step, nesting + 1)
            case Iterable():
                raise InputError(f"sequences in a trace nest deeper than {_MAX_NESTING}")
            case _:
                raise InputError(
                    f"element {index} of a trace is {step!r}; it must be the name of an"
                    " accelerator, a branch, trans, fork, join, tail or notify, a sequence of"
                    " these, or None"
                )
