"""Keep the texts of clients and services from forging lines of a server's log.

The text of an exception may quote what a client has sent, including line breaks and the sequences
that control terminals.
"""

import logging
import traceback
from collections.abc import Iterator
from typing import Final

__all__ = ["PrintableLines"]

#: The characters that the layout of a traceback needs.
_LAYOUT: Final = "\n\t"


class PrintableLines(logging.Filter):
    """A filter of a logger that escapes characters that are not printable, as ``repr`` does.

    The message becomes one line. A traceback keeps its lines, but the text of each exception in it
    becomes one line. Records that need no escapes are not changed.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Escape the texts of `record`; return True, since no record is dropped."""
        message = record.getMessage()
        printable = _escaped(message)
        if printable != message:
            record.msg, record.args = printable, ()
        raised = record.exc_info[1] if record.exc_info else None
        if raised is not None:
            plain = "".join(traceback.format_exception(raised)).rstrip("\n")
            clean = _clean(plain, raised)
            if clean != plain:
                # Formatters write this in the place of the exception.
                record.exc_text = clean
        return True


def _clean(text: str, raised: BaseException) -> str:
    """Return the traceback `text` of `raised` with the texts of its exceptions on one line each."""
    parts = [
        part for error in _all(raised) for part in _texts(error) if part and not part.isspace()
    ]
    # Longer ones first, since a text may quote that of the exception's cause.
    for part in sorted(parts, key=len, reverse=True):
        text = text.replace(part, _escaped(part))
    return _escaped(text, _LAYOUT)


def _all(raised: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions whose texts are in the traceback of `raised`."""
    pending: list[BaseException | None] = [raised]
    seen: set[int] = set()
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        pending += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            pending += one.exceptions


def _texts(raised: BaseException) -> Iterator[str]:
    """Yield the text of an exception, and its notes."""
    try:
        yield str(raised)
    except Exception:  # The traceback says that there is no text.
        return
    yield from (str(note) for note in getattr(raised, "__notes__", ()))


def _escaped(text: str, allowed: str = "") -> str:
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or character in allowed
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )
