"""Orders, paths and flows in graphs."""

import heapq
from collections import defaultdict, deque

import numpy as np

from .graphs import maze, weights
from .program import Family

PROGRAMS = Family()


def topological_sort(adj):
    indegree = defaultdict(int)
    for u in adj:
        for v in adj[u]:
            indegree[v] += 1
    queue = deque(u for u in adj if indegree[u] == 0)
    order = []
    while queue:
        u = queue.popleft()
        order.append(u)
        for v in adj[u]:
            indegree[v] -= 1
            if indegree[v] == 0:
                queue.append(v)
    if len(order) != len(adj):
        raise ValueError("graph has a cycle")
    return order


PROGRAMS.add(
    topological_sort,
    lambda: ({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []},),
    lambda: ({0: [1], 1: [0]},),
)


def topological_levels(adj):
    """Kahn's algorithm on a matrix."""
    indegree = adj.sum(axis=0)
    ready = [i for i in range(len(adj)) if indegree[i] == 0]
    order = []
    while ready:
        u = ready.pop()
        order.append(u)
        for v in range(len(adj)):
            if adj[u, v]:
                indegree[v] -= 1
                if indegree[v] == 0:
                    ready.append(v)
    return order if len(order) == len(adj) else None


PROGRAMS.add(
    topological_levels,
    lambda: (np.triu(weights(9) < 12, 1).astype(int),),
    lambda: (np.ones((3, 3), int),),
)


def a_star(grid, start, goal):
    def heuristic(a, b):
        return abs(a[0] - b[0]) + abs(a[1] - b[1])

    open_set = [(heuristic(start, goal), 0, start)]
    came_from = {}
    g_score = {start: 0}
    while open_set:
        _, g, current = heapq.heappop(open_set)
        if current == goal:
            path = [current]
            while current in came_from:
                current = came_from[current]
                path.append(current)
            return path[::-1]
        for d in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            nxt = (current[0] + d[0], current[1] + d[1])
            if not (0 <= nxt[0] < grid.shape[0] and 0 <= nxt[1] < grid.shape[1]):
                continue
            if grid[nxt]:
                continue
            tentative = g + 1
            if tentative < g_score.get(nxt, float("inf")):
                came_from[nxt] = current
                g_score[nxt] = tentative
                heapq.heappush(open_set, (tentative + heuristic(nxt, goal), tentative, nxt))
    return None


PROGRAMS.add(
    a_star,
    lambda: (maze(7, 7), (0, 0), (6, 6)),
    lambda: (maze(5, 8, 2), (0, 0), (4, 7)),
)


def greedy_coloring(adj):
    n = len(adj)
    result = [-1] * n
    result[0] = 0
    for u in range(1, n):
        available = [True] * n
        for v in range(n):
            if adj[u][v] and result[v] != -1:
                available[result[v]] = False
        color = 0
        while not available[color]:
            color += 1
        result[u] = color
    return result, max(result) + 1


PROGRAMS.add(greedy_coloring, lambda: (weights(10) < 9,), lambda: (weights(7, 1) < 15,))


def max_flow(capacity, source, sink):
    n = len(capacity)
    residual = capacity.copy()
    flow = 0
    while True:
        parent = [-1] * n
        parent[source] = source
        queue = [source]
        while queue and parent[sink] == -1:
            u = queue.pop(0)
            for v in range(n):
                if parent[v] == -1 and residual[u, v] > 0:
                    parent[v] = u
                    queue.append(v)
        if parent[sink] == -1:
            return flow
        push = float("inf")
        v = sink
        while v != source:
            push = min(push, residual[parent[v], v])
            v = parent[v]
        v = sink
        while v != source:
            residual[parent[v], v] -= push
            residual[v, parent[v]] += push
            v = parent[v]
        flow += push


PROGRAMS.add(
    max_flow,
    lambda: (np.nan_to_num(weights(7), posinf=0), 0, 6),
    lambda: (np.nan_to_num(weights(9, 1), posinf=0), 0, 8),
)


def count_triangles(adj):
    count = 0
    for i in range(len(adj)):
        for j in range(i + 1, len(adj)):
            if adj[i, j]:
                for k in range(j + 1, len(adj)):
                    if adj[j, k] and adj[i, k]:
                        count += 1
    return count


PROGRAMS.add(count_triangles, lambda: (weights(12) < 15,), lambda: (weights(9, 1) < 10,))
