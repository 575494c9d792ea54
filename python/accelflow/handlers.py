"""Load a server's handlers from a user's module, for commands that run a server."""

import importlib
import sys
import traceback
from collections.abc import Callable
from typing import Any

from accelflow.errors import AccelflowError, InputError, refused
from accelflow.server import Server

__all__ = ["check_form", "find_setup", "set_up"]


def find_setup(text: str) -> Callable[[Server], object]:
    """Import and return the user's function that `text` names in the form ``MODULE:FUNCTION``.

    The function registers handlers on a server. The module may be in the working directory. Raises
    InputError for a text of another form, a module that cannot be imported, and an unknown
    function.
    """
    module, name = check_form(text)
    # Unlike `python -m`, an installed command does not find modules of the working directory.
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise refused(
            "MODULE:FUNCTION", text, f"must be a module that can be imported: {error}"
        ) from error
    except Exception as error:  # a user's module may raise anything
        raise refused(
            "MODULE:FUNCTION",
            text,
            f"must be a module that can be imported: it raised {_raised(error)}",
        ) from error
    if not callable(found):
        raise refused(
            "MODULE:FUNCTION",
            text,
            f"must name a function of {module}; {module} has no function {name!r}",
        )
    setup: Callable[[Server], object] = found
    return setup


def check_form(text: str) -> tuple[str, str]:
    """Split `text` of the form ``MODULE:FUNCTION`` into the two names, and return them.

    Raises InputError for a text of another form.
    """
    module, _, name = text.partition(":")
    if not module or not name:
        raise refused("MODULE:FUNCTION", text, "must have the form MODULE:FUNCTION")
    return module, name


def set_up(text: str, setup: Callable[[Server], object], server: Server) -> None:
    """Call the user's function `setup`, which registers its handlers on `server`.

    `text` is the function's name, ``MODULE:FUNCTION``. An exception of `setup` becomes an
    InputError with file and line, unless it is an AccelflowError.
    """
    try:
        setup(server)
    except AccelflowError:
        raise  # the message is already complete
    except Exception as error:
        raise InputError(f"{text} raised {_raised(error)}") from error


def _raised(error: Exception) -> str:
    """The message of an exception of user code, and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    has_place = isinstance(error, SyntaxError) or not frames
    place = "" if has_place else f" ({frames[-1].filename}, line {frames[-1].lineno})"
    return f"{type(error).__name__}: {error}{place}"
