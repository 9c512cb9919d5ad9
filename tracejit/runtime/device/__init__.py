"""Devices: calls whose arrays lie on a GPU, or on a simulated one"""
