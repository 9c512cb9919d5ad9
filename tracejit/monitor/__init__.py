"""Watching a run: a live line of progress, and events for TensorBoard."""

from tracejit.monitor.live import progress
from tracejit.monitor.plots import plot
from tracejit.monitor.reading import Scalars, read
from tracejit.monitor.writer import SummaryWriter

__all__ = ["Scalars", "SummaryWriter", "plot", "progress", "read"]
