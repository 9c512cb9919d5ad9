"""Simulations."""

from tests.students.program import Family, decimals, numbers

PROGRAMS = Family()


class Random:
    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (1103515245 * self.state + 12345) % 2147483648
        return self.state

    def choice(self, items):
        return items[self.next() // 65536 % len(items)]


def random_walk(steps, seed):
    generator = Random(seed)
    x = y = 0
    path = [(x, y)]
    for _ in range(steps):
        dx, dy = generator.choice([(1, 0), (-1, 0), (0, 1), (0, -1)])
        x += dx
        y += dy
        path.append((x, y))
    return path, abs(x) + abs(y)


PROGRAMS.add(random_walk, (40, 42), (0, 1), (100, 7), (3, 2**31 - 1))


def count_neighbours(board, row, column):
    count = 0
    for i in range(row - 1, row + 2):
        for j in range(column - 1, column + 2):
            if (i, j) != (row, column) and 0 <= i < len(board) and 0 <= j < len(board[0]):
                count += board[i][j]
    return count


def game_of_life(board, generations):
    for _ in range(generations):
        new_board = [row[:] for row in board]
        for i in range(len(board)):
            for j in range(len(board[0])):
                neighbours = count_neighbours(board, i, j)
                if board[i][j] == 1 and neighbours not in (2, 3):
                    new_board[i][j] = 0
                elif board[i][j] == 0 and neighbours == 3:
                    new_board[i][j] = 1
        board = new_board
    return board


PROGRAMS.add(
    game_of_life,
    ([[(i * j + i + j) % 3 % 2 for j in range(8)] for i in range(6)], 5),
    ([[1, 1], [1, 1]], 3),
    ([[1, 0, 1], [0, 1, 0]], 0),
    ([[0, 1, 0, 0], [0, 0, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0]], 12),
)


class InsufficientFunds(Exception):
    def __init__(self, needed, available):
        super().__init__(f"needed {needed}, have {available}")
        self.needed = needed
        self.available = available


class BankAccount:
    def __init__(self, owner, balance=0):
        self.owner = owner
        self.balance = balance
        self.history = []

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("amount must be positive")
        self.balance += amount
        self.history.append(("deposit", amount))

    def withdraw(self, amount):
        if amount > self.balance:
            raise InsufficientFunds(amount, self.balance)
        self.balance -= amount
        self.history.append(("withdraw", amount))

    def __repr__(self):
        return f"BankAccount({self.owner}, {self.balance})"


def bank(movements):
    account = BankAccount("Ann")
    failed = 0
    for amount in movements:
        try:
            if amount < 0:
                account.withdraw(-amount)
            else:
                account.deposit(amount)
        except InsufficientFunds as error:
            failed += 1
            print("failed:", error, error.needed - error.available)
    print(account)
    return account, failed


PROGRAMS.add(
    bank,
    ([100, -30, -100, 50, -20, -200, 10, 10, -1],),
    ([],),
    ([10, 0],),
    ([12.5, -2.5, -10.0, -0.5],),
)


class Customer:
    def __init__(self, arrival, service):
        self.arrival = arrival
        self.service = service
        self.finished = None


def queue_at_the_counter(arrivals):
    customers = [Customer(time, service) for time, service in arrivals]
    waiting = []
    done = []
    serving = None
    clock = 0
    while customers or waiting or serving:
        while customers and customers[0].arrival <= clock:
            waiting.append(customers.pop(0))
        if serving is not None and serving.finished <= clock:
            done.append(serving)
            serving = None
        if serving is None and waiting:
            serving = waiting.pop(0)
            serving.finished = clock + serving.service
        clock += 1
    waits = [c.finished - c.service - c.arrival for c in done]
    average = sum(waits) / len(waits)
    return done, average


PROGRAMS.add(
    queue_at_the_counter,
    ([(2 * k, (5 * k + 3) % 4 + 1) for k in range(12)],),
    ([(5, 1)],),
    ([],),
    ([(k // 3, k % 2 + 1) for k in range(30)],),
)


class Elevator:
    def __init__(self, floors):
        self.floors = floors
        self.floor = 0
        self.direction = 1
        self.requests = set()
        self.visited = []

    def request(self, floor):
        if not 0 <= floor < self.floors:
            raise ValueError(f"no floor {floor}")
        self.requests.add(floor)

    def step(self):
        if self.floor in self.requests:
            self.requests.remove(self.floor)
            self.visited.append(self.floor)
        if not self.requests:
            return False
        if self.direction == 1 and max(self.requests) < self.floor:
            self.direction = -1
        elif self.direction == -1 and min(self.requests) > self.floor:
            self.direction = 1
        self.floor += self.direction
        return True


def elevator(floors, requests):
    lift = Elevator(floors)
    for floor in requests:
        lift.request(floor)
    steps = 0
    while lift.step():
        steps += 1
    return lift, steps


PROGRAMS.add(elevator, (30, numbers(12, below=30)), (5, []), (4, [2, 9]), (8, [7, 0, 7, 2, 5]))


def restock(stock, orders):
    backlog = {}
    for item, amount in orders:
        if item not in stock:
            raise KeyError(item)
        if stock[item] >= amount:
            stock[item] -= amount
        else:
            backlog[item] = backlog.get(item, 0) + amount - stock[item]
            stock[item] = 0
    return backlog


PROGRAMS.add(
    restock,
    ({"pen": 10, "ink": 3, "cap": 0}, [("pen", 4), ("ink", 5), ("pen", 7), ("cap", 1)]),
    ({"pen": 1}, []),
    ({"pen": 1}, [("pen", 1), ("cup", 2)]),
    ({"pen": 2.5}, [("pen", 1.0), ("pen", 1.0), ("pen", 1.0)]),
)


def merge_intervals(intervals):
    intervals.sort()
    merged = []
    for interval in intervals:
        if merged and interval[0] <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], interval[1])
        else:
            merged.append(interval)
    return merged


PROGRAMS.add(
    merge_intervals,
    ([[7 * k % 40, 7 * k % 40 + k % 5] for k in range(15)],),
    ([[1, 3], [2, 6], [8, 10]],),
    ([],),
    ([[5.5, 6.5], [0.5, 9.0]],),
)


def best_player(scores):
    best = None
    for player, points in scores:
        record = {"name": player, "points": points, "wins": 0}
        if best is None or record["points"] > best["points"]:
            best = record
            best["wins"] += 1
    return best


PROGRAMS.add(
    best_player,
    ([("ann", 3), ("bob", 7), ("cid", 5)],),
    ([],),
    ([("ann", 0)],),
    (list(enumerate(numbers(20))),),
)


def diffuse(rod, steps):
    current = rod
    new = [0.0] * len(rod)
    for _ in range(steps):
        for i in range(len(current)):
            left = current[i - 1] if i > 0 else current[i]
            right = current[i + 1] if i < len(current) - 1 else current[i]
            new[i] = current[i] + 0.25 * (left - 2 * current[i] + right)
        current, new = new, current
    return current


PROGRAMS.add(diffuse, (decimals(20), 7), ([1.0], 3), ([], 2), ([0.0, 0.0, 8.0, 0.0, 0.0], 4))
