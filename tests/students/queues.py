"""Queues: deques, and breadth first search."""

from collections import deque

from tests.students.program import Family, numbers

PROGRAMS = Family()

MAZE = [
    [0, 0, 1, 0, 0, 0, 0],
    [1, 0, 1, 0, 1, 1, 0],
    [0, 0, 0, 0, 1, 0, 0],
    [0, 1, 1, 1, 1, 0, 1],
    [0, 0, 0, 0, 0, 0, 0],
]


def hot_potato(names, number):
    queue = deque(names)
    out = []
    while len(queue) > 1:
        for _ in range(number):
            queue.append(queue.popleft())
        out.append(queue.popleft())
    return queue[0], out


PROGRAMS.add(hot_potato, (numbers(20), 3), (["ann"], 2), ([], 2), (["ann", "bob", "cid", "dan"], 7))


def shortest_path_in_grid(grid, start, goal):
    rows, columns = len(grid), len(grid[0])
    queue = deque([(start, 0)])
    visited = {start}
    while queue:
        (row, column), distance = queue.popleft()
        if (row, column) == goal:
            return distance
        for dr, dc in [(0, 1), (1, 0), (0, -1), (-1, 0)]:
            r, c = row + dr, column + dc
            if 0 <= r < rows and 0 <= c < columns and grid[r][c] == 0 and (r, c) not in visited:
                visited.add((r, c))
                queue.append(((r, c), distance + 1))
    return -1


PROGRAMS.add(
    shortest_path_in_grid,
    (MAZE, (0, 0), (4, 6)),
    ([[0, 1], [1, 0]], (0, 0), (1, 1)),
    ([[0]], (0, 0), (0, 0)),
    (MAZE, (4, 6), (0, 3)),
)
