"""What passes ask of a graph, without changing it."""
