"""Tests of derivatives that are taken operation by operation."""
