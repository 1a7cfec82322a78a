"""Helpers for tests of the running bridge.

A test uses the fixture `site` (see site.py): a separate folder with a `cgi-bin`, from which it starts a
bridge, web servers and clients. Afterwards the fixture checks that nothing was left behind.
"""

from harness.fastcgi import AUTHORIZER, RESPONDER, Peer, Record
from harness.processes import wait_until
from harness.site import Site

__all__ = ["AUTHORIZER", "RESPONDER", "Peer", "Record", "Site", "wait_until"]
