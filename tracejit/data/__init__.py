"""Input: batches of arrays, made ahead by threads and processes, and queues."""

from tracejit.data.batches import LoaderError, collate
from tracejit.data.loader import Loader
from tracejit.data.queues import Closed, PriorityQueue, Queue, ShuffleQueue

__all__ = ["Closed", "Loader", "LoaderError", "PriorityQueue", "Queue", "ShuffleQueue", "collate"]
