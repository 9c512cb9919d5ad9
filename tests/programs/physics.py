"""Physics and numerical methods: integrators, stencils, orbits, cellular automata."""

import dataclasses

import numpy as np

from tests.programs.program import Program


def lorenz(state):
    x, y, z = state[0], state[1], state[2]
    return np.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])


def lorenz_rk4_step(state, dt):
    k1 = lorenz(state)
    k2 = lorenz(state + dt / 2 * k1)
    k3 = lorenz(state + dt / 2 * k2)
    k4 = lorenz(state + dt * k3)
    return state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def ensemble(rng, size):
    return rng.normal(size=(3, size)) * 5, 0.01


def kepler_anomaly(mean_anomaly, eccentricity):
    anomaly = mean_anomaly + eccentricity * np.sin(mean_anomaly)
    for _ in range(4):
        error = anomaly - eccentricity * np.sin(anomaly) - mean_anomaly
        anomaly = anomaly - error / (1 - eccentricity * np.cos(anomaly))
    return anomaly


def orbits(rng, size):
    return rng.uniform(-3, 3, size), rng.uniform(0, 0.6, size)


@dataclasses.dataclass
class Bodies:
    position: np.ndarray
    velocity: np.ndarray
    mass: np.ndarray


def gravity(position, mass):
    apart = position[None, :, :] - position[:, None, :]
    squared = (apart**2).sum(axis=-1) + 0.01
    return (apart * (mass[None, :] / (squared * np.sqrt(squared)))[..., None]).sum(axis=1)


def leapfrog_step(bodies, dt):
    half = bodies.velocity + 0.5 * dt * gravity(bodies.position, bodies.mass)
    position = bodies.position + dt * half
    velocity = half + 0.5 * dt * gravity(position, bodies.mass)
    return Bodies(position, velocity, bodies.mass)


def some_bodies(rng, size):
    return Bodies(rng.normal(size=(size, 3)), rng.normal(size=(size, 3)), rng.random(size)), 0.01


def heat_step(temperature, diffusivity):
    inner = temperature[1:-1, 1:-1]
    laplacian = (
        temperature[2:, 1:-1]
        + temperature[:-2, 1:-1]
        + temperature[1:-1, 2:]
        + temperature[1:-1, :-2]
        - 4 * inner
    )
    middle = np.concatenate(
        [temperature[1:-1, :1], inner + diffusivity * laplacian, temperature[1:-1, -1:]], axis=1
    )
    return np.concatenate([temperature[:1], middle, temperature[-1:]])


def plate(rng, size):
    return rng.random((size, size)), 0.2


def wave_step(now, before, courant):
    left, right = np.roll(now, 1), np.roll(now, -1)
    return 2 * now - before + courant**2 * (left - 2 * now + right), now


def string(rng, size):
    now = np.sin(np.linspace(0, 2 * np.pi, size, endpoint=False))
    return now, now * 0.99, 0.5


def game_of_life_step(cells):
    neighbours = (
        np.roll(cells, (1, 1), (0, 1))
        + np.roll(cells, 1, 0)
        + np.roll(cells, (1, -1), (0, 1))
        + np.roll(cells, 1, 1)
        + np.roll(cells, -1, 1)
        + np.roll(cells, (-1, 1), (0, 1))
        + np.roll(cells, -1, 0)
        + np.roll(cells, (-1, -1), (0, 1))
    )
    return ((neighbours == 3) | ((cells == 1) & (neighbours == 2))).astype(cells.dtype)


def soup(rng, size):
    return (rng.integers(0, 2, (size, size + 2), dtype=np.uint8),)


def mandelbrot_escape(centre, width, size):
    step = width / size
    offsets = (np.arange(size) - size / 2) * step
    c = centre + offsets[None, :] + 1j * offsets[:, None]
    z, count = c, np.zeros(c.shape, np.int32)
    for _ in range(10):
        inside = z.real * z.real + z.imag * z.imag <= 4
        count = count + inside
        z = np.where(inside, z * z + c, z)
    return count


def mandelbrot_window(rng, size):
    return -0.7, 2.9375, size


def trapezoid(y, x):
    return ((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2).sum()


def sampled_curve(rng, size):
    return rng.random(size), np.sort(rng.random(size))


def horner(coefficients, x):
    value = np.zeros_like(x) + coefficients[0]
    value = value * x + coefficients[1]
    value = value * x + coefficients[2]
    value = value * x + coefficients[3]
    return value * x + coefficients[4]


def polynomial(rng, size):
    return (2.0, -1.0, 0.5, 3.0, -0.125), rng.normal(size=size).astype(np.float32)


def maxwell_speeds(speed, mass, temperature):
    a = mass / (2 * temperature)
    density = 4 * np.pi * (a / np.pi) ** 1.5 * speed**2 * np.exp(-a * speed**2)
    return density, speed[np.argmax(density)]


def speeds(rng, size):
    return np.linspace(0, 10, size), 3.0, 2.0


def lennard_jones(distance):
    inverse6 = (1 / distance) ** 6
    energy = 4 * (inverse6**2 - inverse6)
    return np.where(distance < 2.5, energy, 0.0)


def distances(rng, size):
    return (rng.uniform(0.9, 3.0, size),)


def sparse_stencil(values, neighbours, weights):
    return (values[neighbours] * weights).sum(axis=1) - values


def mesh(rng, size):
    return rng.random(size), rng.integers(-size, size, (size, 5)), rng.random((size, 5))


def ideal_gas(pressure, volume, moles):
    temperature = pressure * volume / (moles * 8.314462618)
    hottest = temperature.argmax()
    return temperature, hottest, temperature[hottest]


def samples_of_gas(rng, size):
    return rng.uniform(1e4, 1e6, size), rng.uniform(0.1, 2, size), np.float64(1.5)


PROGRAMS = [
    Program(lorenz_rk4_step, ensemble),
    Program(kepler_anomaly, orbits, "order", 32),
    Program(leapfrog_step, some_bodies, "order", 64, sizes=(5, 16, 33)),
    Program(heat_step, plate),
    Program(wave_step, string),
    Program(game_of_life_step, soup),
    Program(mandelbrot_escape, mandelbrot_window),
    Program(trapezoid, sampled_curve, "order", 32),
    Program(horner, polynomial),
    Program(maxwell_speeds, speeds, "ulp", 12),
    Program(lennard_jones, distances, "order", 32),
    Program(sparse_stencil, mesh, "order", 16),
    Program(ideal_gas, samples_of_gas),
]
