"""A fused program becomes one native function: blocks, memory, nodes, exits."""
