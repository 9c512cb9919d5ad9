"""The text of graphs: printed, and read back."""
