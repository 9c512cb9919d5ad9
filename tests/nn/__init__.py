"""Tests of layers and losses."""
