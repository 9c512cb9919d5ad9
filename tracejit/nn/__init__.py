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
from tracejit.nn.attention import Cache, MultiHeadAttention, scaled_dot_product_attention
from tracejit.nn.class_losses import cross_entropy, nll_loss
from tracejit.nn.convolution import Conv1d, Conv2d
from tracejit.nn.ctc import ctc_loss
from tracejit.nn.dropout import Dropout
from tracejit.nn.embedding import dynamic_partition, dynamic_stitch, embedding, sharded
from tracejit.nn.linear import Linear
from tracejit.nn.lookup import Embedding
from tracejit.nn.losses import huber_loss, l1_loss, mse_loss, smooth_l1_loss
from tracejit.nn.margin_losses import (
    cosine_embedding_loss,
    cosine_similarity,
    hinge_loss,
    multi_margin_loss,
)
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
from tracejit.nn.positions import rotary, sinusoids
from tracejit.nn.probability_losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    kl_div,
)
from tracejit.nn.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from tracejit.nn.sampled_losses import nce_loss, sampled_softmax_loss
from tracejit.nn.samplers import LogUniformSampler, Sampler, UnigramSampler
from tracejit.nn.summary import Row, Summary, summary
from tracejit.nn.transformer import TransformerDecoderLayer, TransformerEncoderLayer
from tracejit.nn.weights import load_weights, save_weights

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AvgPool1d",
    "AvgPool2d",
    "BatchNorm",
    "Cache",
    "Conv1d",
    "Conv2d",
    "Dropout",
    "Embedding",
    "GRU",
    "GRUCell",
    "GroupNorm",
    "LSTM",
    "LSTMCell",
    "LayerNorm",
    "Linear",
    "LogUniformSampler",
    "MaxPool1d",
    "MaxPool2d",
    "Module",
    "MultiHeadAttention",
    "RNN",
    "RNNCell",
    "Row",
    "Sampler",
    "Summary",
    "TransformerDecoderLayer",
    "TransformerEncoderLayer",
    "UnigramSampler",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dynamic_partition",
    "dynamic_stitch",
    "elu",
    "embedding",
    "gelu",
    "hard_sigmoid",
    "hard_swish",
    "hinge_loss",
    "huber_loss",
    "init",
    "kl_div",
    "l1_loss",
    "leaky_relu",
    "load_state_dict",
    "load_weights",
    "log_softmax",
    "mish",
    "mse_loss",
    "multi_margin_loss",
    "nce_loss",
    "nll_loss",
    "parameters",
    "relu",
    "relu6",
    "rotary",
    "sampled_softmax_loss",
    "save_weights",
    "scaled_dot_product_attention",
    "selu",
    "set_training",
    "sharded",
    "sigmoid",
    "silu",
    "sinusoids",
    "smooth_l1_loss",
    "softmax",
    "softplus",
    "state_dict",
    "submodules",
    "summary",
    "tanh",
]
