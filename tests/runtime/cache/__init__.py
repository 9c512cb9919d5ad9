"""Tests of the persistent cache: processes that load what others have compiled."""
