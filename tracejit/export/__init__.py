"""Graphs for other tools and for pictures: laid out in layers, as SVG, as DOT"""
