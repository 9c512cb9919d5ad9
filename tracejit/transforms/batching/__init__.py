"""Batches of graphs: one lane becomes many."""
