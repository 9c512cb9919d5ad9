"""Tests of loaders and queues."""
