"""Singly linked lists, by nodes alone and in a class."""

from dataclasses import dataclass

from tests.students.program import Family, numbers

PROGRAMS = Family()


class Node:
    def __init__(self, value, next=None):
        self.value = value
        self.next = next


def chain(values):
    head = None
    for value in reversed(values):
        head = Node(value, head)
    return head


def loop_back(values, to):
    head = chain(values)
    nodes = []
    node = head
    while node:
        nodes.append(node)
        node = node.next
    nodes[-1].next = nodes[to]
    return head


def from_list(values):
    if not values:
        return None
    head = Node(values[0])
    tail = head
    for value in values[1:]:
        tail.next = Node(value)
        tail = tail.next
    return head


PROGRAMS.add(from_list, (numbers(20),), ([],), ([7],), (numbers(50, seed=2),))


@dataclass
class Item:
    value: object
    next: "Item | None" = None


def append_all(values):
    head = None
    tail = None
    for value in values:
        node = Item(value)
        if head is None:
            head = node
            tail = node
        else:
            tail.next = node
            tail = node
    return head


PROGRAMS.add(append_all, (numbers(20),), ([],), (["a", "b"],), (numbers(50, seed=2),))


def count_up(n):
    head = tail = Item(0)
    for k in range(n):
        tail.next = Item(k)
        tail = tail.next
    return head


PROGRAMS.add(count_up, (10,), (0,), (3,), (40,))


def reverse(head):
    previous = None
    current = head
    while current is not None:
        following = current.next
        current.next = previous
        previous = current
        current = following
    return previous


PROGRAMS.add(reverse, (chain(numbers(15)),), (None,), (chain([9]),), (chain(numbers(40, seed=2)),))


def delete(head, value):
    dummy = Node(0, head)
    node = dummy
    while node.next:
        if node.next.value == value:
            node.next = node.next.next
        else:
            node = node.next
    return dummy.next


PROGRAMS.add(
    delete,
    (chain([1, 2, 3, 2, 5, 2, 2, 8, 1, 2]), 2),
    (chain([1, 1, 1]), 1),
    (None, 1),
    (chain(numbers(30, below=8)), 3),
)


def has_cycle(head):
    slow = fast = head
    while fast and fast.next:
        slow = slow.next
        fast = fast.next.next
        if slow is fast:
            return True
    return False


PROGRAMS.add(
    has_cycle, (chain(numbers(20)),), (loop_back(numbers(12), 5),), (None,), (loop_back([1], 0),)
)


class LinkedList:
    def __init__(self):
        self.head = None
        self.size = 0

    def append(self, value):
        node = Node(value)
        if self.head is None:
            self.head = node
        else:
            current = self.head
            while current.next:
                current = current.next
            current.next = node
        self.size += 1

    def remove(self, value):
        previous, current = None, self.head
        while current:
            if current.value == value:
                if previous:
                    previous.next = current.next
                else:
                    self.head = current.next
                self.size -= 1
                return
            previous, current = current, current.next
        raise ValueError(f"{value} is not in the list")

    def __iter__(self):
        node = self.head
        while node:
            yield node.value
            node = node.next

    def __len__(self):
        return self.size

    def __str__(self):
        return " -> ".join(str(value) for value in self)


def edit_linked_list(to_add, to_remove):
    numbers = LinkedList()
    for value in to_add:
        numbers.append(value)
    print(numbers)
    for value in to_remove:
        numbers.remove(value)
    print(numbers, len(numbers))
    return numbers, list(numbers)


PROGRAMS.add(edit_linked_list, (numbers(20), [28, 4]), ([5], [5]), ([], []), ([1, 2, 3, 4], [1, 9]))
