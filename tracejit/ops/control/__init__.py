"""Ops of control flow: regions, calls, effects, stacks, primitives of the flat dataflow graph."""
