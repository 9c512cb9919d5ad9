"""Tokenizers and parsers."""

from tests.students.program import Family

PROGRAMS = Family()


def tokenize(text):
    tokens = []
    i = 0
    while i < len(text):
        c = text[i]
        if c == " ":
            i += 1
        elif c.isdigit():
            number = ""
            while i < len(text) and (text[i].isdigit() or text[i] == "."):
                number += text[i]
                i += 1
            tokens.append(("number", float(number)))
        elif c in "+-*/()":
            tokens.append(("operator", c))
            i += 1
        else:
            raise SyntaxError(f"unexpected {c!r} at {i}")
    return tokens


PROGRAMS.add(tokenize, ("3 + 4*2 - (10.5 / 7) * 12 + 1",), ("",), ("(1.5-2)/7",), ("2 $ 3",))


def parse_csv_line(line):
    fields = []
    field = ""
    in_quotes = False
    for character in line:
        if character == '"':
            in_quotes = not in_quotes
        elif character == "," and not in_quotes:
            fields.append(field)
            field = ""
        else:
            field += character
    fields.append(field)
    return fields


PROGRAMS.add(
    parse_csv_line, ('17,"Miller, Ann",12.50,,"a ""b"" c",end',), ("a,b,c",), ("",), (",,",)
)


class Parser:
    def __init__(self, text):
        self.text = text.replace(" ", "")
        self.position = 0

    def peek(self):
        if self.position < len(self.text):
            return self.text[self.position]
        return None

    def take(self):
        character = self.peek()
        self.position += 1
        return character

    def expression(self):
        value = self.term()
        while self.peek() in ("+", "-"):
            if self.take() == "+":
                value += self.term()
            else:
                value -= self.term()
        return value

    def term(self):
        value = self.factor()
        while self.peek() in ("*", "/"):
            if self.take() == "*":
                value *= self.factor()
            else:
                value /= self.factor()
        return value

    def factor(self):
        character = self.take()
        if character == "(":
            value = self.expression()
            if self.take() != ")":
                raise SyntaxError("missing )")
            return value
        if character == "-":
            return -self.factor()
        if character is None or not character.isdigit():
            raise SyntaxError(f"unexpected {character}")
        number = character
        while self.peek() is not None and self.peek().isdigit():
            number += self.take()
        return int(number)


def calculate(text):
    parser = Parser(text)
    value = parser.expression()
    if parser.peek() is not None:
        raise SyntaxError(f"unexpected {parser.peek()}")
    return value


PROGRAMS.add(
    calculate, ("2 + 3 * (4 - 1) / 5 - (6 - (7 - 8))",), ("-(10 / 4)",), ("(1 + 2",), ("7 / 0",)
)
