"""Loops over the places of arrays."""

import numpy as np


def enumerated(x):
    y = np.zeros_like(x)
    for (i, j), v in np.ndenumerate(x):
        y[i, j] = v * i - j
    return y


def indexed(x):
    total, places = 0.0, []
    for i, j in np.ndindex(x.shape):
        total += x[i, j] * (i + 2 * j)
        places.append((i, j))
    return total, places


def of_constants(x):
    out = [place[::-1] for place in np.ndindex(2, 3)]
    for place in np.ndindex(3):
        out.append(place[0])
    return out, list(np.ndindex(()))


def stored(x):
    for place in np.ndindex(*x.shape):
        x[place] = x[place] * 2 + place[0]
    for place, v in np.ndenumerate(x[:1]):
        x[0][place[1]] = v + 1
    return x


def collected(x):
    found = [place for place in np.ndindex(x.shape) if x[place] > 3]
    return found, {place: v + 1 for place, v in np.ndenumerate(x[:2, :2])}


PROGRAMS = [enumerated, indexed, of_constants, stored, collected]
