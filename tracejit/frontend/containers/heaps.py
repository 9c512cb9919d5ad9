"""The functions of heapq, as Python that is traced: lists are left as `heapq` leaves them."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

from tracejit.frontend.containers.traced import permuting, traced
from tracejit.frontend.tracing.checks import class_of
from tracejit.frontend.tracing.interpreter import Interpreter

__all__ = ["HEAP_CALLS"]


@permuting
def rise(heap: Any, place: Any, root: Any) -> None:
    """Move an element towards a root, past all parents that it is less than."""
    item = heap[place]
    while place > root:
        above = (place - 1) // 2
        parent = heap[above]
        if not item < parent:
            break
        heap[place] = parent
        place = above
    heap[place] = item


@permuting
def settle(heap: Any, root: Any) -> None:
    """Let the lesser children of an element move up to a leaf, and the element rise from there."""
    size, place, item = len(heap), root, heap[root]
    child = 2 * place + 1
    while child < size:
        if child + 1 < size and not heap[child] < heap[child + 1]:
            child += 1
        heap[place] = heap[child]
        place = child
        child = 2 * place + 1
    heap[place] = item
    rise(heap, place, root)


@traced
def push(heap: Any, item: Any) -> None:
    """`heappush(heap, item)`."""
    heap.append(item)
    rise(heap, len(heap) - 1, 0)


@permuting
def pop(heap: Any) -> Any:
    """`heappop(heap)`."""
    if len(heap) == 0:
        raise IndexError("index out of range")
    last = heap.pop()
    if len(heap) == 0:
        return last
    least = heap[0]
    heap[0] = last
    settle(heap, 0)
    return least


@traced
def replace(heap: Any, item: Any) -> Any:
    """`heapreplace(heap, item)`."""
    if len(heap) == 0:
        raise IndexError("index out of range")
    least = heap[0]
    heap[0] = item
    settle(heap, 0)
    return least


@traced
def push_pop(heap: Any, item: Any) -> Any:
    """`heappushpop(heap, item)`."""
    if len(heap) > 0 and heap[0] < item:
        return replace(heap, item)
    return item


@permuting
def heapify(heap: Any) -> None:
    """`heapify(heap)`."""
    size = len(heap)
    for k in range(size // 2):
        settle(heap, size // 2 - 1 - k)


def _on_list(f: Callable[..., Any]) -> Callable[..., Any]:
    def run(interpreter: Interpreter, heap: Any, *args: Any) -> Any:
        if type(heap) is not list:
            raise TypeError(f"heap argument must be a list, not {class_of(heap).__name__}")
        return interpreter.call(f, heap, *args)

    return run


def _least(reverse: bool) -> Callable[..., Any]:
    """`nsmallest` and `nlargest`: the first elements in order."""

    def run(interpreter: Interpreter, n: Any, items: Any, key: Any = None) -> Any:
        count = interpreter.call(max, n, 0)
        ordered = interpreter.call(sorted, items, key=key, reverse=reverse)
        return interpreter.item(ordered, slice(None, count))

    return run


#: Functions of heapq -> what a call of them does.
HEAP_CALLS: dict[Any, Callable[..., Any]] = {
    heapq.heappush: _on_list(push),
    heapq.heappop: _on_list(pop),
    heapq.heapreplace: _on_list(replace),
    heapq.heappushpop: _on_list(push_pop),
    heapq.heapify: _on_list(heapify),
    heapq.nsmallest: _least(False),
    heapq.nlargest: _least(True),
}
