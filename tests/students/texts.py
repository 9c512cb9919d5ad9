"""Work on texts."""

from tests.students.program import Family

PROGRAMS = Family()


def caesar(text, shift):
    result = ""
    for character in text:
        if character.isupper():
            result += chr((ord(character) - ord("A") + shift) % 26 + ord("A"))
        elif character.islower():
            result += chr((ord(character) - ord("a") + shift) % 26 + ord("a"))
        else:
            result += character
    return result


PROGRAMS.add(
    caesar, ("The Quick Brown Fox, Jumps!", 3), ("", 5), ("xyz", 3), ("Khoor, Zruog!" * 4, -3)
)


def is_palindrome(text):
    letters = [c.lower() for c in text if c.isalpha()]
    left, right = 0, len(letters) - 1
    while left < right:
        if letters[left] != letters[right]:
            return False
        left += 1
        right -= 1
    return True


PROGRAMS.add(
    is_palindrome, ("A man, a plan, a canal: Panama",), ("",), ("ab",), ("Never odd or even" * 5,)
)


def word_count(text):
    counts = {}
    for word in text.lower().split():
        word = word.strip(".,!?")
        if word in counts:
            counts[word] += 1
        else:
            counts[word] = 1
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


PROGRAMS.add(
    word_count,
    ("the cat and the dog and the bird, and no. more! cats",),
    ("",),
    ("Yes! yes, no. YES?",),
    ("b a b c a b " * 10,),
)


def run_length_encode(text):
    if not text:
        return []
    runs = []
    current, count = text[0], 1
    for character in text[1:]:
        if character == current:
            count += 1
        else:
            runs.append((current, count))
            current, count = character, 1
    runs.append((current, count))
    return runs


PROGRAMS.add(run_length_encode, ("aaabbcaaaaaaaadddddddddddddeeeef",), ("",), ("abc",), ("z" * 50,))


def group_anagrams(words):
    groups = {}
    for word in words:
        groups.setdefault("".join(sorted(word)), []).append(word)
    return list(groups.values())


PROGRAMS.add(
    group_anagrams,
    (["eat", "tea", "tan", "ate", "nat", "bat"],),
    ([],),
    ([""],),
    (["stop", "pots", "spot", "opts", "tops", "post"],),
)


def fizz_buzz(n):
    for k in range(1, n + 1):
        if k % 15 == 0:
            print("FizzBuzz")
        elif k % 3 == 0:
            print("Fizz")
        elif k % 5 == 0:
            print("Buzz")
        else:
            print(k)


PROGRAMS.add(fizz_buzz, (20,), (0,), (3,), (100,))
