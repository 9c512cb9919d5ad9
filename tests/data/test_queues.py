"""Queues: their orders, who waits for what, and what a closed one still gives."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from multiprocessing.managers import BaseManager
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit import data


class Call(threading.Thread):
    """A call in a thread of its own: `result` waits for what it gives, or raises what it raises."""

    def __init__(self, function: Callable[..., Any], *args: Any) -> None:
        super().__init__(daemon=True)
        self.call, self.found, self.error = (function, args), None, None
        self.start()

    def run(self) -> None:
        function, args = self.call
        try:
            self.found = function(*args)
        except Exception as error:
            self.error = error

    def result(self) -> Any:
        self.join(60)
        assert not self.is_alive()
        if self.error is not None:
            raise self.error
        return self.found


def waiting(line: Any, count: int) -> None:
    """Wait until so many calls stand in a line."""
    for _ in range(60_000):
        if len(line) == count:
            return
        threading.Event().wait(0.001)
    raise AssertionError(f"{len(line)} calls wait, not {count}")


def test_first_in_first_out() -> None:
    queue = data.Queue(5)
    queue.put_many("abc")
    queue.put("d")
    assert (len(queue), queue.get(), queue.get_many(2), queue.get_up_to(1)) == (
        4,
        "a",
        ["b", "c"],
        ["d"],
    )
    for function in (queue.get, lambda timeout: queue.get_many(2, timeout)):
        with pytest.raises(TimeoutError, match="0 items in a queue of 5"):
            function(timeout=0.001)
    queue.put_many(range(5))
    with pytest.raises(TimeoutError, match="5 items in a queue of 5"):
        queue.put(5, timeout=0.001)
    with pytest.raises(ValueError, match="never has 6 items"):
        queue.get_many(6)
    with pytest.raises(ValueError, match="at least one"):
        queue.get_up_to(0)


def test_shuffling() -> None:
    found = []
    for _ in range(2):
        queue = data.ShuffleQueue(100, min_after_get=40, seed=np.random.default_rng(3))
        queue.put_many(range(100))
        found.append(queue.get_many(60))
        with pytest.raises(TimeoutError):
            queue.get(timeout=0.001)
        with pytest.raises(ValueError, match="never"):
            queue.get_many(61)
        queue.close()
        found[-1] += list(queue)
    assert found[0] == found[1] != sorted(found[0]) == list(range(100))


def test_priorities() -> None:
    queue = data.PriorityQueue(9)
    queue.put_many([(3, "c"), (1, "a"), (2, None), (1, "b"), (np.float32(0.5), {})])
    assert queue.get_many(5) == [(0.5, {}), (1, "a"), (1, "b"), (2, None), (3, "c")]
    for item, error in (("x", TypeError), (("x", 1), TypeError), ((np.nan, 1), ValueError)):
        with pytest.raises(error):
            queue.put(item)


def test_calls_are_served_in_their_order() -> None:
    queue = data.Queue(3)
    gets = []
    for k, n in enumerate((3, 1, 2)):
        gets.append(Call(queue.get_many, n))
        waiting(queue._gets, k + 1)
    puts = []
    # Two items are enough for the second and the third, but the first came first.
    queue.put_many([0, 1])
    waiting(queue._gets, 3)
    queue.put_many([2, 3, 4, 5])
    assert [call.result() for call in gets] == [[0, 1, 2], [3], [4, 5]]
    for k, items in enumerate(([0, 1, 2, 3, 4], [5], [6, 7])):
        puts.append(Call(queue.put_many, items))
        waiting(queue._puts, k + 1)
    assert [queue.get() for _ in range(8)] == list(range(8))
    for put in puts:
        put.result()


def test_a_closed_queue_gives_what_is_left() -> None:
    queue = data.Queue(2)
    put = Call(queue.put_many, range(5))
    waiting(queue._puts, 1)
    queue.close()
    assert queue.closed
    with pytest.raises(data.Closed):
        queue.put(9)
    # The one that waits goes on.
    assert queue.get_many(2) == [0, 1] and queue.get() == 2
    put.result()
    with pytest.raises(data.Closed, match="2 items are left"):
        queue.get_many(3)
    assert queue.get_up_to(3) == [3, 4] and list(queue) == []
    for call in (queue.get, lambda: queue.get_up_to(2)):
        with pytest.raises(data.Closed, match="0 items are left"):
            call()


def test_closing_wakes_all() -> None:
    queue = data.Queue(1)
    gets = [Call(queue.get_many, 1) for _ in range(3)]
    waiting(queue._gets, 3)
    queue.close()
    full = data.Queue(1)
    full.put(0)
    puts = [Call(full.put, k) for k in range(3)]
    waiting(full._puts, 3)
    full.close(cancel_pending=True)
    for call in gets + puts:
        with pytest.raises(data.Closed):
            call.result()
    assert list(full) == [0]


def test_many_threads() -> None:
    """Every item comes out once, and each producer's in its order."""
    queue: Any = data.Queue(4)
    items = [[(p, k) for k in range(200)] for p in range(3)]
    puts = [Call(lambda mine=mine: [queue.put(x) for x in mine]) for mine in items]
    gets = [Call(lambda: list(queue)) for _ in range(3)]
    for put in puts:
        put.result()
    queue.close()
    found = [get.result() for get in gets]
    assert sorted(sum(found, [])) == sum(items, [])
    for mine in found:
        for p in range(3):
            own = [k for q, k in mine if q == p]
            assert own == sorted(own)


def test_around_a_compiled_step() -> None:
    @tracejit.jit
    def step(w: Any, x: Any) -> Any:
        w += x.sum(0)
        return w[0]

    queue = data.Queue(8)

    def fill(start: int) -> None:
        queue.put_many(np.full((3, 2), k, float) for k in range(start, start + 50))

    fills = [Call(fill, start) for start in (0, 50)]
    w = np.zeros(2)
    for _ in range(100):
        step(w, queue.get())
    for call in fills:
        call.result()
    np.testing.assert_array_equal(w, 3 * sum(range(100)))


def test_a_loader_over_a_queue() -> None:
    queue = data.Queue(3)
    fill = Call(lambda: (queue.put_many(range(10)), queue.close()))
    found = [list(batch) for batch in data.Loader(queue, 4)]
    fill.result()
    assert found == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_served_to_other_processes() -> None:
    class Manager(BaseManager):
        pass

    Manager.register("Queue", data.Queue)
    context = multiprocessing.get_context("fork")
    with Manager(ctx=context) as manager:
        queue = manager.Queue(2)  # type: ignore[attr-defined]
        process = context.Process(target=queue.put_many, args=([1, 2, 3],))
        process.start()
        assert [queue.get(), *queue.get_many(2)] == [1, 2, 3]
        process.join()
        queue.close()
        with pytest.raises(data.Closed, match="0 items are left"):
            queue.get()
