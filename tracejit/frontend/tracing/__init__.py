"""Traces and tracers: what records the graph, and what stands for values meanwhile."""
