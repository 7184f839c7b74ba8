"""Stores of runs and threads: in this process, or in a store that several workers share."""
