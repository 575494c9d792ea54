"""The parts of scripts/try_kubernetes.py: programs, container image and node."""
