"""The sides of a comparison: the bridge's arms, and other hosts that can answer the same program."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Side:
    """One bar of each chart. mode and reset are the bridge's settings; None on other sides."""
    name: str
    what: str                # a short description for people
    mode: str | None = None
    reset: str | None = None
    cpu_known: bool = True   # false for a host that never collects its programs' CPU times

    @property
    def is_arm(self):
        return self.mode is not None

    def values(self):
        """The values for it in the settings file."""
        return {name: value for name, value in (("mode", self.mode), ("reset", self.reset)) if value}


ARMS = {side.name: side for side in (
    Side("classic", "a new process for each request, as CGI has always been", "classic"),
    Side("fork", "a warm worker, forked for each request", "persistent", "fork"),
    Side("rewind", "a warm worker that puts itself back after each request", "persistent", "rewind"),
    Side("none", "a warm worker that keeps its state", "persistent", "none"),
)}
PEERS = {side.name: side for side in (
    # Both ignore SIGCHLD; then the kernel adds no program's times to its parent's.
    Side("fcgiwrap", "fcgiwrap behind nginx: a new process for each request", cpu_known=False),
    Side("mod_cgid", "Apache's own CGI: a new process for each request", cpu_known=False),
    Side("by-hand", "the program rewritten by hand for FastCGI"),
)}
ALL = {**ARMS, **PEERS}
