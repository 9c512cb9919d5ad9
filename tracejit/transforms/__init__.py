"""Transforms of graphs: derivatives forwards and backwards, batching."""
