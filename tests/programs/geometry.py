"""Geometry: rotations, quaternions, coordinates on the globe, ray tests."""

from typing import NamedTuple

import numpy as np

from tests.programs.program import Program


def haversine(latitude1, longitude1, latitude2, longitude2):
    phi1, phi2 = np.deg2rad(latitude1), np.deg2rad(latitude2)
    half_phi = (phi2 - phi1) / 2
    half_lambda = np.deg2rad(longitude2 - longitude1) / 2
    a = np.sin(half_phi) ** 2 + np.cos(phi1) * np.cos(phi2) * np.sin(half_lambda) ** 2
    return 2 * 6371.0088 * np.arcsin(np.sqrt(a))


def places(rng, size):
    return (
        rng.uniform(-80, 80, (size, 1)),
        rng.uniform(-180, 180, (size, 1)),
        rng.uniform(-80, 80, 6),
        rng.uniform(-180, 180, 6),
    )


def quaternion_product(p, q):
    pw, px, py, pz = p[..., 0], p[..., 1], p[..., 2], p[..., 3]
    qw, qx, qy, qz = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    return np.stack(
        [
            pw * qw - px * qx - py * qy - pz * qz,
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
        ],
        axis=-1,
    )


def quaternions(rng, size):
    return rng.normal(size=(size, 4)), rng.normal(size=(size, 4))


def rotate_points(angles, points):
    c, s = np.cos(angles), np.sin(angles)
    rows = [np.stack([c, -s], axis=-1), np.stack([s, c], axis=-1)]
    matrices = np.stack(rows, axis=-2)
    return matrices, np.einsum("nij,nj->ni", matrices, points)


def angles_and_points(rng, size):
    return rng.uniform(-4, 4, size), rng.normal(size=(size, 2))


class Ray(NamedTuple):
    origin: np.ndarray
    direction: np.ndarray


def dot(a, b):
    return (a * b).sum(axis=-1)


def hit_spheres(ray, centres, radii):
    offset = ray.origin - centres
    b = dot(offset, ray.direction)
    c = dot(offset, offset) - radii**2
    discriminant = b * b - c
    distance = -b - np.sqrt(np.maximum(discriminant, 0))
    hit = (discriminant > 0) & (distance > 0)
    return hit, np.where(hit, distance, np.inf)


def ray_and_spheres(rng, size):
    direction = np.array([0.6, 0.0, 0.8])
    centres = rng.normal(size=(size, 3)) + 4 * direction
    return Ray(np.zeros(3), direction), centres, rng.uniform(0.5, 2, size)


def triangle_areas(vertices, faces):
    a, b, c = vertices[faces[:, 0]], vertices[faces[:, 1]], vertices[faces[:, 2]]
    u, v = b - a, c - a
    x = u[:, 1] * v[:, 2] - u[:, 2] * v[:, 1]
    y = u[:, 2] * v[:, 0] - u[:, 0] * v[:, 2]
    z = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
    return np.sqrt(x**2 + y**2 + z**2) / 2


def mesh(rng, size):
    return rng.normal(size=(size, 3)).astype(np.float32), rng.integers(0, size, (2 * size, 3))


def spherical_coordinates(xyz):
    x, y, z = xyz.T
    radius = np.linalg.norm(xyz, axis=1)
    return radius, np.arccos(np.clip(z / radius, -1, 1)), np.hypot(x, y)


def points(rng, size):
    return (rng.normal(size=(size, 3)),)


def bounding_box(points):
    low, high = points.min(axis=0), points.max(axis=0)
    return low, high, (high - low).prod(), ((points - low) / (high - low)).T


def signed_polygon_area(x, y):
    return 0.5 * (x * np.roll(y, -1) - y * np.roll(x, -1)).sum()


def polygon(rng, size):
    angle = np.sort(rng.uniform(0, 2 * np.pi, size))
    return np.cos(angle), np.sin(angle)


PROGRAMS = [
    Program(haversine, places, "order", 16),
    Program(quaternion_product, quaternions),
    Program(rotate_points, angles_and_points, "order", 8),
    Program(hit_spheres, ray_and_spheres, "order", 256),
    Program(triangle_areas, mesh),
    Program(spherical_coordinates, points, "order", 16),
    Program(bounding_box, points, "order", 8),
    Program(signed_polygon_area, polygon, "order", 16),
]
