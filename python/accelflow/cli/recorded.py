"""The option ``--recording``: a file of recorded costs."""

from pathlib import Path

from accelflow import _native
from accelflow.errors import AccelflowError, InputError, refused, unreadable
from accelflow.files import read_text

__all__ = ["recorded"]


def recorded(file: Path) -> str:
    """Return the text of the recording in `file`. Raises InputError if `file` has none."""
    try:
        recording = read_text(file)
        _check_form(file, recording)
        _native.check_recording(recording)
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable("--recording", file, error) from error
    except InputError:
        raise
    except AccelflowError as error:
        raise refused("--recording", str(file), f"must be a valid recording: {error}") from error
    return recording


def _check_form(file: Path, text: str) -> None:
    """Refuse a file of another kind, which the parser of recordings would call malformed JSON."""
    if not text.lstrip().startswith("{"):
        raise refused(
            "--recording",
            str(file),
            "must be a recording, the JSON object that `accelflow record` writes; `accelflow"
            " import` makes workloads from spans and tables",
        )
