"""Neural networks written by hand: layers, optimisers, training steps."""

import numpy as np

from .program import Family

PROGRAMS = Family()


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


class Layer:
    def forward(self, x):
        raise NotImplementedError

    def backward(self, grad):
        raise NotImplementedError

    def parameters(self):
        return []


class Dense(Layer):
    def __init__(self, n_in, n_out, seed=0):
        rng = np.random.default_rng(seed)
        self.W = rng.normal(0, np.sqrt(2 / n_in), (n_in, n_out))
        self.b = np.zeros(n_out)
        self.dW = None
        self.db = None

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, grad):
        self.dW = self.x.T @ grad
        self.db = grad.sum(axis=0)
        return grad @ self.W.T

    def parameters(self):
        return [(self.W, self.dW), (self.b, self.db)]


class ReLU(Layer):
    def forward(self, x):
        self.mask = x > 0
        return x * self.mask

    def backward(self, grad):
        return grad * self.mask


class Sequential:
    def __init__(self, *layers):
        self.layers = list(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def backward(self, grad):
        for layer in reversed(self.layers):
            grad = layer.backward(grad)
        return grad

    def parameters(self):
        return [p for layer in self.layers for p in layer.parameters()]


class Adam:
    def __init__(self, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8):
        self.lr = lr
        self.beta1 = beta1
        self.beta2 = beta2
        self.eps = eps
        self.m = None
        self.v = None
        self.t = 0

    def step(self, parameters):
        if self.m is None:
            self.m = [np.zeros_like(p) for p, _ in parameters]
            self.v = [np.zeros_like(p) for p, _ in parameters]
        self.t += 1
        for i, (param, grad) in enumerate(parameters):
            self.m[i] = self.beta1 * self.m[i] + (1 - self.beta1) * grad
            self.v[i] = self.beta2 * self.v[i] + (1 - self.beta2) * grad**2
            m_hat = self.m[i] / (1 - self.beta1**self.t)
            v_hat = self.v[i] / (1 - self.beta2**self.t)
            param -= self.lr * m_hat / (np.sqrt(v_hat) + self.eps)


class Momentum:
    def __init__(self, lr=0.01, momentum=0.9):
        self.lr, self.momentum = lr, momentum
        self.v = None

    def update(self, params, grads):
        if self.v is None:
            self.v = {}
            for key, val in params.items():
                self.v[key] = np.zeros_like(val)
        for key in params.keys():
            self.v[key] = self.momentum * self.v[key] - self.lr * grads[key]
            params[key] += self.v[key]


class Trainer:
    def __init__(self, model, optimizer, batch_size=16, seed=0):
        self.model = model
        self.optimizer = optimizer
        self.batch_size = batch_size
        self.rng = np.random.default_rng(seed)
        self.history = {"loss": [], "accuracy": []}

    def softmax_cross_entropy(self, logits, y):
        shifted = logits - logits.max(axis=1, keepdims=True)
        probs = np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True)
        n = len(y)
        loss = -np.log(probs[np.arange(n), y] + 1e-12).mean()
        grad = probs.copy()
        grad[np.arange(n), y] -= 1
        return loss, grad / n

    def train_epoch(self, X, y):
        order = self.rng.permutation(len(X))
        total, correct = 0.0, 0
        for start in range(0, len(X), self.batch_size):
            batch = order[start : start + self.batch_size]
            logits = self.model.forward(X[batch])
            loss, grad = self.softmax_cross_entropy(logits, y[batch])
            self.model.backward(grad)
            self.optimizer.step(self.model.parameters())
            total += loss * len(batch)
            correct += np.sum(logits.argmax(axis=1) == y[batch])
        self.history["loss"].append(total / len(X))
        self.history["accuracy"].append(correct / len(X))
        return total / len(X)


def mlp():
    return Sequential(Dense(4, 8, 1), ReLU(), Dense(8, 3, 2))


def trainer(batch_size=16):
    return Trainer(mlp(), Adam(), batch_size)


def labels(n, k=3):
    return np.random.default_rng(7).integers(k, size=n)


def dense_parameters():
    layer = Dense(3, 2)
    layer.forward(normal(5, 3))
    layer.backward(normal(5, 2))
    return layer.parameters()


PROGRAMS.add(
    Sequential.forward,
    lambda: (mlp(), normal(10, 4)),
    lambda: (mlp(), normal(7, 4)),
)
PROGRAMS.add(
    Adam.step,
    lambda: (Adam(), dense_parameters()),
    lambda: (Adam(0.1), dense_parameters()[:1]),
)
PROGRAMS.add(
    Momentum.update,
    lambda: (
        Momentum(),
        {"W": normal(3, 2), "b": np.zeros(2)},
        {"W": normal(3, 2, seed=1), "b": np.ones(2)},
    ),
    lambda: (Momentum(0.1), {"W": normal(5)}, {"W": normal(5, seed=2)}),
)
PROGRAMS.add(
    Trainer.train_epoch,
    lambda: (trainer(), normal(48, 4), labels(48)),
    lambda: (trainer(10), normal(33, 4, seed=2), labels(33)),
)


class NeuralNetwork:
    def __init__(self, sizes, seed=0):
        rng = np.random.default_rng(seed)
        self.num_layers = len(sizes)
        self.sizes = sizes
        self.biases = [rng.standard_normal((y, 1)) for y in sizes[1:]]
        self.weights = [rng.standard_normal((y, x)) for x, y in zip(sizes[:-1], sizes[1:])]

    def feedforward(self, a):
        for b, w in zip(self.biases, self.weights):
            a = sigmoid(np.dot(w, a) + b)
        return a

    def update_mini_batch(self, mini_batch, eta):
        nabla_b = [np.zeros(b.shape) for b in self.biases]
        nabla_w = [np.zeros(w.shape) for w in self.weights]
        for x, y in mini_batch:
            delta_nabla_b, delta_nabla_w = self.backprop(x, y)
            nabla_b = [nb + dnb for nb, dnb in zip(nabla_b, delta_nabla_b)]
            nabla_w = [nw + dnw for nw, dnw in zip(nabla_w, delta_nabla_w)]
        self.weights = [w - (eta / len(mini_batch)) * nw for w, nw in zip(self.weights, nabla_w)]
        self.biases = [b - (eta / len(mini_batch)) * nb for b, nb in zip(self.biases, nabla_b)]

    def backprop(self, x, y):
        nabla_b = [np.zeros(b.shape) for b in self.biases]
        nabla_w = [np.zeros(w.shape) for w in self.weights]
        activation = x
        activations = [x]
        zs = []
        for b, w in zip(self.biases, self.weights):
            z = np.dot(w, activation) + b
            zs.append(z)
            activation = sigmoid(z)
            activations.append(activation)
        delta = (activations[-1] - y) * sigmoid_prime(zs[-1])
        nabla_b[-1] = delta
        nabla_w[-1] = np.dot(delta, activations[-2].transpose())
        for layer in range(2, self.num_layers):
            z = zs[-layer]
            sp = sigmoid_prime(z)
            delta = np.dot(self.weights[-layer + 1].transpose(), delta) * sp
            nabla_b[-layer] = delta
            nabla_w[-layer] = np.dot(delta, activations[-layer - 1].transpose())
        return (nabla_b, nabla_w)


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def sigmoid_prime(z):
    return sigmoid(z) * (1 - sigmoid(z))


def mini_batch(n):
    return [(normal(3, 1, seed=k), normal(2, 1, seed=k + 50)) for k in range(n)]


PROGRAMS.add(
    NeuralNetwork.feedforward,
    lambda: (NeuralNetwork([3, 5, 2]), normal(3, 1)),
    lambda: (NeuralNetwork([3, 4, 4, 2]), normal(3, 6)),
)
PROGRAMS.add(
    NeuralNetwork.update_mini_batch,
    lambda: (NeuralNetwork([3, 5, 2]), mini_batch(6), 0.5),
    lambda: (NeuralNetwork([3, 4, 4, 2]), mini_batch(3), 3.0),
)


class BatchNorm:
    def __init__(self, dim, momentum=0.9, eps=1e-5):
        self.gamma, self.beta = np.ones(dim), np.zeros(dim)
        self.momentum, self.eps = momentum, eps
        self.running_mean, self.running_var = np.zeros(dim), np.ones(dim)
        self.cache = None

    def __call__(self, x, training=True):
        if training:
            mu, var = x.mean(axis=0), x.var(axis=0)
            self.running_mean = self.momentum * self.running_mean + (1 - self.momentum) * mu
            self.running_var = self.momentum * self.running_var + (1 - self.momentum) * var
        else:
            mu, var = self.running_mean, self.running_var
        x_hat = (x - mu) / np.sqrt(var + self.eps)
        self.cache = (x, x_hat, mu, var)
        return self.gamma * x_hat + self.beta


PROGRAMS.add(
    BatchNorm.__call__,
    lambda: (BatchNorm(4), normal(12, 4)),
    lambda: (BatchNorm(4), normal(12, 4), False),
)


class Dropout:
    def __init__(self, p=0.5, rng=None):
        if not 0 <= p < 1:
            raise ValueError(f"dropout probability must be in [0, 1), got {p}")
        self.p = p
        self.rng = rng or np.random.default_rng(0)
        self.mask = None

    def forward(self, x, train=True):
        if not train or self.p == 0:
            return x
        self.mask = (self.rng.random(x.shape) >= self.p) / (1 - self.p)
        return x * self.mask


PROGRAMS.add(
    Dropout.forward,
    lambda: (Dropout(), normal(20, 5)),
    lambda: (Dropout(0.2), normal(8, 5), False),
)
