"""Functions that run eagerly, in parts: their loops and callees are compiled where that pays"""
