"""Loads the whole standard library, and prints which of its modules drew random numbers while loading."""

import importlib
import os
import pkgutil
import posix
import random
import sys

PACKAGES = ["multiprocessing", "concurrent", "email", "http", "xmlrpc", "urllib", "logging", "asyncio",
            "wsgiref", "dbm", "json", "importlib", "html", "sqlite3", "collections"]
NOT_LOADED = {"antigravity", "this", "idlelib", "turtledemo", "test", "concurrent.futures.interpreter",
              "_ios_support"}  # not for Linux: it searches for a library using a temporary file
drawn = set()


def who_draws(frame):
    while frame.f_globals["__name__"] in ("random", __name__):
        frame = frame.f_back
    return frame.f_globals["__name__"]


def watch(holder, name):
    real = getattr(holder, name)

    def draws(*words, **named):
        if not words or not isinstance(words[0], random.SystemRandom):  # SystemRandom has no state
            drawn.add(who_draws(sys._getframe(1)))
        return real(*words, **named)

    setattr(holder, name, draws)


for module in (os, posix):
    for function in ("urandom", "getrandom"):
        watch(module, function)
watch(random, "_urandom")
watch(random.Random, "__init__")
for function in ("random", "randint", "getrandbits", "choice", "randrange", "seed"):
    watch(random, function)

names = set(getattr(sys, "stdlib_module_names", []))
for package in PACKAGES:
    path = importlib.import_module(package).__path__
    names |= {f"{package}.{one.name}" for one in pkgutil.iter_modules(path) if one.name != "__main__"}
for module in sorted(names - NOT_LOADED):
    try:
        importlib.import_module(module)
    except Exception:
        pass  # not on this system
print(*sorted(drawn))
