"""Image processing on whole arrays: filters, colour spaces, resampling."""

import numpy as np

from tests.programs.program import Program


def picture(rng, size):
    return (rng.random((size, size + 3)),)


def small_picture(rng, size):
    return (rng.random((size, size + 3)).astype(np.float32),)


def colour_picture(rng, size):
    return (rng.random((size, size + 1, 3)),)


def blur(image):
    padded = np.concatenate([image[:1], image, image[-1:]], axis=0)
    padded = np.concatenate([padded[:, :1], padded, padded[:, -1:]], axis=1)
    rows = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
    return (rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:]) / 4


def unsharp_mask(image):
    detail = image - blur(image)
    return np.clip(image + 1.5 * np.where(np.abs(detail) > 0.02, detail, 0.0), 0.0, 1.0)


def tone_map(image):
    luminance = image @ np.array([0.2126, 0.7152, 0.0722])
    log_average = np.exp(np.mean(np.log(luminance + 1e-6)))
    scaled = 0.18 * luminance / log_average
    mapped = scaled * (1 + scaled / 4) / (1 + scaled)
    return np.clip(image * (mapped / (luminance + 1e-6))[..., None], 0, 1) ** (1 / 2.2)


def rgb_to_hsv(image):
    red, green, blue = image[..., 0], image[..., 1], image[..., 2]
    value = image.max(axis=-1)
    spread = value - image.min(axis=-1)
    safe = np.where(spread == 0, 1.0, spread)
    hue = np.where(
        value == red,
        (green - blue) / safe,
        np.where(value == green, 2.0 + (blue - red) / safe, 4.0 + (red - green) / safe),
    )
    hue = np.where(spread == 0, 0.0, (hue / 6.0) % 1.0)
    saturation = np.where(value == 0, 0.0, spread / np.where(value == 0, 1.0, value))
    return np.stack([hue, saturation, value], axis=-1)


def sobel_edges(image):
    across = image[:, 2:] - image[:, :-2]
    down = image[2:] - image[:-2]
    gx = across[:-2] + 2 * across[1:-1] + across[2:]
    gy = down[:, :-2] + 2 * down[:, 1:-1] + down[:, 2:]
    magnitude = np.sqrt(gx * gx + gy * gy)
    return magnitude, magnitude > magnitude.max() / 4


def bilinear_sample(image, rows, columns):
    height, width = image.shape
    r0 = np.floor(rows).astype(np.int64)
    c0 = np.floor(columns).astype(np.int64)
    r1, c1 = np.minimum(r0 + 1, height - 1), np.minimum(c0 + 1, width - 1)
    fr, fc = rows - r0, columns - c0
    top = image[r0, c0] * (1 - fc) + image[r0, c1] * fc
    bottom = image[r1, c0] * (1 - fc) + image[r1, c1] * fc
    return top * (1 - fr) + bottom * fr


def sample_points(rng, size):
    image = rng.random((size, size + 2))
    return image, rng.random(3 * size) * (size - 1), rng.random(3 * size) * (size + 1)


def grey_levels(rgb):
    weighted = rgb[..., 0].astype(np.uint16) * 77 + rgb[..., 1].astype(np.uint16) * 150
    return ((weighted + rgb[..., 2].astype(np.uint16) * 29 + 128) >> 8).astype(np.uint8)


def bytes_picture(rng, size):
    return (rng.integers(0, 256, (size, size, 3), dtype=np.uint8),)


def posterize_and_flip(image):
    levels = np.floor(image * 4) / np.float32(4)
    return np.flip(levels, axis=1), levels[::-1, ::2].copy(), np.rot90(levels)


def alpha_blend(front, back, alpha):
    mixed = front * alpha[..., None] + back * (1 - alpha[..., None])
    return np.rint(mixed * 255).astype(np.uint8)


def layers(rng, size):
    return rng.random((size, size, 3)), rng.random((size, size, 3)), rng.random((size, size))


PROGRAMS = [
    Program(unsharp_mask, picture),
    Program(tone_map, colour_picture, "order", 16),
    Program(rgb_to_hsv, colour_picture),
    Program(sobel_edges, small_picture),
    Program(bilinear_sample, sample_points),
    Program(grey_levels, bytes_picture),
    Program(posterize_and_flip, small_picture, in_scope=False),
    Program(alpha_blend, layers),
]
