"""The sections of docs/results/accelerometer/validation.md, for scripts/accelerometer_page.py."""
