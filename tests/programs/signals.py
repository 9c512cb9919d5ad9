"""Signal processing: filters, transforms, audio, complex amplitudes."""

import numpy as np

from tests.programs.program import Program


def moving_average(x, width):
    total = np.cumsum(np.concatenate([np.zeros(1), x]))
    return (total[width:] - total[:-width]) / width


def signal_and_width(rng, size):
    return rng.normal(size=size), 5


def savitzky_golay(x):
    smooth = (-3 * x[:-4] + 12 * x[1:-3] + 17 * x[2:-2] + 12 * x[3:-1] - 3 * x[4:]) / 35
    slope = (-2 * x[:-4] - x[1:-3] + x[3:-1] + 2 * x[4:]) / 10
    return smooth, slope


def signal(rng, size):
    return (rng.normal(size=size),)


def discrete_fourier(x):
    k = np.arange(x.shape[0])
    matrix = np.exp(-2j * np.pi * np.outer(k, k) / x.shape[0])
    spectrum = matrix @ x
    return spectrum, np.abs(spectrum) ** 2 / x.shape[0]


def decibels(power, reference=1.0):
    level = 10 * np.log10(np.maximum(power, 1e-12) / reference)
    return level, np.maximum(level, level.max() - 80)


def powers(rng, size):
    return (10.0 ** rng.integers(-14, 4, size),)


def mix_audio(left, right, gain):
    mixed = (left.astype(np.int32) * gain + right.astype(np.int32) * (256 - gain)) >> 8
    loud = np.abs(mixed).max()
    return np.clip(mixed * 2, -32768, 32767).astype(np.int16), loud


def audio(rng, size):
    left, right = rng.integers(-32768, 32768, (2, size)).astype(np.int16)
    return left, right, 160


def phase_unwrap_steps(phase):
    jump = phase[1:] - phase[:-1]
    wrapped = np.mod(jump + np.pi, 2 * np.pi) - np.pi
    wrapped = np.where((wrapped == -np.pi) & (jump > 0), np.pi, wrapped)
    correction = np.where(np.abs(jump) < np.pi, 0.0, wrapped - jump)
    return phase[1:] + np.cumsum(correction)


def wrapped_phase(rng, size):
    return (np.mod(np.cumsum(rng.uniform(-1, 2.5, size)), 2 * np.pi) - np.pi,)


def series_rlc_impedance(frequency, resistance, inductance, capacitance):
    omega = 2 * np.pi * frequency
    impedance = resistance + 1j * omega * inductance + 1 / (1j * omega * capacitance)
    return impedance, np.abs(impedance), impedance.real / np.abs(impedance), 230 / impedance


def circuit(rng, size):
    return np.logspace(0, 5, size), 50.0, 1e-2, 1e-6


def hann_window_energy(x):
    n = x.shape[-1]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / (n - 1))
    framed = x * window
    return framed, (framed**2).sum(-1) / (window**2).sum()


def frames(rng, size):
    return (rng.normal(size=(4, size)).astype(np.float32),)


def instantaneous_frequency(analytic):
    turned = analytic[1:] * np.conj(analytic[:-1])
    return np.arctan2(turned.imag, turned.real) / (2 * np.pi), np.abs(analytic).astype(np.float32)


def analytic_signal(rng, size):
    z = rng.normal(size=size) + 1j * rng.normal(size=size)
    return (z.astype(np.complex64),)


def mu_law(x):
    coded = np.sign(x) * np.log1p(255 * np.abs(x)) / np.log(256.0)
    return np.rint((coded + 1) * 127.5).astype(np.uint8), coded


def samples(rng, size):
    return (rng.uniform(-1, 1, size),)


def haar_step(x):
    even, odd = x[::2], x[1::2]
    return {"mean": (even + odd) / 2, "detail": (even - odd) / 2}


def even_signal(rng, size):
    return (rng.normal(size=2 * size),)


PROGRAMS = [
    Program(moving_average, signal_and_width, "order", 32, scale=lambda x, w: np.abs(x).sum()),
    Program(savitzky_golay, signal),
    Program(discrete_fourier, signal, "order", 64, scale=lambda x: max(1, np.sum(x * x))),
    Program(decibels, powers, "ulp", 4),
    Program(mix_audio, audio),
    Program(phase_unwrap_steps, wrapped_phase, "order", 64),
    Program(series_rlc_impedance, circuit, "ulp", 8),
    Program(hann_window_energy, frames, "order", 32),
    Program(instantaneous_frequency, analytic_signal, "order", 16),
    Program(mu_law, samples, "ulp", 6),
    Program(haar_step, even_signal),
]
