"""The demo's programs: plain NumPy as a user writes it, and the real or generated data they run on.

Nothing here knows of the compiler. Each function is given to it unchanged.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

Floats = NDArray[np.floating[Any]]
Bytes = NDArray[np.uint8]


def gaussian_weights(sigma: float) -> tuple[float, ...]:
    """Weights of a Gaussian cut at three sigma, summing to one."""
    reach = math.ceil(3 * sigma)
    raw = [math.exp(-0.5 * (i / sigma) ** 2) for i in range(-reach, reach + 1)]
    return tuple(weight / sum(raw) for weight in raw)


def blur_rows(image: Floats, weights: Sequence[float]) -> Floats:
    """Weighted mean of each pixel's vertical neighbours, edges repeated: `[h, w]` to `[h, w]`."""
    reach = len(weights) // 2
    height = image.shape[0]
    top = np.repeat(image[:1], reach, axis=0)
    bottom = np.repeat(image[-1:], reach, axis=0)
    padded = np.concatenate([top, image, bottom])
    total = weights[0] * padded[:height]
    for i in range(1, len(weights)):
        total = total + weights[i] * padded[i : i + height]
    return total


def develop(photo: Bytes, weights: Sequence[float], amount: float, exposure: float) -> Bytes:
    """Sharpen a photo by an unsharp mask of its luminance and tone-map it; `u8[h, w, 3]` both.

    Pixels are made linear with a display gamma of 2. Luminance has the weights of ITU-R BT.709; the
    filmic curve is Narkowicz's fit ("ACES Filmic Tone Mapping Curve", 2016). Only exactly rounded
    operations are used, so two right answers are equal bit by bit.
    """
    encoded = photo.astype(np.float32) / 255
    linear = encoded * encoded
    red, green, blue = linear[:, :, 0], linear[:, :, 1], linear[:, :, 2]
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    blurred = blur_rows(blur_rows(luminance, weights).T, weights).T
    sharp = np.maximum(luminance + amount * (luminance - blurred), 0)
    scene = exposure * linear * (sharp / np.maximum(luminance, 1e-4))[:, :, np.newaxis]
    filmic = scene * (2.51 * scene + 0.03) / (scene * (2.43 * scene + 0.59) + 0.14)
    return (np.sqrt(np.clip(filmic, 0, 1)) * 255 + 0.5).astype(np.uint8)


def logistic_loss(
    table: Floats, labels: NDArray[np.integer[Any]], weights: Floats, bias: Floats, penalty: float
) -> np.floating[Any]:
    """Mean softmax cross entropy of a linear classifier, with a ridge penalty on its weights.

    `table` is `[rows, features]`, `labels` `[rows]`, `weights` `[features, classes]`, `bias`
    `[classes]`; the result is a scalar. The largest score of a row is taken off before `exp`.
    """
    scores = table @ weights + bias
    shifted = scores - scores.max(axis=1, keepdims=True)
    log_total = np.log(np.exp(shifted).sum(axis=1))
    chosen = labels[:, np.newaxis] == np.arange(weights.shape[1])
    log_chosen = np.where(chosen, shifted, 0).sum(axis=1)
    ridge: np.floating[Any] = 0.5 * penalty * np.sum(weights * weights)
    mean: np.floating[Any] = np.mean(log_total - log_chosen)
    return mean + ridge


def nearest_centroid(table: Floats, centroids: Floats) -> tuple[NDArray[np.intp], Floats]:
    """For each row the nearest centroid and its distance: `[n, k]`, `[m, k]` to `[n]`, `[n]`."""
    difference = table[:, np.newaxis, :] - centroids[np.newaxis, :, :]
    distance = np.sqrt((difference * difference).sum(axis=2))
    return distance.argmin(axis=1), distance.min(axis=1)


def black_scholes(
    spot: Floats, strike: Floats, years: Floats, rate: float, volatility: float
) -> tuple[Floats, Floats]:
    """Prices of European calls and puts (Black and Scholes, 1973, equations 13 and 14).

    `spot`, `strike` and `years` are `[n]`; `rate` and `volatility` are per year. The normal
    distribution is written with the error function, as `(1 + erf(d / sqrt(2))) / 2`.
    """
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-rate * years)
    below1 = 0.5 + 0.5 * erf(d1 * math.sqrt(0.5))
    below2 = 0.5 + 0.5 * erf(d2 * math.sqrt(0.5))
    call = spot * below1 - discounted * below2
    put = discounted * (1 - below2) - spot * (1 - below1)
    return call, put


def option_market(count: int, seed: int = 20) -> tuple[Floats, Floats, Floats, float, float]:
    """Arguments of `black_scholes` for `count` options, drawn evenly over common ranges."""
    random = np.random.default_rng(seed)
    spot = random.uniform(20.0, 200.0, count)
    strike = spot * random.uniform(0.6, 1.6, count)
    years = random.uniform(0.05, 3.0, count)
    return spot, strike, years, 0.03, 0.25
