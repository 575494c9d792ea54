"""The two functions of the live server on the page of the four papers."""

from typing import Any

from accelflow.server import Server

__all__ = ["setup"]


def setup(server: Server) -> None:
    """Register the handlers: one returns a text, one a number."""
    server.handle("Together.Read", _read)
    server.handle("Together.UniqId", lambda _arguments: 7)


def _read(arguments: dict[str, Any]) -> str:
    text: str = arguments["text"]
    return text[::-1]
