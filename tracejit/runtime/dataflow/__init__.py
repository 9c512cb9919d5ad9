"""The executor of flat dataflow graphs, token by token."""
