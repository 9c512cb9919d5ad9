"""Signals and images."""

import numpy as np

from .program import Family

PROGRAMS = Family()


def signal(n, seed=0):
    t = np.arange(n)
    return np.sin(t / 5) + 0.3 * np.random.default_rng(seed).normal(size=n)


def image(h, w, seed=0):
    return np.random.default_rng(seed).integers(0, 256, size=(h, w)).astype(np.uint8)


def convolve2d(img, kernel, padding=0, strides=1):
    kernel = np.flipud(np.fliplr(kernel))
    k_h, k_w = kernel.shape
    out_h = (img.shape[0] - k_h + 2 * padding) // strides + 1
    out_w = (img.shape[1] - k_w + 2 * padding) // strides + 1
    output = np.zeros((out_h, out_w))
    if padding != 0:
        padded = np.zeros((img.shape[0] + padding * 2, img.shape[1] + padding * 2))
        padded[padding:-padding, padding:-padding] = img
    else:
        padded = img
    for y in range(out_h):
        for x in range(out_w):
            y0, x0 = y * strides, x * strides
            output[y, x] = (kernel * padded[y0 : y0 + k_h, x0 : x0 + k_w]).sum()
    return output


PROGRAMS.add(
    convolve2d,
    lambda: (image(12, 15), np.ones((3, 3)) / 9),
    lambda: (image(10, 9), np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]]), 1, 2),
)


def sobel_edges(img, threshold=None):
    gx = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    gy = gx.T
    h, w = img.shape
    magnitude = np.zeros((h, w))
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            patch = img[i - 1 : i + 2, j - 1 : j + 2]
            sx = np.sum(gx * patch)
            sy = np.sum(gy * patch)
            magnitude[i, j] = np.hypot(sx, sy)
    magnitude *= 255.0 / magnitude.max()
    if threshold is not None:
        return (magnitude > threshold).astype(np.uint8) * 255
    return magnitude


PROGRAMS.add(
    sobel_edges,
    lambda: (image(12, 12).astype(float),),
    lambda: (image(9, 14, 1).astype(int), 100),
)


def median_filter(img, size=3):
    pad = size // 2
    padded = np.pad(img, pad, mode="edge")
    out = np.empty_like(img)
    for i in range(img.shape[0]):
        for j in range(img.shape[1]):
            out[i, j] = np.median(padded[i : i + size, j : j + size])
    return out


PROGRAMS.add(median_filter, lambda: (image(8, 9),), lambda: (image(7, 7).astype(float), 5))


def gaussian_kernel(size, sigma=1.0):
    ax = np.linspace(-(size - 1) / 2.0, (size - 1) / 2.0, size)
    gauss = np.exp(-0.5 * np.square(ax) / np.square(sigma))
    kernel = np.outer(gauss, gauss)
    return kernel / np.sum(kernel)


PROGRAMS.add(gaussian_kernel, lambda: (5, 1.5), lambda: (9,))


def otsu_threshold(img):
    hist = [0] * 256
    for value in img.ravel():
        hist[value] += 1
    total = img.size
    sum_total = sum(i * hist[i] for i in range(256))
    sum_b, w_b = 0.0, 0
    best, threshold = 0.0, 0
    for t in range(256):
        w_b += hist[t]
        if w_b == 0:
            continue
        w_f = total - w_b
        if w_f == 0:
            break
        sum_b += t * hist[t]
        m_b = sum_b / w_b
        m_f = (sum_total - sum_b) / w_f
        between = w_b * w_f * (m_b - m_f) ** 2
        if between > best:
            best = between
            threshold = t
    return threshold


PROGRAMS.add(otsu_threshold, lambda: (image(12, 12),), lambda: (image(10, 20, 1) // 2,))


def bilinear_resize(img, new_h, new_w):
    h, w = img.shape[:2]
    out = np.zeros((new_h, new_w) + img.shape[2:])
    for i in range(new_h):
        for j in range(new_w):
            y = i * (h - 1) / (new_h - 1)
            x = j * (w - 1) / (new_w - 1)
            y0, x0 = int(np.floor(y)), int(np.floor(x))
            y1, x1 = min(y0 + 1, h - 1), min(x0 + 1, w - 1)
            dy, dx = y - y0, x - x0
            top = img[y0, x0] * (1 - dx) + img[y0, x1] * dx
            bottom = img[y1, x0] * (1 - dx) + img[y1, x1] * dx
            out[i, j] = top * (1 - dy) + bottom * dy
    return out


PROGRAMS.add(
    bilinear_resize,
    lambda: (image(6, 8), 9, 13),
    lambda: (np.stack([image(7, 5)] * 3, axis=-1), 4, 4),
)


def flood_fill(img, start, new_value):
    h, w = img.shape
    old_value = img[start]
    if old_value == new_value:
        return img
    stack = [start]
    while stack:
        y, x = stack.pop()
        if y < 0 or y >= h or x < 0 or x >= w or img[y, x] != old_value:
            continue
        img[y, x] = new_value
        stack.append((y + 1, x))
        stack.append((y - 1, x))
        stack.append((y, x + 1))
        stack.append((y, x - 1))
    return img


PROGRAMS.add(
    flood_fill,
    lambda: (image(10, 10) // 128, (3, 3), 7),
    lambda: (image(8, 12, 1) // 200, (0, 0), 0),
)


def connected_components(binary):
    labels = np.zeros(binary.shape, dtype=int)
    current = 0
    for i in range(binary.shape[0]):
        for j in range(binary.shape[1]):
            if binary[i, j] and labels[i, j] == 0:
                current += 1
                queue = [(i, j)]
                labels[i, j] = current
                while queue:
                    y, x = queue.pop(0)
                    for dy, dx in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                        ny, nx = y + dy, x + dx
                        if 0 <= ny < binary.shape[0] and 0 <= nx < binary.shape[1]:
                            if binary[ny, nx] and labels[ny, nx] == 0:
                                labels[ny, nx] = current
                                queue.append((ny, nx))
    return labels, current


PROGRAMS.add(
    connected_components,
    lambda: (image(10, 11) > 120,),
    lambda: (image(9, 9, 2) > 180,),
)


def dft(x):
    x = np.asarray(x, dtype=float)
    N = x.shape[0]
    n = np.arange(N)
    k = n.reshape((N, 1))
    M = np.exp(-2j * np.pi * k * n / N)
    return np.dot(M, x)


def fft(x):
    x = np.asarray(x, dtype=float)
    N = x.shape[0]
    if N % 2 > 0:
        raise ValueError("size of x must be a power of 2")
    elif N <= 8:
        return dft(x)
    else:
        X_even = fft(x[::2])
        X_odd = fft(x[1::2])
        factor = np.exp(-2j * np.pi * np.arange(N) / N)
        return np.concatenate(
            [X_even + factor[: N // 2] * X_odd, X_even + factor[N // 2 :] * X_odd]
        )


PROGRAMS.add(fft, lambda: (signal(64),), lambda: (signal(32, 1),), lambda: (signal(33),))


def goertzel(samples, sample_rate, freq):
    n = len(samples)
    k = int(0.5 + n * freq / sample_rate)
    w = 2 * np.pi * k / n
    coeff = 2 * np.cos(w)
    q1 = q2 = 0
    for s in samples:
        q0 = coeff * q1 - q2 + s
        q2 = q1
        q1 = q0
    return np.sqrt(q1**2 + q2**2 - q1 * q2 * coeff)


PROGRAMS.add(goertzel, lambda: (signal(100), 1000, 50), lambda: (signal(64), 800.0, 100.0))


def find_peaks(x, min_height=None, min_distance=1):
    peaks = []
    for i in range(1, len(x) - 1):
        if x[i] > x[i - 1] and x[i] >= x[i + 1]:
            if min_height is not None and x[i] < min_height:
                continue
            if peaks and i - peaks[-1] < min_distance:
                if x[i] > x[peaks[-1]]:
                    peaks[-1] = i
                continue
            peaks.append(i)
    return np.array(peaks, dtype=int)


PROGRAMS.add(find_peaks, lambda: (signal(80),), lambda: (signal(60, 1), 0.2, 5))


def zero_crossings(x):
    signs = np.sign(x)
    signs[signs == 0] = 1
    return np.where(np.diff(signs))[0]


PROGRAMS.add(zero_crossings, lambda: (signal(50),), lambda: (signal(70, 1) * 0,))


def spectrogram(x, n_fft=32, hop=16):
    window = np.hanning(n_fft)
    frames = []
    for start in range(0, len(x) - n_fft + 1, hop):
        frame = x[start : start + n_fft] * window
        frames.append(np.abs(np.fft.rfft(frame)) ** 2)
    return 10 * np.log10(np.array(frames).T + 1e-10)


PROGRAMS.add(spectrogram, lambda: (signal(200),), lambda: (signal(120), 16, 4))


def histogram_equalization(img):
    hist, _ = np.histogram(img.flatten(), 256, [0, 256])
    cdf = hist.cumsum()
    cdf_m = np.ma.masked_equal(cdf, 0)
    cdf_m = (cdf_m - cdf_m.min()) * 255 / (cdf_m.max() - cdf_m.min())
    cdf = np.ma.filled(cdf_m, 0).astype("uint8")
    return cdf[img]


PROGRAMS.add(histogram_equalization, lambda: (image(12, 12),), lambda: (image(9, 9) // 3,))


def floyd_steinberg(img):
    out = img.astype(float)
    h, w = out.shape
    for y in range(h):
        for x in range(w):
            old = out[y, x]
            new = 255.0 if old > 127 else 0.0
            out[y, x] = new
            err = old - new
            if x + 1 < w:
                out[y, x + 1] += err * 7 / 16
            if y + 1 < h:
                if x > 0:
                    out[y + 1, x - 1] += err * 3 / 16
                out[y + 1, x] += err * 5 / 16
                if x + 1 < w:
                    out[y + 1, x + 1] += err * 1 / 16
    return out.astype(np.uint8)


PROGRAMS.add(floyd_steinberg, lambda: (image(10, 14),), lambda: (image(7, 7, 1),))


def integral_image_mean(img, k):
    integral = np.cumsum(np.cumsum(img.astype(float), axis=0), axis=1)
    integral = np.pad(integral, ((1, 0), (1, 0)))
    h, w = img.shape
    out = np.zeros((h, w))
    for i in range(h):
        for j in range(w):
            y0, y1 = max(0, i - k), min(h, i + k + 1)
            x0, x1 = max(0, j - k), min(w, j + k + 1)
            area = (y1 - y0) * (x1 - x0)
            out[i, j] = (
                integral[y1, x1] - integral[y0, x1] - integral[y1, x0] + integral[y0, x0]
            ) / area
    return out


PROGRAMS.add(integral_image_mean, lambda: (image(9, 12), 2), lambda: (image(11, 8), 1))


def harris_corners(img, k=0.05, thresh=0.1):
    dy, dx = np.gradient(img.astype(float))
    Ixx, Ixy, Iyy = dx**2, dy * dx, dy**2
    h, w = img.shape
    corners = []
    response = np.zeros((h, w))
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            Sxx = Ixx[y - 1 : y + 2, x - 1 : x + 2].sum()
            Sxy = Ixy[y - 1 : y + 2, x - 1 : x + 2].sum()
            Syy = Iyy[y - 1 : y + 2, x - 1 : x + 2].sum()
            det = Sxx * Syy - Sxy**2
            trace = Sxx + Syy
            response[y, x] = det - k * trace**2
    limit = thresh * response.max()
    for y in range(h):
        for x in range(w):
            if response[y, x] > limit:
                corners.append((x, y, response[y, x]))
    return corners


PROGRAMS.add(harris_corners, lambda: (image(12, 10),), lambda: (image(9, 9, 1), 0.04, 0.5))
