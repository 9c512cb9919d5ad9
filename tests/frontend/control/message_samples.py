"""Programs that warn and log."""

import logging
import warnings

import numpy as np

LOGGER = logging.getLogger("message_samples")
OTHER = logging.getLogger("message_samples.other")


def warns(x):
    for i in range(len(x)):
        if x[i] > 1:
            warnings.warn(f"large: {x[i]}", RuntimeWarning)  # noqa: B028
        if x[i] < -1:
            warnings.warn("small")  # noqa: B028
    return x.sum()


def helper(v):
    LOGGER.info("value %s of %d", v, 3)
    return v * 2


def logs(x):
    print("begin")
    s = 0.0
    for i in range(len(x)):
        s += helper(x[i])
        if s > 1:
            OTHER.warning(f"sum is {s}")
    print("end", s)
    LOGGER.debug("not shown")
    logging.error("the root's %s", "own")
    return s


def warns_and_stores(x, out):
    out[0] = x[0]
    if x[0] > 0:
        warnings.warn("positive")  # noqa: B028
    out[1] = x[1]
    return np.sqrt(x)
