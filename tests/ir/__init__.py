"""Tests of `tracejit.ir`: sizes, texts of graphs, versions of arrays, the order of sums."""
