"""Chips as data: named sets of parameters of the simulated server, in files (docs/chips.md)."""

from accelflow.chips.chip import Chip, chip_schema, config_schema, read_chip, read_config
from accelflow.chips.packaged import find_chip, named_chips, packaged
from accelflow.chips.text import chip_text

__all__ = [
    "Chip",
    "chip_schema",
    "chip_text",
    "config_schema",
    "find_chip",
    "named_chips",
    "packaged",
    "read_chip",
    "read_config",
]
