"""Algorithms on graphs and grids."""

import heapq
from collections import deque

import numpy as np

from .program import Family

PROGRAMS = Family()


def weights(n, seed=0, density=0.4):
    rng = np.random.default_rng(seed)
    w = rng.integers(1, 20, size=(n, n)).astype(float)
    w[rng.random((n, n)) > density] = np.inf
    np.fill_diagonal(w, 0)
    return w


def adjacency(n, seed=0):
    w = weights(n, seed)
    return {i: {j: w[i, j] for j in range(n) if 0 < w[i, j] < np.inf} for i in range(n)}


def edges(n, seed=0):
    w = weights(n, seed)
    return [(i, j, w[i, j]) for i in range(n) for j in range(n) if 0 < w[i, j] < np.inf]


def maze(h, w, seed=0):
    grid = (np.random.default_rng(seed).random((h, w)) < 0.25).astype(int)
    grid[0, 0] = grid[-1, -1] = 0
    return grid


def dijkstra_matrix(graph, src):
    n = len(graph)
    dist = np.full(n, np.inf)
    dist[src] = 0
    visited = np.zeros(n, dtype=bool)
    parent = np.full(n, -1)
    for _ in range(n):
        u = np.argmin(np.where(visited, np.inf, dist))
        if dist[u] == np.inf:
            break
        visited[u] = True
        for v in range(n):
            if not visited[v] and dist[u] + graph[u, v] < dist[v]:
                dist[v] = dist[u] + graph[u, v]
                parent[v] = u
    return dist, parent


PROGRAMS.add(dijkstra_matrix, lambda: (weights(12), 0), lambda: (weights(9, 1, 0.15), 3))


def dijkstra(graph, start):
    distances = {node: float("infinity") for node in graph}
    distances[start] = 0
    pq = [(0, start)]
    while len(pq) > 0:
        current_distance, current = heapq.heappop(pq)
        if current_distance > distances[current]:
            continue
        for neighbour, weight in graph[current].items():
            distance = current_distance + weight
            if distance < distances[neighbour]:
                distances[neighbour] = distance
                heapq.heappush(pq, (distance, neighbour))
    return distances


PROGRAMS.add(dijkstra, lambda: (adjacency(8), 0), lambda: (adjacency(6, 1), 2))


def bellman_ford(edges, n, source):
    dist = [float("inf")] * n
    dist[source] = 0.0
    for _ in range(n - 1):
        for u, v, w in edges:
            if dist[u] != float("inf") and dist[u] + w < dist[v]:
                dist[v] = dist[u] + w
    for u, v, w in edges:
        if dist[u] + w < dist[v]:
            raise ValueError("Graph contains a negative weight cycle")
    return dist


PROGRAMS.add(
    bellman_ford,
    lambda: (edges(7), 7, 0),
    lambda: ([(0, 1, -1.0), (1, 0, -1.0)], 2, 0),
)


def floyd_warshall(w):
    n = w.shape[0]
    dist = w.copy()
    nxt = np.where(np.isfinite(w), np.arange(n)[None, :], -1)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if dist[i, k] + dist[k, j] < dist[i, j]:
                    dist[i, j] = dist[i, k] + dist[k, j]
                    nxt[i, j] = nxt[i, k]
    return dist, nxt


PROGRAMS.add(floyd_warshall, lambda: (weights(12),), lambda: (weights(9, 1),))


def bfs_shortest_path(grid, start, goal):
    rows, cols = grid.shape
    queue = deque([(start, 0)])
    visited = {start}
    while queue:
        (r, c), dist = queue.popleft()
        if (r, c) == goal:
            return dist
        for dr, dc in [(0, 1), (1, 0), (0, -1), (-1, 0)]:
            nr, nc = r + dr, c + dc
            if 0 <= nr < rows and 0 <= nc < cols and grid[nr, nc] == 0:
                if (nr, nc) not in visited:
                    visited.add((nr, nc))
                    queue.append(((nr, nc), dist + 1))
    return -1


PROGRAMS.add(
    bfs_shortest_path,
    lambda: (maze(8, 9), (0, 0), (7, 8)),
    lambda: (maze(6, 6, 1), (0, 0), (5, 5)),
)


def bfs_distances(adj, source):
    n = adj.shape[0]
    dist = np.full(n, -1)
    dist[source] = 0
    queue = deque([source])
    while queue:
        u = queue.popleft()
        for v in np.nonzero(adj[u])[0]:
            if dist[v] == -1:
                dist[v] = dist[u] + 1
                queue.append(v)
    return dist


PROGRAMS.add(
    bfs_distances,
    lambda: (weights(14) < 8, 0),
    lambda: (weights(10, 2) < 3, 4),
)


def dfs_iterative(adj, start):
    visited, order = set(), []
    stack = [start]
    while stack:
        node = stack.pop()
        if node not in visited:
            visited.add(node)
            order.append(node)
            stack.extend(n for n in sorted(adj[node], reverse=True) if n not in visited)
    return order


PROGRAMS.add(dfs_iterative, lambda: (adjacency(9), 0), lambda: (adjacency(7, 3), 2))


class UnionFind:
    def __init__(self, n):
        self.parent = list(range(n))
        self.rank = [0] * n
        self.count = n

    def find(self, x):
        while self.parent[x] != x:
            self.parent[x] = self.parent[self.parent[x]]
            x = self.parent[x]
        return x

    def union(self, x, y):
        rx, ry = self.find(x), self.find(y)
        if rx == ry:
            return False
        if self.rank[rx] < self.rank[ry]:
            rx, ry = ry, rx
        self.parent[ry] = rx
        if self.rank[rx] == self.rank[ry]:
            self.rank[rx] += 1
        self.count -= 1
        return True


PROGRAMS.add(UnionFind.union, lambda: (UnionFind(6), 1, 4), lambda: (UnionFind(8), 0, 0))


def kruskal(n, edge_list):
    uf = UnionFind(n)
    mst, total = [], 0
    for u, v, w in sorted(edge_list, key=lambda e: e[2]):
        if uf.union(u, v):
            mst.append((u, v))
            total += w
    return mst, total


PROGRAMS.add(kruskal, lambda: (6, edges(6)), lambda: (5, edges(5, 1)))


def count_clusters(pairs, n):
    """Quick-union on arrays."""
    parent = np.arange(n)
    for a, b in pairs:
        while parent[a] != a:
            a = parent[a]
        while parent[b] != b:
            b = parent[b]
        if a != b:
            parent[b] = a
    return np.sum(parent == np.arange(n)), parent


PROGRAMS.add(
    count_clusters,
    lambda: (np.random.default_rng(0).integers(12, size=(8, 2)), 12),
    lambda: (np.random.default_rng(1).integers(20, size=(15, 2)), 20),
)


def prim(w):
    n = len(w)
    in_tree = [False] * n
    key = [np.inf] * n
    parent = [-1] * n
    key[0] = 0
    for _ in range(n):
        u, best = -1, np.inf
        for v in range(n):
            if not in_tree[v] and key[v] < best:
                u, best = v, key[v]
        if u == -1:
            break
        in_tree[u] = True
        for v in range(n):
            if 0 < w[u][v] < key[v] and not in_tree[v]:
                key[v] = w[u][v]
                parent[v] = u
    return parent, key


PROGRAMS.add(prim, lambda: (weights(9),), lambda: (weights(12, 1, 0.2),))


def pagerank(links, damping=0.85, tol=1e-8, max_iter=100):
    n = links.shape[0]
    out = links.sum(axis=1)
    M = np.zeros((n, n))
    for i in range(n):
        if out[i] == 0:
            M[:, i] = 1 / n
        else:
            M[:, i] = links[i] / out[i]
    rank = np.ones(n) / n
    for it in range(max_iter):
        new = (1 - damping) / n + damping * M @ rank
        if np.abs(new - rank).sum() < tol:
            return new, it
        rank = new
    return rank, max_iter


PROGRAMS.add(
    pagerank,
    lambda: ((weights(10) < 10).astype(float),),
    lambda: ((weights(8, 1) < 4).astype(int), 0.5, 1e-3),
)
