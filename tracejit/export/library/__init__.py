"""A function becomes a shared library, a C header, a loader for Python and an example in C"""
