"""Tests of `tracejit.runtime.device`: arrays on a GPU, and calls with them."""
