"""What codegen asks of a flat dataflow graph: lifetimes, memory, ranges, order."""
