"""Programs whose exceptions compiled code cannot follow."""

import numpy as np


class Own(Exception):
    """An exception that code of the program makes."""

    def __init__(self, value):
        super().__init__(f"<{value}>")
        self.value = value


def checked(v):
    if v < 0:
        raise ValueError(v)
    return v


def keeps(x):
    found = {}
    try:
        found["last"] = checked(x[1])
        found["first"] = checked(x[0])
    except ValueError:
        found["none"] = 0.0
    return found


def keeps_one(x):
    found = []
    for v in x:
        try:
            found.append(checked(v))
            found.append(checked(v - 1))
        except ValueError:
            found = [found]
    return found


def doubled(x):
    return x * 2


def made_by_code(x):
    try:
        if x[0] < 0:
            raise Own(x[0])
    except Own:
        return 1.0
    return 2.0


def text_of_numpy(x):
    try:
        return (x + np.ones(5)).sum()
    except ValueError as e:
        return str(e)


def attribute(x):
    try:
        if x[0] < 0:
            raise ValueError
    except ValueError as e:
        return e.__traceback__ is None
    return True


UNKNOWN = [made_by_code, text_of_numpy, attribute]
