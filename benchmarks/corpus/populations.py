"""Minimisation by random candidates and populations."""

import numpy as np

from .optimisers import rastrigin, rosenbrock, sphere
from .program import Family

PROGRAMS = Family()


def simulated_annealing(objective, bounds, n_iterations, step_size, temp, seed=1):
    rng = np.random.default_rng(seed)
    best = bounds[:, 0] + rng.random(len(bounds)) * (bounds[:, 1] - bounds[:, 0])
    best_eval = objective(best)
    curr, curr_eval = best, best_eval
    scores = []
    for i in range(n_iterations):
        candidate = curr + rng.standard_normal(len(bounds)) * step_size
        candidate_eval = objective(candidate)
        if candidate_eval < best_eval:
            best, best_eval = candidate, candidate_eval
            scores.append(best_eval)
        diff = candidate_eval - curr_eval
        t = temp / float(i + 1)
        metropolis = np.exp(-diff / t)
        if diff < 0 or rng.random() < metropolis:
            curr, curr_eval = candidate, candidate_eval
    return [best, best_eval, scores]


PROGRAMS.add(
    simulated_annealing,
    lambda: (sphere, np.array([[-5.0, 5.0]]), 100, 0.1, 10),
    lambda: (rastrigin, np.array([[-5.0, 5.0]] * 2), 60, 0.5, 5.0, 2),
)


class Particle:
    def __init__(self, x, v):
        self.position = x
        self.velocity = v
        self.best_position = x.copy()
        self.best_value = float("inf")

    def update(self, global_best, rng, w=0.5, c1=1.0, c2=1.5):
        r1, r2 = rng.random(), rng.random()
        self.velocity = (
            w * self.velocity
            + c1 * r1 * (self.best_position - self.position)
            + c2 * r2 * (global_best - self.position)
        )
        self.position = self.position + self.velocity


class Swarm:
    def __init__(self, f, n, dim, seed=0):
        self.f = f
        self.rng = np.random.default_rng(seed)
        self.particles = [Particle(self.rng.uniform(-3, 3, dim), np.zeros(dim)) for _ in range(n)]
        self.gbest_value = float("inf")
        self.gbest_position = np.zeros(dim)

    def optimize(self, iterations):
        for _ in range(iterations):
            for p in self.particles:
                value = self.f(p.position)
                if value < p.best_value:
                    p.best_value = value
                    p.best_position = p.position
                if value < self.gbest_value:
                    self.gbest_value = value
                    self.gbest_position = p.position
            for p in self.particles:
                p.update(self.gbest_position, self.rng)
        return self.gbest_position, self.gbest_value


PROGRAMS.add(
    Swarm.optimize, lambda: (Swarm(sphere, 5, 2), 10), lambda: (Swarm(rosenbrock, 4, 3, 1), 6)
)


def differential_evolution(fobj, bounds, mut=0.8, crossp=0.7, popsize=8, its=15, seed=0):
    rng = np.random.default_rng(seed)
    dimensions = len(bounds)
    pop = rng.random((popsize, dimensions))
    min_b, max_b = np.asarray(bounds).T
    diff = np.fabs(min_b - max_b)
    pop_denorm = min_b + pop * diff
    fitness = np.asarray([fobj(ind) for ind in pop_denorm])
    best_idx = np.argmin(fitness)
    best = pop_denorm[best_idx]
    for _ in range(its):
        for j in range(popsize):
            idxs = [idx for idx in range(popsize) if idx != j]
            a, b, c = pop[rng.choice(idxs, 3, replace=False)]
            mutant = np.clip(a + mut * (b - c), 0, 1)
            cross_points = rng.random(dimensions) < crossp
            if not np.any(cross_points):
                cross_points[rng.integers(0, dimensions)] = True
            trial = np.where(cross_points, mutant, pop[j])
            trial_denorm = min_b + trial * diff
            f = fobj(trial_denorm)
            if f < fitness[j]:
                fitness[j] = f
                pop[j] = trial
                if f < fitness[best_idx]:
                    best_idx = j
                    best = trial_denorm
    return best, fitness[best_idx]


PROGRAMS.add(
    differential_evolution,
    lambda: (sphere, [(-5, 5)] * 3),
    lambda: (rosenbrock, [(-2, 2)] * 2, 0.5, 0.9, 6, 8),
)


def genetic_algorithm(fitness, n_bits, n_pop, n_iter, r_cross, r_mut, seed=0):
    rng = np.random.default_rng(seed)

    def selection(pop, scores, k=3):
        best = rng.integers(len(pop))
        for ix in rng.integers(0, len(pop), k - 1):
            if scores[ix] > scores[best]:
                best = ix
        return pop[best]

    def crossover(p1, p2):
        c1, c2 = p1.copy(), p2.copy()
        if rng.random() < r_cross:
            pt = rng.integers(1, len(p1) - 1)
            c1 = np.concatenate([p1[:pt], p2[pt:]])
            c2 = np.concatenate([p2[:pt], p1[pt:]])
        return [c1, c2]

    pop = [rng.integers(0, 2, n_bits) for _ in range(n_pop)]
    best, best_eval = pop[0], fitness(pop[0])
    for _ in range(n_iter):
        scores = [fitness(c) for c in pop]
        for i in range(n_pop):
            if scores[i] > best_eval:
                best, best_eval = pop[i], scores[i]
        selected = [selection(pop, scores) for _ in range(n_pop)]
        children = []
        for i in range(0, n_pop, 2):
            for c in crossover(selected[i], selected[i + 1]):
                flip = rng.random(n_bits) < r_mut
                c[flip] = 1 - c[flip]
                children.append(c)
        pop = children
    return best, best_eval


PROGRAMS.add(
    genetic_algorithm,
    lambda: (np.sum, 12, 6, 5, 0.9, 0.1),
    lambda: (lambda c: c[::2].sum() - c[1::2].sum(), 10, 4, 4, 0.8, 0.2, 1),
)
