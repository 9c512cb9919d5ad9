"""Calls with arrays of other libraries on the host, which are taken and given without a copy"""
