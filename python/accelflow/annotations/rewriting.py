"""Copy a function so that its own calls go through another function.

The source is parsed, each call ``f(x)`` in it becomes ``call(f, x)``, and the result is compiled
with the globals and the closure of the original. `call` is a constant of the compiled code, so that
the copy has no variables of its own. Calls of functions that look at the calling frame (``super``,
``locals``, ``eval``, ...) stay as they are. Nothing outside the copy changes.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import warnings
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType
from typing import Any, Final

from accelflow.errors import InputError, refused

__all__ = ["rewritten"]

_IN_A_FILE: Final = "must be defined in a file that has not changed since Python loaded the file"
#: Stands in the parsed source for the function `call`.
_CALL: Final = "\0accelflow call"
_COPY: Final = "__accelflow_copy__"
_FACTORY: Final = "__accelflow_factory__"

#: Functions that look at the frame that calls them, and so must be called by it.
_OF_THE_FRAME: Final = frozenset(
    {"super", "locals", "globals", "vars", "dir", "eval", "exec", "breakpoint"}
)


def rewritten(function: FunctionType, call: Callable[..., object]) -> FunctionType:
    """Return a copy of `function` in which ``call(f, x)`` replaces each call ``f(x)``.

    So `call` can record these calls. Calls inside the called functions stay as they are, and so do
    calls of functions that look at the calling frame (``locals``, ...). Raises InputError for a
    function without source code (for example one typed into an interpreter), for one whose source
    has changed, for a lambda, for a function that a decorator has wrapped, and for a method that
    uses private names of its class.
    """
    definition = _definition(function)
    free = function.__code__.co_freevars
    tree = ast.parse(f"def {_FACTORY}({', '.join(free)}):\n    return {_COPY}")
    for factory in tree.body:
        if isinstance(factory, ast.FunctionDef):
            factory.body.insert(0, definition)
    tree = ast.fix_missing_locations(tree)
    code = _inner(_inner(compile(tree, function.__code__.co_filename, "exec"), _FACTORY), _COPY)
    if inspect.getargs(code) != inspect.getargs(function.__code__) or _has_changed(function):
        raise _changed(function)
    cells = dict(zip(free, function.__closure__ or (), strict=True))
    code = code.replace(co_name=function.__name__, co_qualname=function.__qualname__)
    copy = FunctionType(
        _with_call(code, call),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[name] for name in code.co_freevars),
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _definition(function: FunctionType) -> ast.FunctionDef | ast.AsyncFunctionDef:
    if hasattr(function, "__wrapped__"):
        # Its source is that of the wrapped function: a copy would leave the decorator out.
        raise refused(
            "offload",
            function.__qualname__,
            "must be the innermost decorator, directly above def: another decorator has wrapped"
            " the function",
        )
    try:
        lines, first = inspect.getsourcelines(function)
        # The lines of an indented function stay as they are, for the texts within them.
        outer = int(lines[0][:1].isspace())
        tree = ast.parse("if True:\n" * outer + "".join(lines))
    except (OSError, TypeError, SyntaxError):
        raise refused("offload", function.__qualname__, _IN_A_FILE) from None
    node: ast.AST | None = tree.body[0] if tree.body else None
    if outer and isinstance(node, ast.If):
        node = node.body[0]
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        raise refused("offload", function.__qualname__, f"{_IN_A_FILE}, and not a lambda")
    if node.name != function.__code__.co_name:
        raise _changed(function)
    if _in_class(function.__code__) and any(_is_private(inside) for inside in ast.walk(node)):
        raise refused(
            "offload",
            function.__qualname__,
            "must not use private names (such as __secret) of its class",
        )
    ast.increment_lineno(tree, first - 1 - outer)
    node.name, node.decorator_list = _COPY, []
    node.body = [_Calls().visit(statement) for statement in node.body]
    # They were evaluated when the original was defined.
    node.args.defaults = [ast.Constant(None) for _ in node.args.defaults]
    node.args.kw_defaults = [default and ast.Constant(None) for default in node.args.kw_defaults]
    node.returns = None
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return node


def _is_private(node: ast.AST) -> bool:
    """Whether a class would mangle the name of `node`."""
    match node:
        # The keyword of a call (ast.keyword) has a name, too, but classes leave it as it is.
        case ast.Attribute(attr=name) | ast.Name(id=name) | ast.arg(arg=name):
            return name.startswith("__") and not name.endswith("__")
    return False


def _in_class(code: CodeType) -> bool:
    """Whether a function is defined in a class, perhaps within a method."""
    parts = code.co_qualname.split(".")
    # The names of functions are followed by <locals>, those of classes are not.
    return any("<locals>" not in (outer, inner) for outer, inner in itertools.pairwise(parts))


def _has_changed(function: FunctionType) -> bool:
    """Whether the file of `function` has other code in its place; False if that is unknown."""
    loader = function.__globals__.get("__loader__")
    if loader is not None and type(loader) is not SourceFileLoader:
        return False  # Other loaders, such as pytest's, may change the code that they load.
    code = function.__code__
    # Calls of imported names, private names and __future__ depend on the rest of the file, so that
    # the definition alone would have other code.
    lines, _ = inspect.findsource(function)
    try:
        module = _compiled("".join(lines), code.co_filename)
    except (SyntaxError, ValueError):
        return False  # An interactive cell, for example, may have an await outside functions.
    return not any(
        found.co_name == code.co_name
        and found.co_firstlineno == code.co_firstlineno
        and _are_equal(found, code)
        for found in _within(module)
    )


@functools.lru_cache(maxsize=4)
def _compiled(source: str, path: str) -> CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The warnings were shown when the file was loaded.
        found: CodeType = compile(source, path, "exec", dont_inherit=True)
    return found


def _within(code: CodeType) -> Iterator[CodeType]:
    """Yield all code within `code`."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _within(constant)


def _are_equal(one: object, other: object) -> bool:
    """Whether constants, or the code of functions, are equal and of the same type."""
    if type(one) is not type(other):
        return False
    if isinstance(one, CodeType) and isinstance(other, CodeType):
        return _parts(one) == _parts(other) and _are_equal(_constants(one), _constants(other))
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_are_equal, one, other))
    if isinstance(one, frozenset):
        return one == other  # Their order is arbitrary.
    return repr(one) == repr(other)  # This tells -0.0 from 0.0, and nan is like nan.


def _parts(code: CodeType) -> tuple[object, ...]:
    variables = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return code.co_code, code.co_exceptiontable, inspect.getargs(code), variables


def _constants(code: CodeType) -> tuple[object, ...]:
    if code.co_flags & inspect.CO_OPTIMIZED:
        return code.co_consts
    # The code of a class. Python 3.13.0 puts the names of its attributes there in any order.
    return tuple(constant for constant in code.co_consts if not isinstance(constant, tuple))


def _changed(function: FunctionType) -> InputError:
    return refused(
        "offload",
        function.__qualname__,
        _IN_A_FILE,
    )


class _Calls(ast.NodeTransformer):
    """Replaces called functions by the recording function."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Turn ``f(x)`` into ``call(f, x)``, also for calls within `f` and `x`."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in _OF_THE_FRAME:
            return node
        # Python warns of a constant that is called, but not of one behind a condition.
        call = ast.IfExp(ast.Constant(True), ast.Constant(_CALL), ast.Constant(None))
        return ast.copy_location(ast.Call(call, [node.func, *node.args], node.keywords), node)


def _inner(code: CodeType, name: str) -> CodeType:
    inner: Any = next(
        constant for constant in code.co_consts if getattr(constant, "co_name", "") == name
    )
    found: CodeType = inner
    return found


def _with_call(code: CodeType, call: Callable[..., object]) -> CodeType:
    """Put `call` in the place of its name into the constants of `code` and of the code within."""
    constants: list[object] = [
        # Bytes must not be compared with text: python -b warns of it.
        call if isinstance(found, str) and found == _CALL else found
        for found in code.co_consts
    ]
    within = (
        _with_call(found, call) if isinstance(found, CodeType) else found for found in constants
    )
    return code.replace(co_consts=tuple(within))
