"""How far the comparison is and how long it will still take: a bar on a terminal, plain lines elsewhere."""
import sys
import time

WIDTH = 24


class Progress:
    """Each step has a weight, about the seconds that it takes; the time left is estimated from how long the
    finished ones really took."""

    def __init__(self, total, stream=None, clock=time.monotonic):
        self.total, self.done = total, 0.0
        self.stream = sys.stderr if stream is None else stream
        self.clock, self.began = clock, clock()
        self.bar = self.stream.isatty()
        self.shown = 0   # columns of the bar that is shown now

    def add(self, weight):
        """There is more to do than was known."""
        self.total += weight

    def doing(self, text):
        """Shows the current step, on a terminal only."""
        if self.bar:
            self.draw(text)

    def finished(self, weight, text=""):
        self.done = min(self.total, self.done + weight)
        if text:
            self.say(text)

    def say(self, text):
        """Prints a line that stays."""
        if self.bar:
            self.wipe()
            print(text, file=self.stream)
        else:
            print(f"{self.percent():3.0f} %  {text}{self.left_words()}", file=self.stream)
        self.stream.flush()

    def percent(self):
        return 100 * self.done / self.total if self.total else 100.0

    def seconds_left(self):
        """None while there is no estimate."""
        if self.done <= 0:
            return None
        return (self.clock() - self.began) * (self.total - self.done) / self.done

    def left_words(self):
        left = self.seconds_left()
        return "" if left is None or left < 1 else f"  ({words(left)} left)"

    def draw(self, text):
        full = round(WIDTH * self.percent() / 100)
        line = (f"[{'#' * full}{'.' * (WIDTH - full)}] {self.percent():3.0f} %  "
                f"{text}{self.left_words()}")
        self.wipe()
        self.stream.write(line)
        self.stream.flush()
        self.shown = len(line)

    def wipe(self):
        if self.shown:
            self.stream.write("\r" + " " * self.shown + "\r")
            self.shown = 0

    def close(self):
        self.wipe()
        self.stream.flush()


def words(seconds):
    seconds = max(1, round(seconds))
    if seconds < 60:
        return f"{seconds} s"
    minutes, rest = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"
