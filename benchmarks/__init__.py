"""The adapter's cost as ratios to the bare stream of the same graph. ``python -m benchmarks --help``."""
