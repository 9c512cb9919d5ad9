"""Tests of `tracejit.transforms`: gradients, batches, rematerialisation, rules of programs' own."""
