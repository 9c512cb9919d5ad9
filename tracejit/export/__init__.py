"""Graphs for other tools and for pictures: laid out in layers, as SVG, DOT and for TensorBoard"""

from tracejit.export.events import tensorboard
from tracejit.export.pictures import dot, svg

__all__ = ["dot", "svg", "tensorboard"]
