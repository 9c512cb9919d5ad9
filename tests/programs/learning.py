"""Machine learning: losses, layers, distances, clustering and classification steps."""

import numpy as np

from tests.programs.program import Program


def logits_and_labels(rng, size):
    return rng.normal(size=(size, 7)) * 4, rng.integers(0, 7, size)


def softmax_cross_entropy(logits, labels):
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_sum = np.log(np.exp(shifted).sum(axis=1))
    picked = shifted[np.arange(len(labels)), labels]
    return (log_sum - picked).mean()


def logistic_loss_and_gradient(weights, features, targets):
    margin = features @ weights
    probability = 1 / (1 + np.exp(-margin))
    loss = -np.mean(targets * np.log(probability) + (1 - targets) * np.log1p(-probability))
    return loss, features.T @ (probability - targets) / len(targets)


def table(rng, size):
    features = rng.normal(size=(size, 6))
    return rng.normal(size=6) / 3, features, (features[:, 0] > 0).astype(np.float64)


def kmeans_assign(points, centres):
    difference = points[:, None, :] - centres[None, :, :]
    distance = (difference**2).sum(axis=2)
    nearest = distance.argmin(axis=1)
    member = nearest[:, None] == np.arange(centres.shape[0])
    return nearest, member.sum(axis=0), distance.min(axis=1)


def clusters(rng, size):
    return rng.normal(size=(size, 3)), rng.normal(size=(5, 3))


def pairwise_distances(x, y):
    squared = (x * x).sum(1)[:, None] + (y * y).sum(1)[None, :] - 2 * (x @ y.T)
    return np.maximum(squared, 0)


def two_tables(rng, size):
    return rng.normal(size=(size, 4)), rng.normal(size=(size + 3, 4))


def batch_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(axis=0)
    variance = ((x - mean) ** 2).mean(axis=0)
    return gamma * (x - mean) / np.sqrt(variance + eps) + beta


def batch(rng, size):
    x = rng.normal(size=(size, 8)).astype(np.float32)
    return x, np.ones(8, np.float32), np.full(8, 0.5, np.float32)


def layer_norm(x, gamma, beta):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * gamma + beta


def tokens(rng, size):
    return rng.normal(size=(3, size, 16)), rng.normal(size=16), rng.normal(size=16)


def attention(q, k, v, mask):
    scores = np.einsum("bqd,bkd->bqk", q, k) / np.sqrt(q.shape[-1])
    scores = np.where(mask, scores, -1e9)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights @ v


def heads(rng, size):
    q, k, v = rng.normal(size=(3, 2, size, 8))
    return q, k, v, np.tril(np.ones((size, size), bool))


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def two_layer_network(parameters, x):
    hidden = gelu(x @ parameters["w1"] + parameters["b1"])
    return {"hidden": hidden, "out": hidden @ parameters["w2"] + parameters["b2"]}


def network(rng, size):
    shapes = {"w1": (5, 12), "b1": (12,), "w2": (12, 3), "b2": (3,)}
    return {k: rng.normal(size=s) for k, s in shapes.items()}, rng.normal(size=(size, 5))


def one_hot_accuracy(scores, labels):
    one_hot = np.eye(scores.shape[1])[labels]
    hit = scores.argmax(axis=1) == labels
    return hit.mean(), (one_hot * hit[:, None]).sum(axis=0)


def adam_step(parameter, gradient, first, second, step):
    first = 0.9 * first + 0.1 * gradient
    second = 0.999 * second + 0.001 * gradient**2
    corrected = first / (1 - 0.9**step), second / (1 - 0.999**step)
    return parameter - 1e-3 * corrected[0] / (np.sqrt(corrected[1]) + 1e-8), first, second


def optimizer_state(rng, size):
    parameter, gradient, first = rng.normal(size=(3, size))
    return parameter, gradient, first, rng.random(size), 7


def conv1d_by_einsum(signal, kernels):
    width = kernels.shape[-1]
    columns = np.arange(signal.shape[-1] - width + 1)[:, None] + np.arange(width)
    return np.einsum("clk,fck->fl", signal[:, columns], kernels)


def signal_and_kernels(rng, size):
    return rng.normal(size=(3, size)), rng.normal(size=(4, 3, 5))


def hinge_loss(margins, labels):
    return np.maximum(0, 1 - margins * (2.0 * labels - 1)).sum() / margins.size


def margins(rng, size):
    return rng.normal(size=size).astype(np.float32), rng.random(size) < 0.5


PROGRAMS = [
    Program(softmax_cross_entropy, logits_and_labels, "order", 32),
    Program(logistic_loss_and_gradient, table, "order", 64),
    Program(kmeans_assign, clusters, "order", 8),
    Program(pairwise_distances, two_tables, "order", 16),
    Program(batch_norm, batch, "order", 64),
    Program(layer_norm, tokens, "order", 64),
    Program(attention, heads, "order", 64, sizes=(4, 17, 40)),
    Program(two_layer_network, network, "order", 64),
    Program(one_hot_accuracy, logits_and_labels),
    Program(adam_step, optimizer_state),
    Program(conv1d_by_einsum, signal_and_kernels, "order", 32),
    Program(hinge_loss, margins, "order", 32),
]
