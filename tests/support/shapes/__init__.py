"""Graphs and runnables of every kind whose native events both sources must report alike."""

from __future__ import annotations

from tests.support.shapes import stop, talk, work
from tests.support.shapes.base import SHAPES, Case, Shape, model, remembering, row, saying, talker

__all__ = ["SHAPES", "Case", "Shape", "model", "remembering", "row", "saying", "stop", "talk", "talker", "work"]
