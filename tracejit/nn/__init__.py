"""Layers, losses and what goes with them: plain NumPy on classes with arrays."""

from tracejit.nn import init
from tracejit.nn.activations import (
    elu,
    gelu,
    hard_sigmoid,
    hard_swish,
    leaky_relu,
    log_softmax,
    mish,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softmax,
    softplus,
    tanh,
)
from tracejit.nn.convolution import Conv1d, Conv2d
from tracejit.nn.dropout import Dropout
from tracejit.nn.linear import Linear
from tracejit.nn.lookup import Embedding
from tracejit.nn.module import (
    Module,
    load_state_dict,
    parameters,
    set_training,
    state_dict,
    submodules,
)
from tracejit.nn.normalisation import BatchNorm, GroupNorm, LayerNorm
from tracejit.nn.pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AvgPool1d,
    AvgPool2d,
    MaxPool1d,
    MaxPool2d,
)

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AvgPool1d",
    "AvgPool2d",
    "BatchNorm",
    "Conv1d",
    "Conv2d",
    "Dropout",
    "Embedding",
    "GroupNorm",
    "LayerNorm",
    "Linear",
    "MaxPool1d",
    "MaxPool2d",
    "Module",
    "elu",
    "gelu",
    "hard_sigmoid",
    "hard_swish",
    "init",
    "leaky_relu",
    "load_state_dict",
    "log_softmax",
    "mish",
    "parameters",
    "relu",
    "relu6",
    "selu",
    "set_training",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "state_dict",
    "submodules",
    "tanh",
]
