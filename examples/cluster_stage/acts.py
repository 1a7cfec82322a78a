"""What happens to the hosts. Each act gets the stage and the seconds that the load still goes on; it leaves
the cluster whole."""
import time

ROUTINE = ("quiet", "drain", "upgrade", "deploy")


def quiet(_stage, _seconds):
    """Nothing."""


def drain(stage, seconds):
    """Each host in turn leaves gently and comes back: health first, then its requests end."""
    for host in stage.hosts:
        host.command("drain", "--after", "1s", "--wait")
        host.start()
        stage.wait_in_rotation(host)


def upgrade(stage, seconds):
    """Each host's bridge is replaced by a new process of its binary."""
    for host in stage.hosts:
        host.upgrade()
        time.sleep(seconds / 10)


def deploy(stage, seconds):
    """The programs are replaced, twice, by a rename."""
    for version in (2, 3):
        stage.write_programs(version)
        time.sleep(seconds / 6)


def killed(stage, seconds):
    """All processes of a host die at once; it comes back."""
    host = stage.hosts[0]
    host.kill_everything()
    time.sleep(seconds / 3)
    host.start()
    stage.wait_in_rotation(host)


def cut(stage, seconds):
    """A host cannot be reached for a while, and nobody is told so."""
    stage.hosts[1].set_cable("down")
    time.sleep(seconds / 3)
    stage.hosts[1].set_cable("up")
    stage.wait_in_rotation(stage.hosts[1])


def slow(stage, seconds):
    """A host stands still for a while."""
    stage.hosts[2].pause()
    time.sleep(seconds / 3)
    stage.hosts[2].go_on()
    stage.wait_in_rotation(stage.hosts[2])


ACTS = {act.__name__: act for act in (quiet, drain, upgrade, deploy, killed, cut, slow)}
