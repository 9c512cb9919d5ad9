"""Data structures: heaps, trees, lists, matrices."""

import numpy as np

from .program import Family

PROGRAMS = Family()


class MinHeap:
    def __init__(self, capacity=64):
        self.data = np.zeros(capacity)
        self.size = 0

    def push(self, value):
        if self.size == len(self.data):
            raise OverflowError("heap is full")
        i = self.size
        self.data[i] = value
        self.size += 1
        while i > 0 and self.data[(i - 1) // 2] > self.data[i]:
            p = (i - 1) // 2
            self.data[i], self.data[p] = self.data[p], self.data[i]
            i = p

    def pop(self):
        if self.size == 0:
            raise IndexError("pop from an empty heap")
        top = self.data[0]
        self.size -= 1
        self.data[0] = self.data[self.size]
        i = 0
        while True:
            left, right, smallest = 2 * i + 1, 2 * i + 2, i
            if left < self.size and self.data[left] < self.data[smallest]:
                smallest = left
            if right < self.size and self.data[right] < self.data[smallest]:
                smallest = right
            if smallest == i:
                return top
            self.data[i], self.data[smallest] = self.data[smallest], self.data[i]
            i = smallest

    def sort(self, values):
        for v in values:
            self.push(v)
        return [self.pop() for _ in range(len(values))]


def heap(n):
    made = MinHeap()
    for v in np.random.default_rng(n).random(n):
        made.push(v)
    return made


PROGRAMS.add(
    MinHeap.push,
    lambda: (heap(9), 0.1),
    lambda: (heap(4), 2),
    lambda: (MinHeap(0), 1.0),
)
PROGRAMS.add(MinHeap.pop, lambda: (heap(9),), lambda: (MinHeap(),), lambda: (heap(20),))
PROGRAMS.add(
    MinHeap.sort,
    lambda: (MinHeap(), np.random.default_rng(0).random(20)),
    lambda: (MinHeap(8), [3.0, 1.0, 2.0]),
)


class ListHeap:
    def __init__(self):
        self.heap = []

    def parent(self, i):
        return (i - 1) // 2

    def insert(self, k):
        self.heap.append(k)
        i = len(self.heap) - 1
        while i != 0 and self.heap[self.parent(i)] > self.heap[i]:
            p = self.parent(i)
            self.heap[i], self.heap[p] = self.heap[p], self.heap[i]
            i = p


def list_heap(n):
    made = ListHeap()
    for v in np.random.default_rng(n).integers(100, size=n):
        made.insert(int(v))
    return made


PROGRAMS.add(ListHeap.insert, lambda: (list_heap(6), 3), lambda: (list_heap(9), 50))


def heapsort(a):
    n = len(a)

    def sift_down(start, end):
        root = start
        while 2 * root + 1 <= end:
            child = 2 * root + 1
            if child + 1 <= end and a[child] < a[child + 1]:
                child += 1
            if a[root] < a[child]:
                a[root], a[child] = a[child], a[root]
                root = child
            else:
                return

    for start in range((n - 2) // 2, -1, -1):
        sift_down(start, n - 1)
    for end in range(n - 1, 0, -1):
        a[0], a[end] = a[end], a[0]
        sift_down(0, end - 1)
    return a


PROGRAMS.add(
    heapsort,
    lambda: (np.random.default_rng(0).random(20),),
    lambda: (np.random.default_rng(1).integers(50, size=33),),
)


class RingBuffer:
    def __init__(self, capacity, dtype=float):
        self.buffer = np.zeros(capacity, dtype=dtype)
        self.capacity = capacity
        self.head = 0
        self.full = False

    def __len__(self):
        return self.capacity if self.full else self.head

    def append(self, value):
        self.buffer[self.head] = value
        self.head = (self.head + 1) % self.capacity
        if self.head == 0:
            self.full = True

    def to_array(self):
        if not self.full:
            return self.buffer[: self.head].copy()
        return np.concatenate((self.buffer[self.head :], self.buffer[: self.head]))

    def extend_and_average(self, values):
        averages = []
        for v in values:
            self.append(v)
            averages.append(self.to_array().mean())
        return averages


def ring(n, capacity=5):
    made = RingBuffer(capacity)
    for k in range(n):
        made.append(k * 1.5)
    return made


PROGRAMS.add(RingBuffer.append, lambda: (ring(3), 1.0), lambda: (ring(4), 2))
PROGRAMS.add(RingBuffer.to_array, lambda: (ring(3),), lambda: (ring(7),))
PROGRAMS.add(
    RingBuffer.extend_and_average,
    lambda: (ring(0), np.arange(12.0)),
    lambda: (ring(3, 4), np.arange(9)),
)


class Stack:
    def __init__(self, limit=10):
        self.items = []
        self.limit = limit

    def is_empty(self):
        return len(self.items) == 0

    def push(self, item):
        if len(self.items) >= self.limit:
            raise OverflowError("stack overflow")
        self.items.append(item)

    def pop(self):
        if self.is_empty():
            raise IndexError("pop from empty stack")
        return self.items.pop()

    def peek(self):
        return None if self.is_empty() else self.items[-1]


def stack(*items, limit=10):
    made = Stack(limit)
    made.items.extend(items)
    return made


PROGRAMS.add(Stack.push, lambda: (stack(1.0), 2.0), lambda: (stack(1, 2, limit=2), 3))
PROGRAMS.add(Stack.pop, lambda: (stack(1.0, 2.0, 3.0),), lambda: (stack(5),))


class LinkedNode:
    def __init__(self, data, next=None):
        self.data = data
        self.next = next


class LinkedList:
    def __init__(self, items=()):
        self.head = None
        self.length = 0
        for item in items:
            self.append(item)

    def append(self, data):
        node = LinkedNode(data)
        self.length += 1
        if self.head is None:
            self.head = node
            return
        current = self.head
        while current.next:
            current = current.next
        current.next = node

    def reverse(self):
        previous, current = None, self.head
        while current is not None:
            current.next, previous, current = previous, current, current.next
        self.head = previous

    def __iter__(self):
        node = self.head
        while node:
            yield node.data
            node = node.next

    def total(self):
        return sum(self)


PROGRAMS.add(LinkedList.append, lambda: (LinkedList([1.0, 2.0]), 3.0), lambda: (LinkedList(), 1))
PROGRAMS.add(LinkedList.reverse, lambda: (LinkedList([1.0, 2.0, 3.0]),), lambda: (LinkedList(),))
PROGRAMS.add(LinkedList.total, lambda: (LinkedList([1.0, 2.0, 3.0]),), lambda: (LinkedList([4]),))


class TreeNode:
    def __init__(self, key):
        self.key = key
        self.left = None
        self.right = None


class BinarySearchTree:
    def __init__(self):
        self.root = None
        self.size = 0

    def insert(self, key):
        node = TreeNode(key)
        if self.root is None:
            self.root = node
            self.size = 1
            return True
        current = self.root
        while True:
            if key == current.key:
                return False
            if key < current.key:
                if current.left is None:
                    current.left = node
                    break
                current = current.left
            else:
                if current.right is None:
                    current.right = node
                    break
                current = current.right
        self.size += 1
        return True

    def inorder(self):
        out = []

        def visit(node):
            if node:
                visit(node.left)
                out.append(node.key)
                visit(node.right)

        visit(self.root)
        return out


def tree(*keys):
    made = BinarySearchTree()
    for k in keys:
        made.insert(k)
    return made


PROGRAMS.add(
    BinarySearchTree.insert,
    lambda: (tree(5.0, 2.0, 8.0), 3.0),
    lambda: (tree(5, 2), 2),
    lambda: (tree(), 1.0),
)
PROGRAMS.add(
    BinarySearchTree.inorder,
    lambda: (tree(5.0, 2.0, 8.0, 6.0),),
    lambda: (tree(),),
)
