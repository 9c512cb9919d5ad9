"""Calls of Python functions from inside a program: their arguments, the calls, their results"""
