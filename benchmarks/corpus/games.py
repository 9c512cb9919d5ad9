"""Games, agents and cellular automata."""

import random

import numpy as np

from .program import Family

PROGRAMS = Family()


def cells(h, w, seed=0, p=0.35):
    return (np.random.default_rng(seed).random((h, w)) < p).astype(int)


class GameOfLife:
    def __init__(self, grid):
        self.grid = np.asarray(grid)
        self.generation = 0

    def count_neighbours(self, row, col):
        total = 0
        rows, cols = self.grid.shape
        for dr in (-1, 0, 1):
            for dc in (-1, 0, 1):
                if dr == 0 and dc == 0:
                    continue
                total += self.grid[(row + dr) % rows][(col + dc) % cols]
        return total

    def step(self):
        new = np.zeros_like(self.grid)
        for r in range(self.grid.shape[0]):
            for c in range(self.grid.shape[1]):
                n = self.count_neighbours(r, c)
                if self.grid[r, c] and n in (2, 3):
                    new[r, c] = 1
                elif not self.grid[r, c] and n == 3:
                    new[r, c] = 1
        self.grid = new
        self.generation += 1

    def run(self, generations):
        populations = []
        for _ in range(generations):
            self.step()
            populations.append(int(self.grid.sum()))
            if populations[-1] == 0:
                break
        return populations


PROGRAMS.add(
    GameOfLife.step, lambda: (GameOfLife(cells(8, 9)),), lambda: (GameOfLife(cells(6, 12, 1)),)
)
PROGRAMS.add(
    GameOfLife.run,
    lambda: (GameOfLife(cells(8, 8)), 6),
    lambda: (GameOfLife(cells(5, 5, 1, 0.1)), 4),
)


def elementary_automaton(rule, width, steps):
    rules = np.array([int(b) for b in np.binary_repr(rule, 8)])[::-1]
    state = np.zeros((steps, width), dtype=np.int8)
    state[0, width // 2] = 1
    for i in range(1, steps):
        left, right = np.roll(state[i - 1], 1), np.roll(state[i - 1], -1)
        state[i] = rules[4 * left + 2 * state[i - 1] + right]
    return state


PROGRAMS.add(elementary_automaton, lambda: (30, 31, 15), lambda: (110, 20, 18))


class LangtonsAnt:
    DIRECTIONS = [(-1, 0), (0, 1), (1, 0), (0, -1)]

    def __init__(self, size):
        self.grid = np.zeros((size, size), dtype=bool)
        self.row = self.col = size // 2
        self.direction = 0

    def move(self, steps):
        for _ in range(steps):
            if self.grid[self.row, self.col]:
                self.direction = (self.direction - 1) % 4
            else:
                self.direction = (self.direction + 1) % 4
            self.grid[self.row, self.col] = not self.grid[self.row, self.col]
            dr, dc = self.DIRECTIONS[self.direction]
            self.row = (self.row + dr) % self.grid.shape[0]
            self.col = (self.col + dc) % self.grid.shape[1]


PROGRAMS.add(LangtonsAnt.move, lambda: (LangtonsAnt(11), 60), lambda: (LangtonsAnt(7), 150))


class WireWorld:
    EMPTY, HEAD, TAIL, WIRE = range(4)

    def __init__(self, grid):
        self.grid = grid

    def next(self):
        new = self.grid.copy()
        h, w = self.grid.shape
        for i in range(h):
            for j in range(w):
                cell = self.grid[i, j]
                if cell == self.HEAD:
                    new[i, j] = self.TAIL
                elif cell == self.TAIL:
                    new[i, j] = self.WIRE
                elif cell == self.WIRE:
                    block = self.grid[max(0, i - 1) : i + 2, max(0, j - 1) : j + 2]
                    if 1 <= np.count_nonzero(block == self.HEAD) <= 2:
                        new[i, j] = self.HEAD
        self.grid = new
        return new


PROGRAMS.add(
    WireWorld.next,
    lambda: (WireWorld(np.random.default_rng(0).integers(0, 4, size=(7, 8))),),
    lambda: (WireWorld(np.random.default_rng(1).integers(0, 4, size=(5, 9))),),
)


def winner(board):
    """+1, -1 or 0 of a board of tic-tac-toe."""
    lines = [board[i, :] for i in range(3)] + [board[:, j] for j in range(3)]
    lines += [np.diag(board), np.diag(np.fliplr(board))]
    for line in lines:
        if abs(line.sum()) == 3:
            return int(line[0])
    return 0


def minimax(board, player):
    w = winner(board)
    if w != 0 or not (board == 0).any():
        return w, None
    best_score, best_move = -2 * player, None
    for i in range(3):
        for j in range(3):
            if board[i, j] == 0:
                board[i, j] = player
                score, _ = minimax(board, -player)
                board[i, j] = 0
                if score * player > best_score * player:
                    best_score, best_move = score, (i, j)
    return best_score, best_move


def board(*rows):
    return np.array([[{"x": 1, "o": -1}.get(c, 0) for c in row] for row in rows])


PROGRAMS.add(
    winner,
    lambda: (board("xxx", "oo.", "..."),),
    lambda: (board("oxx", ".ox", "x.o"),),
    lambda: (board("...", "...", "..."),),
)
PROGRAMS.add(
    minimax,
    lambda: (board("xox", "oxo", ".x."), -1),
    lambda: (board("xo.", "ox.", "..."), 1),
)


def connect_four_winner(grid, length=4):
    rows, cols = grid.shape
    for r in range(rows):
        for c in range(cols):
            player = grid[r, c]
            if player == 0:
                continue
            for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1)):
                count = 0
                y, x = r, c
                while 0 <= y < rows and 0 <= x < cols and grid[y, x] == player:
                    count += 1
                    if count == length:
                        return player
                    y, x = y + dr, x + dc
    return 0


PROGRAMS.add(
    connect_four_winner,
    lambda: (np.random.default_rng(0).integers(0, 3, size=(6, 7)),),
    lambda: (np.eye(6, 7, dtype=int),),
)


def slide_left(row):
    """One row of 2048: the tiles, and the score of the move."""
    tiles = [v for v in row if v != 0]
    merged, score = [], 0
    skip = False
    for i in range(len(tiles)):
        if skip:
            skip = False
            continue
        if i + 1 < len(tiles) and tiles[i] == tiles[i + 1]:
            merged.append(tiles[i] * 2)
            score += tiles[i] * 2
            skip = True
        else:
            merged.append(tiles[i])
    return np.array(merged + [0] * (len(row) - len(merged))), score


PROGRAMS.add(slide_left, lambda: (np.array([2, 2, 0, 4]),), lambda: (np.array([2, 0, 2, 2, 4, 4]),))


def minesweeper_numbers(mines):
    h, w = mines.shape
    out = np.zeros((h, w), dtype=int)
    for (i, j), mine in np.ndenumerate(mines):
        if mine:
            out[i, j] = -1
            continue
        for y in range(max(0, i - 1), min(h, i + 2)):
            for x in range(max(0, j - 1), min(w, j + 2)):
                out[i, j] += mines[y, x]
    return out


PROGRAMS.add(minesweeper_numbers, lambda: (cells(6, 8),), lambda: (cells(5, 5, 1, 0.2),))


class Snake:
    def __init__(self, width, height):
        self.width, self.height = width, height
        self.body = [(2, 2), (1, 2)]
        self.direction = (1, 0)
        self.food = (4, 2)
        self.score = 0
        self.alive = True

    def step(self, turn=None):
        if not self.alive:
            return False
        if turn is not None:
            dx, dy = self.direction
            self.direction = (dy, -dx) if turn == "left" else (-dy, dx)
        head = (self.body[0][0] + self.direction[0], self.body[0][1] + self.direction[1])
        if not (0 <= head[0] < self.width and 0 <= head[1] < self.height) or head in self.body:
            self.alive = False
            return False
        self.body.insert(0, head)
        if head == self.food:
            self.score += 1
            self.food = ((self.food[0] * 7 + 3) % self.width, (self.food[1] * 5 + 1) % self.height)
        else:
            self.body.pop()
        return True


PROGRAMS.add(
    Snake.step,
    lambda: (Snake(8, 6),),
    lambda: (Snake(8, 3), "right"),
    lambda: (Snake(5, 5), "left"),
)


def dice_poker_scores(n_games, seed):
    rng = random.Random(seed)
    counts = {"pair": 0, "triple": 0, "other": 0}
    for _ in range(n_games):
        dice = [rng.randint(1, 6) for _ in range(3)]
        distinct = len(set(dice))
        if distinct == 1:
            counts["triple"] += 1
        elif distinct == 2:
            counts["pair"] += 1
        else:
            counts["other"] += 1
    return counts


PROGRAMS.add(dice_poker_scores, lambda: (30, 0), lambda: (50, 3))
