"""Tests of `tracejit.runtime`: calls, variants, reports, threads, processes."""
