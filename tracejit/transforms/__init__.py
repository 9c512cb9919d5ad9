"""Transforms: graphs to graphs of another meaning. They run before the passes."""
