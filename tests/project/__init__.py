"""Tests of what stands around the package: documentation, layout, commands, demo, benchmarks."""
