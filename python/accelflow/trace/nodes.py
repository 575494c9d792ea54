"""The functions from which traces are built: `seq`, `branch`, `trans`, `fork`, `join`, `tail`."""

from collections.abc import Iterable, Iterator
from types import NoneType
from typing import TypeAlias

from accelflow import _native
from accelflow.errors import instance_of, refused

#: One element of a trace; immutable, comparable and hashable.
Node: TypeAlias = _native.TraceNode

#: Nodes that run one after another, as :func:`seq` returns them.
Pipeline: TypeAlias = tuple[Node, ...]

#: A part of a trace: the name of an accelerator, a node, a sequence of parts, or None (nothing).
Steps: TypeAlias = "str | Node | Iterable[Steps] | None"

#: Deeper nesting of sequences is a mistake, such as a list that contains itself.
_MAX_NESTING = 64


def seq(*accels: Steps) -> Pipeline:
    """Return a linear chain of accelerators and other parts of a trace.

    Strings are names of accelerators (TCP, Encr, Decr, RPC, Ser, Dser or Deser, Cmp, Dcmp, LdB, in
    any case). Nested sequences are flattened, and None adds nothing. Raises TraceError for an
    unknown accelerator and InputError for anything that is not a part of a trace.

    Source: AccelFlow, section V.4.
    """
    return tuple(_nodes(accels, 0))


def branch(
    condition_op: str, on_true: Steps = None, on_false: Steps = None, likely: bool | None = None
) -> Node:
    """Return a branch: one of two arms runs, then the nodes after the branch.

    `condition_op` tests the previous accelerator's output, with Python's operators and precedence:

    - integer fields that an accelerator has extracted: ``out['name']``, or just ``name``;
    - bytes of the payload as an unsigned integer, most significant first: ``out[4]``, ``out[4:6]``
      (up to 8 bytes; 8 are in two's complement);
    - bits of either, 0 the lowest: ``out['flags'][3]`` or ``flags[3]``, ``out[4][7]``;
    - texts, with ``==`` and ``!=``: ``out['method'] == 'Login'``, ``out[0:4] == 'RIFF'``;
    - comparisons, ``+ - << >> & | ^``, ``and``, ``or``, ``not`` and parentheses. Integers have 64
      bits and wrap around; a shift takes the lowest six bits of its count.

    None is an empty arm; at least one arm must be nonempty, which building the trace checks.
    `likely` is the expected outcome: if a trace is too long for a word, the unlikely arm is the
    first to get a word of its own.

    Raises TraceError for a malformed condition; `position` is the index of the wrong character.
    Raises InputError for a condition or a `likely` of another type.
    Building the trace refuses a field that no accelerator before the branch yields: RPC yields
    ``message_type``, ``seqid``, ``compressed``, ``exception`` and the texts ``service`` and
    ``method``; Dser the fields of the message.

    Source: AccelFlow, sections IV.A and V.4.
    """
    instance_of("condition_op", condition_op, (str,), "the text of a condition")
    instance_of("likely", likely, (bool, NoneType), "True, False or None")
    return _native.trace_branch(condition_op, seq(on_true), seq(on_false), likely)


def trans(src: str, dst: str) -> Node:
    """Return a part of a trace that changes the payload's format from `src` to `dst`.

    Formats are ``str`` or ``string`` (protocol data), ``JSON`` and ``BSON``, in upper or lower
    case. The output dispatcher of the previous accelerator changes the format. Raises TraceError
    for an unknown format, and for two equal ones, and InputError for a format that is not text.

    Source: AccelFlow, sections V.2 and V.4.
    """
    instance_of("src", src, (str,), "str, JSON or BSON")
    instance_of("dst", dst, (str,), "str, JSON or BSON")
    return _native.trace_trans(src, dst)


def transform(src: str, dst: str) -> Node:
    """Return a part of a trace that changes the payload's format, as :func:`trans` does.

    The paper uses both names.
    """
    return trans(src, dst)


def fork(*arms: Steps) -> Node:
    """Return a fork: all arms run in parallel, each on a copy of the payload and to its own end.

    A fork has at least two arms, none of them empty, and nothing may follow it; building the trace
    checks both. The paper's T6 needs one: an arm notifies the core, the other writes the cache.

    Source: AccelFlow, Fig. 7.
    """
    return _native.trace_fork([seq(arm) for arm in arms])


def join(*arms: Steps) -> Node:
    """Return a join: all arms run in parallel, each on a copy, and one accelerator waits for all.

    The accelerator after the join runs once, when the last arm has arrived. Its input is the
    payloads of all arms, concatenated in the arms' order. These payloads must be protocol data
    (``str``). Later branches test the facts of the first arm. A join has at least two arms, none of
    them empty; no path of an arm may end or fork, and only an accelerator may follow. Building the
    trace checks this. Arms may contain joins.

    Source: AccelFlow, section IV.A: "If an input queue entry needs data from multiple source
    accelerators, the dispatcher marks the entry as ready when all data has arrived."
    """
    return _native.trace_join([seq(arm) for arm in arms])


def tail(name: str) -> Node:
    """Return a tail: this trace ends, and the trace `name` of the trace memory follows.

    If the next trace begins with TCP, it waits there for a message. A trace called `name` may be
    registered later. Raises InputError for a name that is not text.

    Source: AccelFlow, section IV.A.
    """
    instance_of("name", name, (str,), "the name of a trace")
    return _native.trace_tail(name)


def notify() -> Node:
    """Return an end of a trace that notifies the core of the result.

    A path of a trace without another end has this one.
    """
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
                raise refused(
                    "nesting of sequences in a trace",
                    nesting + 1,
                    f"must be at most {_MAX_NESTING} levels",
                )
            case _:
                raise refused(
                    f"step {index} of a trace",
                    step,
                    "must be the name of an accelerator, a branch, trans, fork, join, tail or"
                    " notify, a sequence of these, or None",
                )
