"""Agents that learn, and the worlds they act in."""

import numpy as np

from .program import Family

PROGRAMS = Family()


class GridWorld:
    ACTIONS = {0: (-1, 0), 1: (1, 0), 2: (0, -1), 3: (0, 1)}

    def __init__(self, size, walls=()):
        self.size = size
        self.walls = set(walls)
        self.goal = (size - 1, size - 1)
        self.reset()

    def reset(self):
        self.pos = (0, 0)
        self.steps = 0
        return self.pos

    def step(self, action):
        dr, dc = self.ACTIONS[action]
        r = min(max(self.pos[0] + dr, 0), self.size - 1)
        c = min(max(self.pos[1] + dc, 0), self.size - 1)
        if (r, c) not in self.walls:
            self.pos = (r, c)
        self.steps += 1
        done = self.pos == self.goal
        return self.pos, (1.0 if done else -0.01), done


PROGRAMS.add(
    GridWorld.step,
    lambda: (GridWorld(4), 1),
    lambda: (GridWorld(3, [(0, 1)]), 3),
)


class QLearningAgent:
    def __init__(self, n_states, n_actions, alpha=0.1, gamma=0.95, epsilon=0.2, seed=0):
        self.Q = np.zeros((n_states, n_actions))
        self.alpha, self.gamma, self.epsilon = alpha, gamma, epsilon
        self.rng = np.random.default_rng(seed)

    def choose_action(self, state):
        if self.rng.uniform(0, 1) < self.epsilon:
            return int(self.rng.integers(self.Q.shape[1]))
        return int(np.argmax(self.Q[state]))

    def update(self, state, action, reward, next_state, done=False):
        target = reward if done else reward + self.gamma * np.max(self.Q[next_state])
        self.Q[state, action] += self.alpha * (target - self.Q[state, action])

    def train(self, size, episodes, max_steps=40):
        """A corridor with its goal at the end."""
        returns = []
        for _ in range(episodes):
            state, total = 0, 0.0
            for _ in range(max_steps):
                action = self.choose_action(state)
                next_state = min(max(state + (1 if action == 1 else -1), 0), size - 1)
                reward = 1.0 if next_state == size - 1 else -0.1
                done = next_state == size - 1
                self.update(state, action, reward, next_state, done)
                total += reward
                state = next_state
                if done:
                    break
            returns.append(total)
        return returns


PROGRAMS.add(
    QLearningAgent.choose_action,
    lambda: (QLearningAgent(5, 3), 2),
    lambda: (QLearningAgent(5, 3, epsilon=1.0), 4),
)


PROGRAMS.add(
    QLearningAgent.update,
    lambda: (QLearningAgent(5, 3), 2, 1, 1.0, 3),
    lambda: (QLearningAgent(5, 3), 4, 0, -1, 4, True),
)


PROGRAMS.add(
    QLearningAgent.train,
    lambda: (QLearningAgent(6, 2), 6, 10),
    lambda: (QLearningAgent(4, 2, seed=1), 4, 6, 20),
)


def value_iteration(P, R, gamma=0.9, theta=1e-6):
    """P: (states, actions, states), R: (states, actions)."""
    n_states, n_actions = R.shape
    V = np.zeros(n_states)
    while True:
        delta = 0
        for s in range(n_states):
            v = V[s]
            V[s] = max(R[s, a] + gamma * np.dot(P[s, a], V) for a in range(n_actions))
            delta = max(delta, abs(v - V[s]))
        if delta < theta:
            break
    policy = np.array(
        [
            np.argmax([R[s, a] + gamma * P[s, a] @ V for a in range(n_actions)])
            for s in range(n_states)
        ]
    )
    return V, policy


def decision_process(n, m, seed=0):
    rng = np.random.default_rng(seed)
    P = rng.random((n, m, n))
    return P / P.sum(axis=2, keepdims=True), rng.normal(size=(n, m))


PROGRAMS.add(
    value_iteration, lambda: decision_process(6, 3), lambda: (*decision_process(4, 2, 1), 0.5, 1e-3)
)
