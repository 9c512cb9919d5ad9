"""Watching a run: a live line of progress, and events for TensorBoard."""
