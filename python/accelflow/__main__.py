"""Runs the command `accelflow`, for `python -m accelflow`."""

from accelflow.cli import main

main()
