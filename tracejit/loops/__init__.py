"""Loops rewritten as what they compute, for transforms and passes alike."""
