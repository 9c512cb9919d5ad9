"""Optimisers: plain NumPy on the leaves of a tree, changed in place."""

from tracejit.optim import schedules
from tracejit.optim.accumulation import Accumulated
from tracejit.optim.adadelta import AdaDelta
from tracejit.optim.adagrad import AdaGrad
from tracejit.optim.adam import Adam, AdamW
from tracejit.optim.averages import Average
from tracejit.optim.clipping import clip_by_global_norm, clip_by_norm, clip_by_value, global_norm
from tracejit.optim.lbfgs import Minimum, lbfgs
from tracejit.optim.leaves import decays, each, rate_at
from tracejit.optim.lion import Lion
from tracejit.optim.loss_scale import LossScale
from tracejit.optim.momentum import Momentum
from tracejit.optim.rmsprop import RMSProp
from tracejit.optim.sgd import SGD

__all__ = [
    "SGD",
    "Accumulated",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "AdamW",
    "Average",
    "Lion",
    "LossScale",
    "Minimum",
    "Momentum",
    "RMSProp",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "decays",
    "each",
    "global_norm",
    "lbfgs",
    "rate_at",
    "schedules",
]
