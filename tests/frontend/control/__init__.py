"""Tests of `tracejit.frontend.control`: branches, loops, effects and what they leave."""
