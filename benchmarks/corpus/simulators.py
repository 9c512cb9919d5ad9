"""Simulations: discrete events, particles, populations, fields."""

import heapq
import math
import random

import numpy as np

from .program import Family

PROGRAMS = Family()


def rng(seed=0):
    return np.random.default_rng(seed)


class Queue:
    """A queue with one server (M/M/1) by discrete events."""

    def __init__(self, arrival_rate, service_rate, seed=0):
        self.arrival_rate = arrival_rate
        self.service_rate = service_rate
        self.rng = np.random.default_rng(seed)
        self.clock = 0.0
        self.events = []
        self.waiting = []
        self.busy = False
        self.served = 0
        self.total_wait = 0.0
        self._schedule("arrival", self.rng.exponential(1 / arrival_rate))

    def _schedule(self, kind, delay):
        heapq.heappush(self.events, (self.clock + delay, kind))

    def run(self, until):
        while self.events:
            time, kind = heapq.heappop(self.events)
            if time > until:
                break
            self.clock = time
            if kind == "arrival":
                self._schedule("arrival", self.rng.exponential(1 / self.arrival_rate))
                if self.busy:
                    self.waiting.append(self.clock)
                else:
                    self.busy = True
                    self._schedule("departure", self.rng.exponential(1 / self.service_rate))
            else:
                self.served += 1
                if self.waiting:
                    self.total_wait += self.clock - self.waiting.pop(0)
                    self._schedule("departure", self.rng.exponential(1 / self.service_rate))
                else:
                    self.busy = False
        return self.total_wait / max(self.served, 1)


PROGRAMS.add(Queue.run, lambda: (Queue(1.0, 1.5), 30.0), lambda: (Queue(2.0, 1.0, 1), 15.0))


def mm1_waiting_times(arrival_rate, service_rate, n_customers, rng):
    """Lindley's recursion."""
    arrivals = np.cumsum(rng.exponential(1 / arrival_rate, n_customers))
    services = rng.exponential(1 / service_rate, n_customers)
    start = np.zeros(n_customers)
    finish = np.zeros(n_customers)
    for i in range(n_customers):
        start[i] = arrivals[i] if i == 0 else max(arrivals[i], finish[i - 1])
        finish[i] = start[i] + services[i]
    waits = start - arrivals
    return waits.mean(), (waits > 0).mean(), services.sum() / finish[-1]


PROGRAMS.add(mm1_waiting_times, lambda: (1.0, 1.2, 200, rng()), lambda: (0.5, 2.0, 150, rng(3)))


class NBodySimulation:
    G = 6.674e-3

    def __init__(self, n, seed=0, softening=0.1):
        r = np.random.default_rng(seed)
        self.positions = r.normal(size=(n, 3))
        self.velocities = r.normal(scale=0.1, size=(n, 3))
        self.masses = r.uniform(0.5, 1.5, size=n)
        self.softening = softening
        self.time = 0.0

    def accelerations(self):
        acc = np.zeros_like(self.positions)
        n = len(self.masses)
        for i in range(n):
            for j in range(n):
                if i == j:
                    continue
                r = self.positions[j] - self.positions[i]
                dist = np.sqrt(np.sum(r**2) + self.softening**2)
                acc[i] += self.G * self.masses[j] * r / dist**3
        return acc

    def step(self, dt):
        acc = self.accelerations()
        self.velocities += 0.5 * dt * acc
        self.positions += dt * self.velocities
        self.velocities += 0.5 * dt * self.accelerations()
        self.time += dt

    @property
    def energy(self):
        kinetic = 0.5 * np.sum(self.masses * np.sum(self.velocities**2, axis=1))
        potential = 0.0
        for i in range(len(self.masses)):
            for j in range(i + 1, len(self.masses)):
                d = np.linalg.norm(self.positions[i] - self.positions[j])
                potential -= self.G * self.masses[i] * self.masses[j] / d
        return kinetic + potential

    def run(self, steps, dt=0.01):
        return [(self.step(dt), self.energy)[1] for _ in range(steps)]


PROGRAMS.add(
    NBodySimulation.step,
    lambda: (NBodySimulation(6), 0.01),
    lambda: (NBodySimulation(9, 1), 0.1),
)
PROGRAMS.add(
    NBodySimulation.run,
    lambda: (NBodySimulation(4), 5),
    lambda: (NBodySimulation(5, 1), 3, 0.1),
)


class IsingModel:
    def __init__(self, size, temperature, seed=0):
        self.rng = np.random.default_rng(seed)
        self.lattice = self.rng.choice([-1, 1], size=(size, size))
        self.beta = 1.0 / temperature
        self.N = size

    def mc_move(self):
        for _ in range(self.N * self.N):
            a = self.rng.integers(0, self.N)
            b = self.rng.integers(0, self.N)
            s = self.lattice[a, b]
            nb = (
                self.lattice[(a + 1) % self.N, b]
                + self.lattice[a, (b + 1) % self.N]
                + self.lattice[(a - 1) % self.N, b]
                + self.lattice[a, (b - 1) % self.N]
            )
            cost = 2 * s * nb
            if cost < 0:
                s *= -1
            elif self.rng.random() < np.exp(-cost * self.beta):
                s *= -1
            self.lattice[a, b] = s
        return self.lattice

    def magnetization(self):
        return abs(np.sum(self.lattice)) / self.N**2


PROGRAMS.add(IsingModel.mc_move, lambda: (IsingModel(8, 2.0),), lambda: (IsingModel(10, 4.0, 1),))
PROGRAMS.add(
    IsingModel.magnetization, lambda: (IsingModel(8, 2.0),), lambda: (IsingModel(10, 4.0, 1),)
)


def sir_model(S0, I0, R0, beta, gamma, days):
    N = S0 + I0 + R0
    S, I, R = [S0], [I0], [R0]  # noqa: E741
    for day in range(days):
        new_infections = beta * S[-1] * I[-1] / N
        new_recoveries = gamma * I[-1]
        S.append(S[-1] - new_infections)
        I.append(I[-1] + new_infections - new_recoveries)
        R.append(R[-1] + new_recoveries)
    peak_day = int(np.argmax(I))
    return np.array(S), np.array(I), np.array(R), peak_day


PROGRAMS.add(sir_model, lambda: (990, 10, 0, 0.3, 0.1, 60), lambda: (99.0, 1.0, 0.0, 0.5, 0.2, 45))


def gillespie_birth_death(birth, death, n0, t_max, seed):
    r = np.random.default_rng(seed)
    t, n = 0.0, n0
    times, counts = [t], [n]
    while t < t_max and n > 0:
        rates = np.array([birth * n, death * n])
        total = rates.sum()
        t += r.exponential(1.0 / total)
        if r.random() < rates[0] / total:
            n += 1
        else:
            n -= 1
        times.append(t)
        counts.append(n)
    return np.array(times), np.array(counts)


PROGRAMS.add(
    gillespie_birth_death,
    lambda: (0.9, 1.0, 20, 5.0, 0),
    lambda: (1.0, 3.0, 5, 10.0, 1),
)


class Boid:
    def __init__(self, position, velocity):
        self.position = np.asarray(position, dtype=float)
        self.velocity = np.asarray(velocity, dtype=float)


class Flock:
    def __init__(self, n, seed=0, radius=3.0, max_speed=1.0):
        r = np.random.default_rng(seed)
        self.boids = [Boid(r.uniform(0, 10, 2), r.normal(size=2)) for _ in range(n)]
        self.radius = radius
        self.max_speed = max_speed

    def neighbours(self, boid):
        return [
            other
            for other in self.boids
            if other is not boid and np.linalg.norm(other.position - boid.position) < self.radius
        ]

    def step(self, dt=0.1):
        for boid in self.boids:
            near = self.neighbours(boid)
            if near:
                center = sum(b.position for b in near) / len(near)
                heading = sum(b.velocity for b in near) / len(near)
                boid.velocity += 0.05 * (center - boid.position)
                boid.velocity += 0.1 * (heading - boid.velocity)
            speed = np.linalg.norm(boid.velocity)
            if speed > self.max_speed:
                boid.velocity *= self.max_speed / speed
        for boid in self.boids:
            boid.position += boid.velocity * dt


PROGRAMS.add(Flock.step, lambda: (Flock(6),), lambda: (Flock(8, 1, radius=1.0), 0.5))


def random_walk_2d(n_steps, seed):
    random.seed(seed)
    x, y = 0, 0
    path = [(x, y)]
    for _ in range(n_steps):
        direction = random.choice(["up", "down", "left", "right"])
        if direction == "up":
            y += 1
        elif direction == "down":
            y -= 1
        elif direction == "left":
            x -= 1
        else:
            x += 1
        path.append((x, y))
    return path, math.hypot(x, y)


PROGRAMS.add(random_walk_2d, lambda: (50, 0), lambda: (80, 4))


class HeatEquation2D:
    def __init__(self, nx, ny, alpha=0.1, dx=1.0):
        self.u = np.zeros((nx, ny))
        self.alpha, self.dx = alpha, dx
        self.dt = dx**2 / (4 * alpha)

    def set_boundary(self, top=0.0, bottom=0.0, left=0.0, right=0.0):
        self.u[0, :], self.u[-1, :] = top, bottom
        self.u[:, 0], self.u[:, -1] = left, right

    def solve(self, max_steps=100, tol=1e-3):
        r = self.alpha * self.dt / self.dx**2
        for n in range(max_steps):
            old = self.u.copy()
            for i in range(1, self.u.shape[0] - 1):
                for j in range(1, self.u.shape[1] - 1):
                    self.u[i, j] = old[i, j] + r * (
                        old[i + 1, j]
                        + old[i - 1, j]
                        + old[i, j + 1]
                        + old[i, j - 1]
                        - 4 * old[i, j]
                    )
            if np.max(np.abs(self.u - old)) < tol:
                return n
        return max_steps


def plate(*boundary):
    made = HeatEquation2D(10, 12)
    made.set_boundary(*boundary)
    return made


PROGRAMS.add(
    HeatEquation2D.solve,
    lambda: (plate(1.0), 20),
    lambda: (plate(0.0, 1.0, 2.0), 100, 0.1),
)
PROGRAMS.add(
    HeatEquation2D.set_boundary,
    lambda: (plate(), 1.0, 2.0),
    lambda: (plate(3.0), 0.0, 0.0, 1.0, 2.0),
)


def nagel_schreckenberg(road_length, n_cars, v_max, p_slow, steps, rng):
    road = np.full(road_length, -1)
    road[rng.choice(road_length, n_cars, replace=False)] = 0
    history = [road.copy()]
    for _ in range(steps):
        new_road = np.full(road_length, -1)
        for i in range(road_length):
            if road[i] >= 0:
                v = min(road[i] + 1, v_max)
                gap = 1
                while road[(i + gap) % road_length] < 0 and gap <= v:
                    gap += 1
                v = min(v, gap - 1)
                if v > 0 and rng.random() < p_slow:
                    v -= 1
                new_road[(i + v) % road_length] = v
        road = new_road
        history.append(road.copy())
    return np.array(history)


PROGRAMS.add(
    nagel_schreckenberg,
    lambda: (40, 10, 5, 0.3, 10, rng()),
    lambda: (30, 15, 3, 0.0, 8, rng(1)),
)


def lorenz(state, sigma=10.0, rho=28.0, beta=8 / 3):
    x, y, z = state
    return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def lorenz_trajectory(state, n, dt=0.01):
    states = np.empty((n + 1, 3))
    states[0] = state
    for i in range(n):
        k1 = lorenz(states[i])
        k2 = lorenz(states[i] + dt / 2 * k1)
        k3 = lorenz(states[i] + dt / 2 * k2)
        k4 = lorenz(states[i] + dt * k3)
        states[i + 1] = states[i] + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return states


PROGRAMS.add(
    lorenz_trajectory,
    lambda: ((1.0, 1.0, 1.0), 50),
    lambda: (np.array([0.0, 2.0, 20.0]), 80, 0.005),
)


class ForestFire:
    EMPTY, TREE, FIRE = 0, 1, 2

    def __init__(self, shape, p_growth=0.05, p_lightning=0.01, seed=0):
        self.rng = np.random.default_rng(seed)
        self.grid = self.rng.choice([self.EMPTY, self.TREE], size=shape, p=[0.3, 0.7])
        self.p_growth, self.p_lightning = p_growth, p_lightning
        self.burned = 0

    def step(self):
        fire = np.pad(self.grid == self.FIRE, 1)
        near = fire[:-2, 1:-1] | fire[2:, 1:-1] | fire[1:-1, :-2] | fire[1:-1, 2:]
        r = self.rng.random(self.grid.shape)
        new = self.grid.copy()
        new[self.grid == self.FIRE] = self.EMPTY
        ignite = (self.grid == self.TREE) & (near | (r < self.p_lightning))
        new[ignite] = self.FIRE
        new[(self.grid == self.EMPTY) & (r < self.p_growth)] = self.TREE
        self.burned += int(ignite.sum())
        self.grid = new


PROGRAMS.add(
    ForestFire.step,
    lambda: (ForestFire((12, 15)),),
    lambda: (ForestFire((20, 9), p_lightning=0.3, seed=1),),
)
