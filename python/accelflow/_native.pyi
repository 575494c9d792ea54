__all__ = ["AccelflowError", "version"]

class AccelflowError(Exception):
    """A failure that the user can act on: it names the place, the value and what is allowed."""

def version() -> str:
    """The version of the engines, which is that of the whole project."""
