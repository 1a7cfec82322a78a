"""Whether an answer is the same, byte for byte, as those of a peer, except where the peer's own answers
differ from one run to the next: dates, ages, random words."""

import re

WORD = re.compile(rb"[0-9]+\.[0-9]+|[0-9A-Za-z_]+|.", re.DOTALL)


def words_of(line):
    return WORD.findall(line)


class Line:
    """What a line may be: one text, or one in which some words are another each time."""

    def __init__(self, seen):
        self.texts = set(seen)
        self.words = [words_of(text) for text in self.texts]
        self.varies = len(self.texts) > 1
        self.same_words = len({tuple(sorted(words)) for words in self.words}) == 1

    def fits(self, text):
        if text in self.texts:
            return True
        if not self.varies:
            return False
        words = words_of(text)
        if self.same_words:
            return sorted(words) == sorted(self.words[0])
        if len({len(known) for known in self.words}) > 1:
            return self._has_the_fixed_ends(text)
        return len(words) == len(self.words[0]) and all(
            word in column or (len(set(column)) > 1 and re.fullmatch(rb"\w[\w.]*", word))
            for word, column in zip(words, zip(*self.words)))

    def _has_the_fixed_ends(self, text):
        return text.startswith(common(self.texts)) and text[::-1].startswith(
            common({known[::-1] for known in self.texts}))


def common(texts):
    """The beginning that all have."""
    first, last = min(texts), max(texts)
    same = next((at for at, (a, b) in enumerate(zip(first, last)) if a != b), min(len(first), len(last)))
    return first[:same]


class Expected:
    """Learned from the answers of a peer, the more the better, around the time of those to be compared."""

    def __init__(self, answers):
        self.answers = list(answers)
        split = [answer.split(b"\n") for answer in self.answers]
        # None: the peer's answers differ even in their number of lines.
        same_number = len({len(lines) for lines in split}) == 1
        self.lines = [Line(seen) for seen in zip(*split)] if same_number else None

    @property
    def varying(self):
        """How many lines the peer itself changes; None: all is another each time."""
        return None if self.lines is None else sum(line.varies for line in self.lines)

    def difference(self, answer):
        """The first place where this one is no answer of the peer's; empty: it is one."""
        if answer in self.answers or self.lines is None:
            return ""
        lines = answer.split(b"\n")
        for number, (known, line) in enumerate(zip(self.lines, lines), 1):
            if not known.fits(line):
                return f"line {number} is {line[:200]!r}, not {min(known.texts)[:200]!r}"
        if len(lines) != len(self.lines):
            return f"{len(lines)} lines, not {len(self.lines)}"
        return ""
