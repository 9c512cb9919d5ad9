"""Tests of `tracejit.frontend`: Python and NumPy as they are traced."""
