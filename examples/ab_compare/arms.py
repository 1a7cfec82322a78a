"""The sides of a comparison: the bridge's arms, and what else can answer the same program."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Side:
    """One bar of each chart. mode and reset are the bridge's; None where it has no say."""
    name: str
    what: str                # for people, half a sentence
    mode: str | None = None
    reset: str | None = None
    cpu_known: bool = True   # not of a host that lets its programs' CPU times go unread

    @property
    def is_arm(self):
        return self.mode is not None

    def values(self):
        """What stands in the settings file for it."""
        return {name: value for name, value in (("mode", self.mode), ("reset", self.reset)) if value}


ARMS = {side.name: side for side in (
    Side("classic", "a new process for each request, as CGI has always been", "classic"),
    Side("fork", "a warm worker, forked for each request", "persistent", "fork"),
    Side("rewind", "a warm worker that puts itself back after each request", "persistent", "rewind"),
    Side("none", "a warm worker that keeps its state", "persistent", "none"),
)}
PEERS = {side.name: side for side in (
    # Both ignore SIGCHLD, and then the kernel adds no program's times to its parent's.
    Side("fcgiwrap", "fcgiwrap behind nginx: a new process for each request", cpu_known=False),
    Side("mod_cgid", "Apache's own CGI: a new process for each request", cpu_known=False),
    Side("by-hand", "the program rewritten by hand for FastCGI"),
)}
ALL = {**ARMS, **PEERS}
