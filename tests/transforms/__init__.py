"""Tests of `tracejit.transforms`: gradients, batches, checkpoints, rules of programs' own."""
