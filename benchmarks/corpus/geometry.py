"""Points, curves, shapes."""

import math
from dataclasses import dataclass

import numpy as np

from .program import Family

PROGRAMS = Family()


def points(n, seed=0, d=2):
    return np.random.default_rng(seed).uniform(-5, 5, size=(n, d))


def convex_hull(pts):
    """Andrew's monotone chain."""
    order = np.lexsort((pts[:, 1], pts[:, 0]))
    pts = pts[order]

    def cross(o, a, b):
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    lower = []
    for p in pts:
        while len(lower) >= 2 and cross(lower[-2], lower[-1], p) <= 0:
            lower.pop()
        lower.append(p)
    upper = []
    for p in reversed(pts):
        while len(upper) >= 2 and cross(upper[-2], upper[-1], p) <= 0:
            upper.pop()
        upper.append(p)
    return np.array(lower[:-1] + upper[:-1])


PROGRAMS.add(convex_hull, lambda: (points(20),), lambda: (points(35, 1),))


def point_in_polygon(x, y, polygon):
    n = len(polygon)
    inside = False
    p1x, p1y = polygon[0]
    for i in range(n + 1):
        p2x, p2y = polygon[i % n]
        if y > min(p1y, p2y):
            if y <= max(p1y, p2y):
                if x <= max(p1x, p2x):
                    if p1y != p2y:
                        xints = (y - p1y) * (p2x - p1x) / (p2y - p1y) + p1x
                    if p1x == p2x or x <= xints:
                        inside = not inside
        p1x, p1y = p2x, p2y
    return inside


SQUARE = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0)]

PROGRAMS.add(
    point_in_polygon,
    lambda: (1.0, 2.0, SQUARE),
    lambda: (5.0, 0.0, points(12)),
    lambda: (0.5, 0.5, points(12)),
)


def polygon_area_and_centroid(vertices):
    x, y = vertices[:, 0], vertices[:, 1]
    a = x * np.roll(y, -1) - np.roll(x, -1) * y
    area = a.sum() / 2
    if area == 0:
        raise ValueError("degenerate polygon")
    cx = ((x + np.roll(x, -1)) * a).sum() / (6 * area)
    cy = ((y + np.roll(y, -1)) * a).sum() / (6 * area)
    return abs(area), (cx, cy)


PROGRAMS.add(
    polygon_area_and_centroid,
    lambda: (np.array(SQUARE),),
    lambda: (points(9),),
    lambda: (np.zeros((3, 2)),),
)


def closest_pair(pts):
    best = float("inf")
    pair = None
    for i in range(len(pts)):
        for j in range(i + 1, len(pts)):
            d = math.dist(pts[i], pts[j])
            if d < best:
                best = d
                pair = (i, j)
    return best, pair


PROGRAMS.add(closest_pair, lambda: (points(15),), lambda: (points(24, 1, 3),))


def segment_intersection(p1, p2, p3, p4):
    x1, y1 = p1
    x2, y2 = p2
    x3, y3 = p3
    x4, y4 = p4
    denom = (y4 - y3) * (x2 - x1) - (x4 - x3) * (y2 - y1)
    if denom == 0:
        return None
    ua = ((x4 - x3) * (y1 - y3) - (y4 - y3) * (x1 - x3)) / denom
    if ua < 0 or ua > 1:
        return None
    ub = ((x2 - x1) * (y1 - y3) - (y2 - y1) * (x1 - x3)) / denom
    if ub < 0 or ub > 1:
        return None
    return (x1 + ua * (x2 - x1), y1 + ua * (y2 - y1))


PROGRAMS.add(
    segment_intersection,
    lambda: ((0.0, 0.0), (2.0, 2.0), (0.0, 2.0), (2.0, 0.0)),
    lambda: ((0.0, 0.0), (1.0, 1.0), (1.0, 0.0), (2.0, 1.0)),
    lambda: ((0.0, 0.0), (1.0, 1.0), (5.0, 0.0), (5.0, 9.0)),
)


@dataclass
class Quaternion:
    w: float
    x: float
    y: float
    z: float

    def __mul__(self, q):
        return Quaternion(
            self.w * q.w - self.x * q.x - self.y * q.y - self.z * q.z,
            self.w * q.x + self.x * q.w + self.y * q.z - self.z * q.y,
            self.w * q.y - self.x * q.z + self.y * q.w + self.z * q.x,
            self.w * q.z + self.x * q.y - self.y * q.x + self.z * q.w,
        )

    def conjugate(self):
        return Quaternion(self.w, -self.x, -self.y, -self.z)

    def norm(self):
        return math.sqrt(self.w**2 + self.x**2 + self.y**2 + self.z**2)

    def normalized(self):
        n = self.norm()
        return Quaternion(*(c / n for c in (self.w, self.x, self.y, self.z)))

    def rotate(self, v):
        q = self.normalized()
        p = q * Quaternion(0.0, *v) * q.conjugate()
        return np.array([p.x, p.y, p.z])


PROGRAMS.add(
    Quaternion.rotate,
    lambda: (Quaternion(1.0, 0.0, 1.0, 0.0), [1.0, 2.0, 3.0]),
    lambda: (Quaternion(0.5, 1.0, -1.0, 2.0), np.array([0.0, 0.0, 1.0])),
)
PROGRAMS.add(
    Quaternion.__mul__,
    lambda: (Quaternion(1.0, 0.0, 1.0, 0.0), Quaternion(0.1, 0.2, 0.3, 0.4)),
    lambda: (Quaternion(1, 2, 3, 4), Quaternion(5, 6, 7, 8)),
)


class Vector:
    def __init__(self, x=0.0, y=0.0, z=0.0):
        self.x, self.y, self.z = x, y, z

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other):
        return Vector(self.x - other.x, self.y - other.y, self.z - other.z)

    def __mul__(self, s):
        return Vector(self.x * s, self.y * s, self.z * s)

    __rmul__ = __mul__

    def dot(self, other):
        return self.x * other.x + self.y * other.y + self.z * other.z

    def __abs__(self):
        return math.sqrt(self.dot(self))

    def __repr__(self):
        return f"Vector({self.x}, {self.y}, {self.z})"


class Sphere:
    def __init__(self, center, radius, color):
        self.center, self.radius, self.color = center, radius, color

    def intersect(self, origin, direction):
        oc = origin - self.center
        a = direction.dot(direction)
        b = 2.0 * oc.dot(direction)
        c = oc.dot(oc) - self.radius * self.radius
        disc = b * b - 4 * a * c
        if disc < 0:
            return None
        t = (-b - math.sqrt(disc)) / (2 * a)
        return t if t > 0 else None


class Scene:
    def __init__(self, spheres, light):
        self.spheres, self.light = spheres, light

    def render(self, width, height):
        image = np.zeros((height, width, 3))
        origin = Vector(0, 0, -3)
        for j in range(height):
            for i in range(width):
                direction = Vector(2 * i / (width - 1) - 1, 2 * j / (height - 1) - 1, 2)
                direction = direction * (1 / abs(direction))
                nearest, hit = float("inf"), None
                for sphere in self.spheres:
                    t = sphere.intersect(origin, direction)
                    if t is not None and t < nearest:
                        nearest, hit = t, sphere
                if hit is not None:
                    point = origin + direction * nearest
                    normal = (point - hit.center) * (1 / hit.radius)
                    to_light = self.light - point
                    shade = max(0.0, normal.dot(to_light * (1 / abs(to_light))))
                    image[j, i] = np.array(hit.color) * shade
        return image


def scene(n):
    colors = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.2, 0.2, 1.0)]
    spheres = [Sphere(Vector(0.6 * k - 0.5, 0.0, 0.3 * k), 0.5, colors[k]) for k in range(n)]
    return Scene(spheres, Vector(5.0, -5.0, -5.0))


PROGRAMS.add(Scene.render, lambda: (scene(2), 8, 6), lambda: (scene(3), 6, 6))


def de_casteljau(control, t):
    beta = [c for c in control]
    n = len(beta)
    for j in range(1, n):
        for k in range(n - j):
            beta[k] = beta[k] * (1 - t) + beta[k + 1] * t
    return beta[0]


PROGRAMS.add(de_casteljau, lambda: (points(4), 0.3), lambda: ([0.0, 2.0, 3.0], 0.75))


def douglas_peucker(pts, epsilon):
    dmax, index = 0.0, 0
    start, end = pts[0], pts[-1]
    for i in range(1, len(pts) - 1):
        chord = end - start
        d = np.abs(chord[0] * (start[1] - pts[i][1]) - chord[1] * (start[0] - pts[i][0]))
        d /= np.linalg.norm(chord)
        if d > dmax:
            dmax, index = d, i
    if dmax > epsilon:
        left = douglas_peucker(pts[: index + 1], epsilon)
        right = douglas_peucker(pts[index:], epsilon)
        return np.vstack((left[:-1], right))
    return np.vstack((start, end))


PROGRAMS.add(
    douglas_peucker,
    lambda: (np.column_stack([np.arange(20.0), points(20)[:, 0]]), 2.0),
    lambda: (np.column_stack([np.arange(15.0), 0.01 * points(15)[:, 0]]), 1.0),
)


def haversine(lat1, lon1, lat2, lon2, radius=6371.0):
    lat1, lon1, lat2, lon2 = map(np.radians, [lat1, lon1, lat2, lon2])
    dlat, dlon = lat2 - lat1, lon2 - lon1
    a = np.sin(dlat / 2) ** 2 + np.cos(lat1) * np.cos(lat2) * np.sin(dlon / 2) ** 2
    return 2 * radius * np.arcsin(np.sqrt(a))


PROGRAMS.add(
    haversine,
    lambda: (52.5, 13.4, 48.9, 2.35),
    lambda: (points(6)[:, 0], points(6)[:, 1], 10.0, 20.0),
)


def icp(source, target, max_iterations=10, tolerance=1e-6):
    src = source.copy()
    prev_error = 0
    for i in range(max_iterations):
        distances = np.linalg.norm(src[:, None] - target[None], axis=2)
        nearest = distances.argmin(axis=1)
        matched = target[nearest]
        c_src, c_dst = src.mean(axis=0), matched.mean(axis=0)
        H = (src - c_src).T @ (matched - c_dst)
        U, S, Vt = np.linalg.svd(H)
        R = Vt.T @ U.T
        if np.linalg.det(R) < 0:
            Vt[-1, :] *= -1
            R = Vt.T @ U.T
        src = (R @ (src - c_src).T).T + c_dst
        mean_error = distances.min(axis=1).mean()
        if np.abs(prev_error - mean_error) < tolerance:
            break
        prev_error = mean_error
    return src, mean_error, i


PROGRAMS.add(
    icp,
    lambda: (points(15), points(15) @ np.array([[0.9, 0.1], [-0.1, 0.9]]) + 0.2),
    lambda: (points(12, 1, 3), points(12, 1, 3) + 0.1, 4),
)


class BoundingBox:
    def __init__(self, lo, hi):
        self.lo, self.hi = np.asarray(lo, float), np.asarray(hi, float)

    @classmethod
    def around(cls, pts):
        return cls(pts.min(axis=0), pts.max(axis=0))

    @property
    def volume(self):
        return float(np.prod(self.hi - self.lo))

    def contains(self, p):
        return all(self.lo <= p) and all(p <= self.hi)

    def union(self, other):
        return BoundingBox(np.minimum(self.lo, other.lo), np.maximum(self.hi, other.hi))

    def iou(self, other):
        lo, hi = np.maximum(self.lo, other.lo), np.minimum(self.hi, other.hi)
        if np.any(hi <= lo):
            return 0.0
        inter = BoundingBox(lo, hi).volume
        return inter / (self.volume + other.volume - inter)


def box(seed):
    return BoundingBox.around(points(5, seed))


PROGRAMS.add(
    BoundingBox.iou,
    lambda: (box(0), box(1)),
    lambda: (box(0), BoundingBox([50, 50], [60, 60])),
)
PROGRAMS.add(
    BoundingBox.contains, lambda: (box(0), points(1)[0]), lambda: (box(0), np.full(2, 99.0))
)


def non_max_suppression(boxes, scores, threshold):
    x1, y1, x2, y2 = boxes.T
    areas = (x2 - x1) * (y2 - y1)
    order = scores.argsort()[::-1]
    keep = []
    while order.size > 0:
        i = order[0]
        keep.append(i)
        xx1 = np.maximum(x1[i], x1[order[1:]])
        yy1 = np.maximum(y1[i], y1[order[1:]])
        xx2 = np.minimum(x2[i], x2[order[1:]])
        yy2 = np.minimum(y2[i], y2[order[1:]])
        inter = np.maximum(0.0, xx2 - xx1) * np.maximum(0.0, yy2 - yy1)
        overlap = inter / (areas[i] + areas[order[1:]] - inter)
        inds = np.where(overlap <= threshold)[0]
        order = order[inds + 1]
    return keep


def boxes(n, seed=0):
    lo = points(n, seed)
    return np.hstack([lo, lo + 4]), np.random.default_rng(seed).random(n)


PROGRAMS.add(non_max_suppression, lambda: (*boxes(15), 0.3), lambda: (*boxes(25, 1), 0.05))
