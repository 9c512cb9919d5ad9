"""Tests of `tracejit.ops`: each op and scalar function from its samples, values and derivatives."""
