"""Rules of array ops: derivatives, and batches."""
