"""What the tests of the running bridge are written with.

A test asks for the fixture `site` (see site.py): a folder of its own with a `cgi-bin`, from which it
starts a bridge, web servers and clients, and which checks afterwards that nothing was left behind.
"""

from harness.fastcgi import AUTHORIZER, RESPONDER, Peer, Record
from harness.processes import wait_until
from harness.site import Site

__all__ = ["AUTHORIZER", "RESPONDER", "Peer", "Record", "Site", "wait_until"]
