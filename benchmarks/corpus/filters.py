"""Filters and controllers, most of them classes with a state."""

from collections import deque

import numpy as np

from .program import Family

PROGRAMS = Family()


def noise(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


class KalmanFilter:
    def __init__(self, F, H, Q, R, P, x0):
        self.n = F.shape[1]
        self.m = H.shape[1]
        self.F = F
        self.H = H
        self.B = None
        self.Q = np.eye(self.n) if Q is None else Q
        self.R = np.eye(self.n) if R is None else R
        self.P = np.eye(self.n) if P is None else P
        self.x = np.zeros((self.n, 1)) if x0 is None else x0

    def predict(self, u=0):
        self.x = np.dot(self.F, self.x)
        if self.B is not None:
            self.x = self.x + np.dot(self.B, u)
        self.P = np.dot(np.dot(self.F, self.P), self.F.T) + self.Q
        return self.x

    def update(self, z):
        y = z - np.dot(self.H, self.x)
        S = self.R + np.dot(self.H, np.dot(self.P, self.H.T))
        K = np.dot(np.dot(self.P, self.H.T), np.linalg.inv(S))
        self.x = self.x + np.dot(K, y)
        eye = np.eye(self.n)
        self.P = np.dot(np.dot(eye - np.dot(K, self.H), self.P), (eye - np.dot(K, self.H)).T)
        self.P += np.dot(np.dot(K, self.R), K.T)

    def filter(self, measurements):
        predictions = []
        for z in measurements:
            predictions.append(np.dot(self.H, self.predict())[0])
            self.update(z)
        return predictions


def kalman(with_control=False):
    dt = 1.0 / 60
    F = np.array([[1, dt, 0], [0, 1, dt], [0, 0, 1]])
    H = np.array([1, 0, 0]).reshape(1, 3)
    Q = np.array([[0.05, 0.05, 0.0], [0.05, 0.05, 0.0], [0.0, 0.0, 0.0]])
    made = KalmanFilter(F, H, Q, np.array([0.5]).reshape(1, 1), None, None)
    if with_control:
        made.B = np.ones((3, 1))
    return made


PROGRAMS.add(KalmanFilter.predict, lambda: (kalman(),), lambda: (kalman(True), np.array([[0.5]])))
PROGRAMS.add(KalmanFilter.update, lambda: (kalman(), 1.5), lambda: (kalman(), np.float64(-2.0)))
PROGRAMS.add(
    KalmanFilter.filter, lambda: (kalman(), noise(50)), lambda: (kalman(), noise(80, seed=1))
)


class ExtendedKalmanFilter:
    def __init__(self):
        self.state = np.zeros(4)
        self.cov = np.eye(4)
        self.Q = np.diag([0.1, 0.1, np.deg2rad(1.0), 1.0]) ** 2
        self.R = np.diag([1.0, 1.0]) ** 2

    def motion_model(self, x, u, dt):
        return np.array(
            [
                x[0] + dt * np.cos(x[2]) * u[0],
                x[1] + dt * np.sin(x[2]) * u[0],
                x[2] + dt * u[1],
                u[0],
            ]
        )

    def jacob_f(self, x, u, dt):
        yaw, v = x[2], u[0]
        return np.array(
            [
                [1.0, 0.0, -dt * v * np.sin(yaw), dt * np.cos(yaw)],
                [0.0, 1.0, dt * v * np.cos(yaw), dt * np.sin(yaw)],
                [0.0, 0.0, 1.0, 0.0],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )

    def step(self, z, u, dt=0.1):
        pred = self.motion_model(self.state, u, dt)
        jF = self.jacob_f(pred, u, dt)
        cov = jF @ self.cov @ jF.T + self.Q
        jH = np.array([[1, 0, 0, 0], [0, 1, 0, 0]])
        y = z - jH @ pred
        S = jH @ cov @ jH.T + self.R
        K = cov @ jH.T @ np.linalg.inv(S)
        self.state = pred + K @ y
        self.cov = (np.eye(len(self.state)) - K @ jH) @ cov
        return self.state, self.cov


PROGRAMS.add(
    ExtendedKalmanFilter.step,
    lambda: (ExtendedKalmanFilter(), noise(2), np.array([1.0, 0.1])),
    lambda: (ExtendedKalmanFilter(), noise(2, seed=1), [0.5, -0.2], 0.05),
)


class PIDController:
    def __init__(self, kp, ki, kd, setpoint=0.0, output_limits=(None, None)):
        self.kp, self.ki, self.kd = kp, ki, kd
        self.setpoint = setpoint
        self.output_limits = output_limits
        self.integral = 0
        self.prev_error = None

    def update(self, measurement, dt):
        if dt <= 0:
            raise ValueError(f"dt has negative value {dt}, must be positive")
        error = self.setpoint - measurement
        self.integral += error * dt
        derivative = 0 if self.prev_error is None else (error - self.prev_error) / dt
        output = self.kp * error + self.ki * self.integral + self.kd * derivative
        low, high = self.output_limits
        if high is not None and output > high:
            output = high
            self.integral -= error * dt
        elif low is not None and output < low:
            output = low
            self.integral -= error * dt
        self.prev_error = error
        return output


PROGRAMS.add(
    PIDController.update,
    lambda: (PIDController(1.0, 0.1, 0.05, 10.0), 2.0, 0.1),
    lambda: (PIDController(2.0, 0.5, 0.0, 5.0, (-3.0, 3.0)), 9.0, 0.01),
    lambda: (PIDController(1.0, 0.1, 0.05), 2.0, 0.0),
)


def simulate_pid(kp, ki, kd, setpoint, steps, dt=0.1):
    pid = PIDController(kp, ki, kd, setpoint, output_limits=(-10, 10))
    temperature = 20.0
    history = []
    for _ in range(steps):
        power = pid.update(temperature, dt)
        temperature += (power - 0.1 * (temperature - 20.0)) * dt
        history.append(temperature)
    return np.array(history)


PROGRAMS.add(
    simulate_pid,
    lambda: (2.0, 0.5, 0.1, 25.0, 100),
    lambda: (9.0, 0.0, 0.0, 60.0, 57),
)


class ComplementaryFilter:
    def __init__(self, alpha=0.98):
        self.alpha = alpha
        self.angle = 0.0

    def update(self, accel, gyro, dt):
        ax, ay, az = accel
        pitch = np.degrees(np.arctan2(ay, np.sqrt(ax**2 + az**2)))
        self.angle = self.alpha * (self.angle + gyro * dt) + (1 - self.alpha) * pitch
        return self.angle


PROGRAMS.add(
    ComplementaryFilter.update,
    lambda: (ComplementaryFilter(), noise(3), 0.3, 0.01),
    lambda: (ComplementaryFilter(0.9), (0.1, 0.2, 9.7), -2.0, 0.02),
)


class MovingAverageFilter:
    def __init__(self, window):
        self.window = window
        self.values = deque(maxlen=window)
        self.total = 0.0

    def update(self, x):
        if len(self.values) == self.window:
            self.total -= self.values[0]
        self.values.append(x)
        self.total += x
        return self.total / len(self.values)

    def smooth(self, xs):
        return np.array([self.update(x) for x in xs])


PROGRAMS.add(
    MovingAverageFilter.update,
    lambda: (MovingAverageFilter(3), 1.5),
    lambda: (MovingAverageFilter(1), -1.0),
)
PROGRAMS.add(
    MovingAverageFilter.smooth,
    lambda: (MovingAverageFilter(5), noise(40)),
    lambda: (MovingAverageFilter(3), noise(25, seed=1)),
)


class LowPassFilter:
    def __init__(self, cutoff, dt):
        rc = 1.0 / (2 * np.pi * cutoff)
        self.alpha = dt / (rc + dt)
        self.last = None

    def __call__(self, x):
        if self.last is None:
            self.last = x
        else:
            self.last = self.last + self.alpha * (x - self.last)
        return self.last


PROGRAMS.add(
    LowPassFilter.__call__,
    lambda: (LowPassFilter(10.0, 0.01), 2.0),
    lambda: (LowPassFilter(10.0, 0.01), noise(4)),
)


class Biquad:
    """A second-order section in direct form II."""

    def __init__(self, b, a):
        self.b = [x / a[0] for x in b]
        self.a = [x / a[0] for x in a]
        self.z1 = self.z2 = 0.0

    def process(self, x):
        y = np.empty_like(x)
        b0, b1, b2 = self.b
        _, a1, a2 = self.a
        for n, sample in enumerate(x):
            out = b0 * sample + self.z1
            self.z1 = b1 * sample - a1 * out + self.z2
            self.z2 = b2 * sample - a2 * out
            y[n] = out
        return y


PROGRAMS.add(
    Biquad.process,
    lambda: (Biquad([0.2, 0.4, 0.2], [1.0, -0.5, 0.25]), noise(100)),
    lambda: (Biquad([1.0, 0.0, -1.0], [2.0, 0.1, 0.3]), noise(64, seed=1)),
)


class ParticleFilter:
    def __init__(self, n, seed=0):
        self.rng = np.random.default_rng(seed)
        self.particles = self.rng.uniform(-5, 5, size=n)
        self.weights = np.ones(n) / n

    def step(self, z, motion=0.0, noise_std=0.3):
        self.particles += motion + self.rng.normal(0, noise_std, size=len(self.particles))
        self.weights *= np.exp(-0.5 * (z - self.particles) ** 2)
        self.weights += 1e-300
        self.weights /= self.weights.sum()
        if 1.0 / np.sum(self.weights**2) < len(self.particles) / 2:
            self._resample()
        mean = np.average(self.particles, weights=self.weights)
        return mean, np.average((self.particles - mean) ** 2, weights=self.weights)

    def _resample(self):
        n = len(self.particles)
        positions = (self.rng.random() + np.arange(n)) / n
        cumulative = np.cumsum(self.weights)
        indexes = np.zeros(n, dtype=int)
        i, j = 0, 0
        while i < n:
            if j == n - 1 or positions[i] < cumulative[j]:
                indexes[i] = j
                i += 1
            else:
                j += 1
        self.particles = self.particles[indexes]
        self.weights.fill(1.0 / n)


PROGRAMS.add(
    ParticleFilter.step,
    lambda: (ParticleFilter(100), 1.0),
    lambda: (ParticleFilter(60, 1), 4.0, 0.5),
)


def solve_dare(A, B, Q, R, eps=0.01, max_iter=150):
    """Solve a discrete-time algebraic Riccati equation."""
    x = x_next = Q
    for _ in range(max_iter):
        x_next = A.T @ x @ A - A.T @ x @ B @ np.linalg.inv(R + B.T @ x @ B) @ B.T @ x @ A + Q
        if (abs(x_next - x)).max() < eps:
            break
        x = x_next
    return x_next


PROGRAMS.add(
    solve_dare,
    lambda: (np.array([[1, 0.1], [0, 1]]), np.array([[0], [0.1]]), np.eye(2), np.eye(1)),
    lambda: (np.eye(3) * 0.9, np.ones((3, 1)), np.eye(3), np.eye(1) * 2, 1e-6, 40),
)


def savitzky_golay(y, window_size, order):
    if window_size % 2 != 1 or window_size < 1:
        raise TypeError("window_size size must be a positive odd number")
    half_window = (window_size - 1) // 2
    b = np.array([[k**i for i in range(order + 1)] for k in range(-half_window, half_window + 1)])
    m = np.linalg.pinv(b)[0]
    firstvals = y[0] - np.abs(y[1 : half_window + 1][::-1] - y[0])
    lastvals = y[-1] + np.abs(y[-half_window - 1 : -1][::-1] - y[-1])
    y = np.concatenate((firstvals, y, lastvals))
    return np.convolve(m[::-1], y, mode="valid")


PROGRAMS.add(
    savitzky_golay,
    lambda: (noise(50), 7, 2),
    lambda: (noise(30, seed=1), 5, 3),
    lambda: (noise(30, seed=1), 4, 3),
)


class MadgwickAHRS:
    def __init__(self, beta=0.1, period=1 / 256):
        self.beta, self.period = beta, period
        self.q = np.array([1.0, 0.0, 0.0, 0.0])

    def update_imu(self, gyroscope, accelerometer):
        q = self.q
        norm = np.linalg.norm(accelerometer)
        if norm == 0:
            return
        a = accelerometer / norm
        f = np.array(
            [
                2 * (q[1] * q[3] - q[0] * q[2]) - a[0],
                2 * (q[0] * q[1] + q[2] * q[3]) - a[1],
                2 * (0.5 - q[1] ** 2 - q[2] ** 2) - a[2],
            ]
        )
        j = np.array(
            [
                [-2 * q[2], 2 * q[3], -2 * q[0], 2 * q[1]],
                [2 * q[1], 2 * q[0], 2 * q[3], 2 * q[2]],
                [0, -4 * q[1], -4 * q[2], 0],
            ]
        )
        step = j.T.dot(f)
        step /= np.linalg.norm(step)
        gx, gy, gz = gyroscope
        qdot = 0.5 * np.array(
            [
                -q[1] * gx - q[2] * gy - q[3] * gz,
                q[0] * gx + q[2] * gz - q[3] * gy,
                q[0] * gy - q[1] * gz + q[3] * gx,
                q[0] * gz + q[1] * gy - q[2] * gx,
            ]
        )
        q = q + (qdot - self.beta * step) * self.period
        self.q = q / np.linalg.norm(q)


PROGRAMS.add(
    MadgwickAHRS.update_imu,
    lambda: (MadgwickAHRS(), noise(3), noise(3, seed=1)),
    lambda: (MadgwickAHRS(), noise(3), np.zeros(3)),
)
