"""Copy a function so that its own calls go through another function.

The source is parsed, each call ``f(x)`` in it becomes ``call(f, x)``, and the result is compiled
with the globals and the closure of the original. `call` is a constant of the compiled code, so that
the copy has no variables of its own. Calls of functions that look at the calling frame (``super``,
``locals``, ``eval``, ...) stay as they are. Nothing outside the copy changes.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, Final

from accelflow.errors import InputError, refused

__all__ = ["rewritten"]

#: Stands in the parsed source for the function `call`.
_CALL: Final = "\0accelflow call"
_COPY: Final = "__accelflow_copy__"
_FACTORY: Final = "__accelflow_factory__"

#: Functions that look at the frame that calls them, and so must be called by it.
_OF_THE_FRAME: Final = frozenset(
    {"super", "locals", "globals", "vars", "dir", "eval", "exec", "breakpoint"}
)


def rewritten(function: FunctionType, call: Callable[..., object]) -> FunctionType:
    """Return a copy of `function` in which each call ``f(x)`` is ``call(f, x)``.

    Calls inside the called functions stay as they are, and so do calls of functions that look at
    the calling frame (``locals``, ...). Raises InputError for a function without source code (for
    example one typed into an interpreter), for one whose source has changed, for a lambda, for a
    function that a decorator has wrapped, and for a method that uses private names of its class.
    """
    definition = _definition(function)
    free = function.__code__.co_freevars
    tree = ast.parse(f"def {_FACTORY}({', '.join(free)}):\n    return {_COPY}")
    for factory in tree.body:
        if isinstance(factory, ast.FunctionDef):
            factory.body.insert(0, definition)
    tree = ast.fix_missing_locations(tree)
    code = _inner(_inner(compile(tree, function.__code__.co_filename, "exec"), _FACTORY), _COPY)
    if inspect.getargs(code) != inspect.getargs(function.__code__):
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
    allowed = "must be a function whose source is in a file"
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        raise refused("offload", function.__qualname__, allowed) from None
    node = tree.body[0] if tree.body else None
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        raise refused("offload", function.__qualname__, f"{allowed}, and not a lambda")
    if node.name != function.__code__.co_name:
        raise _changed(function)
    if any(_is_private(inside) for inside in ast.walk(node)):
        raise refused(
            "offload",
            function.__qualname__,
            "must not use private names (such as __secret) of its class",
        )
    ast.increment_lineno(tree, first - 1)
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
    names = [getattr(node, field, None) or "" for field in ("attr", "id", "arg")]
    return any(name.startswith("__") and not name.endswith("__") for name in names)


def _changed(function: FunctionType) -> InputError:
    return refused(
        "offload",
        function.__qualname__,
        "must be a function whose source is in a file that has not changed since it was loaded",
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
    constants: list[object] = [call if found == _CALL else found for found in code.co_consts]
    within = (
        _with_call(found, call) if isinstance(found, CodeType) else found for found in constants
    )
    return code.replace(co_consts=tuple(within))
