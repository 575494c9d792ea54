"""`python -m accelflow` is the command `accelflow`."""

from accelflow.cli import main

main()
