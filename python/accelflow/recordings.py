"""Merge recordings of live services (docs/recording-format.md)."""

import json

from accelflow import _native

__all__ = ["completed"]


def completed(text: str, base: str) -> str:
    """Merge two recordings of operations' costs: put the services of `text` into `base`.

    Both are texts of recordings. A service in both texts is taken from `text`. Services in `text`
    alone follow after the services of `base`. Machine and date are taken from `text`. Returns the
    merged text. Raises AccelflowError for a text that is not a recording.
    """
    for recording in (text, base):
        _native.check_recording(recording)
    live, other = json.loads(text), json.loads(base)
    services = {service["service"]: service for service in live["services"]}
    names = [service["service"] for service in other["services"]]
    kept = [services.pop(name, old) for name, old in zip(names, other["services"], strict=True)]
    version = max(live["version"], other["version"])  # a later one has all that earlier ones have
    both = {"version": version, "services": kept + list(services.values())}
    return json.dumps(live | both, indent=2) + "\n"
