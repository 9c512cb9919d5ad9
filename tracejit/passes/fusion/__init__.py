"""Elementwise chains, reductions and stores become fusions: one loop nest each."""
