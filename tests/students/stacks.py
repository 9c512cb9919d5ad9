"""Stacks: lists with append and pop."""

from tests.students.program import Family, decimals, numbers

PROGRAMS = Family()


def is_balanced(text):
    pairs = {")": "(", "]": "[", "}": "{"}
    stack = []
    for character in text:
        if character in "([{":
            stack.append(character)
        elif character in pairs:
            if not stack or stack.pop() != pairs[character]:
                return False
    return len(stack) == 0


PROGRAMS.add(
    is_balanced, ("def f(a): return [a[k] for k in {1: (2, 3)}]",), ("(]",), ("",), ("((())" * 10,)
)


def evaluate_rpn(tokens):
    stack = []
    for token in tokens:
        if token in ("+", "-", "*", "/"):
            b = stack.pop()
            a = stack.pop()
            if token == "+":
                stack.append(a + b)
            elif token == "-":
                stack.append(a - b)
            elif token == "*":
                stack.append(a * b)
            else:
                stack.append(a / b)
        else:
            stack.append(float(token))
    return stack[0]


PROGRAMS.add(
    evaluate_rpn,
    ("5 1 2 + 4 * + 3 -".split(),),
    ("1 2 + 3 4 + * 5 6 + 7 8 + * / 9 -".split(),),
    (["1", "0", "/"],),
    (["1", "+"],),
)


class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        if self.is_empty():
            raise IndexError("pop from an empty stack")
        return self.items.pop()

    def is_empty(self):
        return len(self.items) == 0


def to_binary(n):
    stack = Stack()
    while n > 0:
        stack.push(n % 2)
        n //= 2
    text = ""
    while not stack.is_empty():
        text += str(stack.pop())
    if text == "":
        stack.pop()
    return text


PROGRAMS.add(to_binary, (10,), (0,), (1,), (1000,))


def next_greater(values):
    answer = [-1] * len(values)
    stack = []
    for i, value in enumerate(values):
        while stack and values[stack[-1]] < value:
            answer[stack.pop()] = value
        stack.append(i)
    return answer


PROGRAMS.add(next_greater, (numbers(30),), ([3, 2, 1],), ([],), (decimals(50),))
