"""Derivatives of graphs, forwards and backwards."""
