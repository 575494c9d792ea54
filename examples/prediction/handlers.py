"""Handlers for `examples/prediction/run`: little work, constant work, and varying work."""

import hashlib
import math
from typing import Any

from accelflow import Server

#: Rounds of PBKDF2, some hundreds of microseconds.
ROUNDS = 1_000
#: Rounds that take about as long as what a request costs outside of its handler.
FEW_ROUNDS = 100
#: The share of the draws between two that are taken in turn: the golden ratio spreads them evenly.
STEP = (math.sqrt(5) - 1) / 2


def setup(server: Server) -> None:
    """Register the handlers."""
    server.handle("Ladder.Short", lambda arguments: hashed(arguments, FEW_ROUNDS))
    server.handle("Ladder.Hash", lambda arguments: hashed(arguments, ROUNDS))
    server.handle("Ladder.Mixed", lambda arguments: hashed(arguments, rounds(arguments)))


def hashed(arguments: dict[str, Any], count: int) -> str:
    """Hash the key of a request `count` times."""
    return hashlib.pbkdf2_hmac("sha256", arguments["key"].encode(), b"salt", count).hex()


def rounds(arguments: dict[str, Any]) -> int:
    """A number of rounds for the key, which is a number: exponential over all keys."""
    share = int(arguments["key"]) * STEP % 1.0
    return 1 + round(-ROUNDS * math.log(1.0 - share))
