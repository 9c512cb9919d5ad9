"""Tests of programs for devices"""
