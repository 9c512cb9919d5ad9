"""Processes that run parts of one program for the process that calls it"""
