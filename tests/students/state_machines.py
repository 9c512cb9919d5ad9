"""State machines."""

from tests.students.program import Family

PROGRAMS = Family()


def vending_machine(events, price):
    state = "idle"
    balance = 0
    sold = 0
    log = []
    for event in events:
        if state == "idle":
            if event == "coin":
                balance += 1
                state = "ready" if balance >= price else "waiting"
        elif state == "waiting":
            if event == "coin":
                balance += 1
                if balance >= price:
                    state = "ready"
            elif event == "cancel":
                log.append(("refund", balance))
                balance = 0
                state = "idle"
        elif state == "ready":
            if event == "push":
                sold += 1
                balance -= price
                log.append(("sold", sold))
                state = "idle" if balance == 0 else "waiting"
            elif event == "coin":
                balance += 1
        else:
            raise RuntimeError("no such state")
    return state, balance, log


PROGRAMS.add(
    vending_machine,
    (["coin", "coin", "push", "coin", "cancel"] * 5, 2),
    (["coin", "cancel", "push"], 3),
    ([], 1),
    (["coin"] * 9 + ["push"] * 6, 4),
)


def traffic_light(durations, seconds):
    state = "red"
    time = 0
    changes = 0
    while True:
        if state == "red":
            time += durations["red"]
            following = "green"
        elif state == "green":
            time += durations["green"]
            following = "yellow"
        else:
            time += durations["yellow"]
            following = "red"
        if time > seconds:
            break
        state = following
        changes += 1
        print(f"{time}: {state}")
    return state, changes


PROGRAMS.add(
    traffic_light,
    ({"red": 5, "green": 4, "yellow": 1}, 60),
    ({"red": 5, "green": 4, "yellow": 1}, 3),
    ({"red": 1, "green": 1, "yellow": 1}, 50),
    ({"red": 2.5, "green": 2.0}, 10),
)
