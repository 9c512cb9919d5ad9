"""Graphs as dictionaries and edge lists."""

import heapq

from tests.students.program import Family

PROGRAMS = Family()


def depth_first(graph, node, visited=None):
    if visited is None:
        visited = []
    visited.append(node)
    for neighbour in graph[node]:
        if neighbour not in visited:
            depth_first(graph, neighbour, visited)
    return visited


PROGRAMS.add(
    depth_first,
    ({k: [2 * k % 17, 3 * k % 17] for k in range(17)}, 1),
    ({"A": ["B", "C"], "B": ["D"], "C": ["D"], "D": []}, "A"),
    ({"A": []}, "A"),
    ({"A": ["B"]}, "A"),
)


def dijkstra(graph, start):
    distances = {node: float("inf") for node in graph}
    distances[start] = 0
    heap = [(0, start)]
    while heap:
        distance, node = heapq.heappop(heap)
        if distance > distances[node]:
            continue
        for neighbour, weight in graph[node].items():
            new_distance = distance + weight
            if new_distance < distances[neighbour]:
                distances[neighbour] = new_distance
                heapq.heappush(heap, (new_distance, neighbour))
    return distances


PROGRAMS.add(
    dijkstra,
    ({"A": {"B": 1, "C": 4}, "B": {"C": 2, "D": 5}, "C": {"D": 1}, "D": {}}, "A"),
    ({k: {(2 * k + 1) % 20: k + 1, (k + 3) % 20: 5} for k in range(20)}, 0),
    ({"A": {}}, "A"),
    ({1: {2: 7.5, 3: 2.0}, 2: {}, 3: {2: 3.0, 1: 1.0}}, 3),
)


class UnionFind:
    def __init__(self, n):
        self.parent = list(range(n))
        self.rank = [0] * n
        self.groups = n

    def find(self, x):
        if self.parent[x] != x:
            self.parent[x] = self.find(self.parent[x])
        return self.parent[x]

    def union(self, a, b):
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if self.rank[a] < self.rank[b]:
            a, b = b, a
        self.parent[b] = a
        if self.rank[a] == self.rank[b]:
            self.rank[a] += 1
        self.groups -= 1
        return True


def kruskal(n, edges):
    sets = UnionFind(n)
    tree = []
    total = 0
    for weight, a, b in sorted(edges):
        if sets.union(a, b):
            tree.append((a, b))
            total += weight
    return total, tree, sets


PROGRAMS.add(
    kruskal,
    (4, [(1, 0, 1), (3, 0, 2), (2, 1, 2), (4, 2, 3)]),
    (3, []),
    (2, [(5, 0, 1), (1, 1, 0)]),
    (20, [(7 * k % 23, k % 20, 3 * k % 20) for k in range(40)]),
)


def topological_sort(graph):
    incoming = {node: 0 for node in graph}
    for node in graph:
        for neighbour in graph[node]:
            incoming[neighbour] += 1
    ready = [node for node in graph if incoming[node] == 0]
    order = []
    while ready:
        node = ready.pop(0)
        order.append(node)
        for neighbour in graph[node]:
            incoming[neighbour] -= 1
            if incoming[neighbour] == 0:
                ready.append(neighbour)
    if len(order) != len(graph):
        raise ValueError("the graph has a cycle")
    return order


PROGRAMS.add(
    topological_sort,
    (
        {
            "shirt": ["tie"],
            "tie": ["jacket"],
            "trousers": ["shoes", "jacket"],
            "shoes": [],
            "jacket": [],
        },
    ),
    ({},),
    ({"A": ["B"], "B": ["A"]},),
    ({k: [j for j in (k + 2, 2 * k) if k < j < 20] for k in range(20)},),
)
