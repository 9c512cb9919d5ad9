"""What can go wrong with checkpoints."""

from __future__ import annotations

__all__ = [
    "CheckpointError",
    "CheckpointWarning",
    "MismatchError",
    "NoCheckpointError",
    "StorageError",
]


class CheckpointError(Exception):
    """A checkpoint cannot be saved or restored; the message names the file."""


class NoCheckpointError(CheckpointError, FileNotFoundError):
    """A folder has no checkpoint, or not the one that is asked for."""


class StorageError(CheckpointError, TypeError):
    """Values that no checkpoint can hold; the message names each with its path."""


class MismatchError(CheckpointError, ValueError):
    """What a checkpoint holds does not fit into the objects; the message names each path."""


class CheckpointWarning(UserWarning):
    """A checkpoint is not whole, and an older one has been restored."""
