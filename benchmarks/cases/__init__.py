"""The cases, grouped by what they stress."""
