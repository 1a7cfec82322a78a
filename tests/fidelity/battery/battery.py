#!/usr/bin/python3
"""The leak battery in Python; battery.h explains it. kind(name, leaks under, look, leave): look is an
expression, leave is statements, and both use this file's own names."""
import asyncio
import atexit
import builtins
import codecs
import collections
import contextvars
import copyreg
import csv
import ctypes
import decimal
import errno
import faulthandler
import fcntl
import fnmatch
import gc
import html
import io
import json
import linecache
import locale
import logging
import math
import mimetypes
import mmap
import os
import pickle
import random
import re
import resource
import signal
import socket
import sqlite3
import string
import struct
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
import types
import urllib.request
import uuid
import warnings
import weakref
import xml.etree.ElementTree as trees

KINDS = {}


def kind(name, leaks_under, look, leave):
    KINDS[name] = look, leave


def limits(which):
    return resource.getrlimit(getattr(resource, "RLIMIT_" + which))


def mask():
    now = os.umask(0)
    os.umask(now)
    return oct(now)


def status(word):
    with open("/proc/self/status") as lines:
        return [line.split()[1:] for line in lines if line.startswith(word)]


def child_left():
    try:
        children_seen.append(os.waitpid(-1, os.WNOHANG)[0] >= 0)
        return True
    except ChildProcessError:
        return None


def start_child(seconds):
    if os.fork() == 0:
        for fd in range(3):
            os.close(fd)
        time.sleep(seconds)
        os._exit(0)
    time.sleep(0.005)


def locked():
    held = 0
    for name in os.listdir("/proc/self/fdinfo"):
        try:
            with open(f"/proc/self/fdinfo/{name}") as lines:
                held += sum(line.startswith("lock:") for line in lines)
        except FileNotFoundError:
            pass  # the descriptor of the listing itself
    return held


def descriptors():
    return sorted(int(name) for name in os.listdir("/proc/self/fd") if 2 < int(name) < 500)[:-1]


def temporary():
    return open(os.memfd_create("left"), "w")


def thread():
    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()


def forked():
    pid = os.fork()
    if pid == 0:
        os._exit(len(FORKED))
    return os.waitpid(pid, 0)[1]


def audited():
    del AUDITED[:]
    sys.audit("left")
    return len(AUDITED)


def codec_known():
    try:
        return codecs.lookup_error("left") is not None
    except LookupError:
        return False


def wake_by_descriptor():
    KEPT.append(socket.socketpair())
    KEPT[-1][0].setblocking(False)
    signal.set_wakeup_fd(KEPT[-1][0].fileno())


class Held:
    pass


# Kept in a module, which lives as long as the process.
KEPT, FORKED, AUDITED, mapped, held_weakly, variable, of_thread = string.__dict__.setdefault(
    "_battery", ([], [], [], [], weakref.WeakValueDictionary(),
                 contextvars.ContextVar("variable", default="none"), threading.local()))
children_seen = []


# The interpreter's names and modules
kind("global", "none", "'left' in globals()", "globals()['left'] = 1")
kind("module_attribute", "none", "hasattr(json, 'left')", "json.left = 1")
kind("module_default", "none", "json.dumps([1, 2])", "json.dumps.__kwdefaults__['separators'] = ('L', 'L')")
kind("class_attribute", "none", "hasattr(decimal.DecimalException, 'left')",
     "decimal.DecimalException.left = 1")
kind("builtin", "none", "hasattr(builtins, 'left')", "builtins.left = 1")
kind("builtin_replaced", "none", "len('ab')", "builtins.len = lambda _: 99")
kind("module_loaded", "none", "'left' in sys.modules", "sys.modules['left'] = types.ModuleType('left')")
kind("module_replaced", "none", "sys.modules['html'] is html and hasattr(html, 'escape')",
     "sys.modules['html'] = types.ModuleType('html'); del html.escape")
kind("module_reloaded", "none", "string.digits", "string.digits = 'left'")
kind("path", "none", "'/left' in sys.path", "sys.path.append('/left')")
kind("path_hooks", "none", "len(sys.path_hooks)", "sys.path_hooks.append(lambda _: 1 / 0)")
kind("meta_path", "none", "len(sys.meta_path)", "sys.meta_path.append(types.SimpleNamespace("
     "find_spec=lambda *_: None))")
kind("importer_cache", "none", "'/usr' in sys.path_importer_cache", "sys.path_importer_cache['/usr'] = None")
kind("arguments", "", "len(sys.argv)", "sys.argv.append('left')")
kind("results_cached", "none", "fnmatch._compile_pattern.cache_info().currsize", "fnmatch.fnmatch('x', 'L*')")
kind("expressions_cached", "none", "re.purge.__module__ and any(key[1] == 'LEFT' for key in re._cache)",
     "re.compile('LEFT')")
kind("function_replaced", "none", "math.floor(1.5)", "math.floor = lambda _: 99")
kind("lines_cached", "none", "'left' in linecache.cache", "linecache.cache['left'] = (1, None, ['left'], "
                                                          "'left')")
kind("codecs", "none", "codec_known()",
     "codecs.register_error('left', codecs.strict_errors)")
kind("pickle_registry", "none", "types.SimpleNamespace in copyreg.dispatch_table",
     "copyreg.pickle(types.SimpleNamespace, str)")
kind("weak_references", "none", "len(held_weakly)", "KEPT.append(Held()); held_weakly[1] = KEPT[-1]")
kind("abstract_classes", "none", "issubclass(tuple, collections.abc.MutableSequence)",
     "collections.abc.MutableSequence.register(tuple)")
kind("field_size", "none", "csv.field_size_limit()", "csv.field_size_limit(7)")
kind("dialects", "none", "csv.list_dialects()", "csv.register_dialect('left', delimiter='L')")
kind("namespaces", "none", "'left:' in trees._namespace_map", "trees.register_namespace('lft', 'left:')")
kind("sqlite_adapters", "none", "len(sqlite3.adapters)", "sqlite3.register_adapter(decimal.Decimal, str)")
kind("sqlite_connection", "none", "'connection' in globals()",
     "globals()['connection'] = sqlite3.connect(':memory:'); connection.execute('create table t (x)')")
kind("decimal_context", "none", "decimal.getcontext().prec", "decimal.getcontext().prec = 5")
kind("decimal_default", "none", "decimal.DefaultContext.prec", "decimal.DefaultContext.prec = 6")
kind("warnings", "none", "[f[0] for f in warnings.filters]", "warnings.simplefilter('error')")
kind("warnings_shown", "none", "'left' in str(warnings.onceregistry)", "warnings.onceregistry['left'] = 1")
kind("logging_handlers", "none", "len(logging.getLogger().handlers)", "logging.getLogger().addHandler("
     "logging.StreamHandler(io.StringIO()))")
kind("logging_level", "none", "logging.getLogger('left').level", "logging.getLogger('left').setLevel(7)")
kind("mime_types", "none", "mimetypes.guess_type('x.left')", "mimetypes.add_type('text/left', '.left')")
kind("temporary_folder", "none", "tempfile.tempdir", "tempfile.tempdir = '/left'")
kind("temporary_names", "none", "tempfile._name_sequence is None", "tempfile._get_candidate_names()")
kind("opener", "none", "urllib.request._opener is None", "urllib.request.install_opener("
     "urllib.request.build_opener())")
kind("socket_timeout", "none", "socket.getdefaulttimeout()", "socket.setdefaulttimeout(7)")
kind("random_state", "none", "random.random() == 0.6394267984578837", "random.seed(42)")
kind("random_of_its_own", "none", "hasattr(random, '_left')", "random._left = random.Random(1)")
kind("uuid_node", "none", "uuid._node == 7", "uuid._node = 7")
kind("hook_of_errors", "none", "sys.excepthook is sys.__excepthook__", "sys.excepthook = print")
kind("hook_of_display", "none", "sys.displayhook is sys.__displayhook__", "sys.displayhook = print")
kind("hook_of_threads", "none", "threading.excepthook is threading.__excepthook__", "threading.excepthook "
                                                                                    "= print")
kind("hook_of_breakpoints", "none", "sys.breakpointhook is sys.__breakpointhook__", "sys.breakpointhook = "
                                                                                    "print")
kind("exit_handlers", "none", "atexit._ncallbacks() < 5", "[atexit.register(int) for _ in range(9)]")
kind("fork_handlers", "none", "forked()", "os.register_at_fork(after_in_child=lambda: FORKED.append(1))")
kind("trace", "none", "sys.gettrace() is None", "sys.settrace(lambda *_: None)")
kind("profile", "none", "sys.getprofile() is None", "sys.setprofile(lambda *_: None)")
kind("trace_of_threads", "none", "threading.gettrace() is None", "threading.settrace(lambda *_: None)")
kind("recursion_limit", "none", "sys.getrecursionlimit()", "sys.setrecursionlimit(777)")
kind("switch_interval", "none", "sys.getswitchinterval()", "sys.setswitchinterval(0.5)")
kind("digits_of_integers", "none", "sys.get_int_max_str_digits()", "sys.set_int_max_str_digits(1000)")
kind("collector", "none", "(gc.isenabled(), gc.get_threshold(), gc.get_debug())",
     "gc.disable(); gc.set_threshold(7); gc.set_debug(0)")
kind("collector_callbacks", "none", "len(gc.callbacks)", "gc.callbacks.append(lambda *_: None)")
kind("memory_traced", "none", "tracemalloc.is_tracing()", "tracemalloc.start()")
kind("faults_handled", "none", "faulthandler.is_enabled()", "faulthandler.enable(2)")
kind("context_variable", "none", "variable.get()", "variable.set('left')")
kind("context_variable_of_a_module", "none", "decimal.getcontext().Emax", "decimal.getcontext().Emax = 7")
kind("thread_s_own", "none", "hasattr(of_thread, 'left')", "of_thread.left = 1")
kind("event_loop_policy", "none", "asyncio.events._event_loop_policy is None",
     "asyncio.set_event_loop_policy("
     "asyncio.DefaultEventLoopPolicy())")
kind("last_error", "none", "hasattr(sys, 'last_value')", "sys.last_value = 1")
kind("audit_hook", "none", "audited()", "sys.addaudithook(lambda event, _: AUDITED.append(1) "
     "if event == 'left' else None)")
kind("locale", "none", "locale.setlocale(locale.LC_ALL)", "locale.setlocale(locale.LC_ALL, 'C')")
kind("time_zone", "none", "time.tzname", "os.environ['TZ'] = 'LEFT5'; time.tzset()")
kind("heap", "none", "int(status('VmRSS')[0][0]) > 150_000", "globals()['heap'] = bytearray(200 << 20)")
kind("c_library", "none", "ctypes.CDLL(None).rand() == 71876166", "ctypes.CDLL(None).srand(42)")
kind("errno", "none", "ctypes.get_errno()", "ctypes.set_errno(7)")
# Streams
kind("stdout_replaced", "none", "sys.stdout is sys.__stdout__", "sys.stdout = io.StringIO()")
kind("stdout_reconfigured", "none", "(sys.stdout.encoding, sys.stdout.line_buffering)",
     "sys.stdout.reconfigure(encoding='latin-1', line_buffering=True)")
kind("stdin_rest", "", "len(sys.stdin.buffer.peek())", "sys.stdin.readline()")
kind("stdout_closed", "", "sys.stdout.closed", "sys.stdout.flush(); sys.stdout.close()")
kind("file_left_open", "none", "'opened' in globals()", "globals()['opened'] = open('/dev/null', 'w'); "
     "opened.write('left')")
# The process
kind("directory", "", "os.getcwd()", "os.chdir('/usr')")
kind("umask", "none", "mask()", "os.umask(0o777)")
kind("environment", "", "os.environ.get('LEFT')", "os.environ['LEFT'] = '1'")
kind("environment_of_c", "none", "subprocess.getoutput('echo $LEFTC')", "os.putenv('LEFTC', '1')")
kind("environment_changed", "", "os.environ['GATEWAY_INTERFACE']", "os.environ['GATEWAY_INTERFACE'] = 'left'")
kind("signal_handler", "none", "signal.getsignal(signal.SIGUSR1)", "signal.signal(signal.SIGUSR1, lambda "
                                                                   "*_: 0)")
kind("signal_ignored", "none", "status('SigIgn')", "signal.signal(signal.SIGUSR2, signal.SIG_IGN)")
kind("signal_mask", "none", "signal.pthread_sigmask(signal.SIG_BLOCK, [])",
     "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])")
kind("signal_pending", "none", "signal.sigpending()", "signal.pthread_sigmask(signal.SIG_BLOCK, "
     "[signal.SIGURG]); os.kill(os.getpid(), signal.SIGURG)")
kind("signal_wakeup", "none", "signal.set_wakeup_fd(-1)", "wake_by_descriptor()")
kind("alarm", "none", "signal.alarm(0)", "signal.alarm(1000)")
kind("timer", "none", "signal.setitimer(signal.ITIMER_PROF, 0)[1]", "signal.setitimer(signal.ITIMER_PROF, "
                                                                    "1000, 5)")
kind("descriptor", "none", "descriptors()", "os.dup(2)")
kind("descriptor_inherited", "none", "descriptors() and 1", "os.set_inheritable(os.dup(2), True)")
kind("socket", "none", "len(descriptors())", "KEPT.append(socket.socketpair()); socket.socket().detach()")
kind("lock", "none", "locked()", "KEPT.append(temporary()); fcntl.flock(KEPT[-1], fcntl.LOCK_EX)")
kind("memory_mapped", "none", "len(mapped)", "mapped.append(mmap.mmap(-1, 1 << 20))")
kind("limit", "none", "limits('NOFILE')", "resource.setrlimit(resource.RLIMIT_NOFILE, (777, "
                                          "limits('NOFILE')[1]))")
kind("limit_for_good", "none", "limits('MSGQUEUE')", "resource.setrlimit(resource.RLIMIT_MSGQUEUE, (77, 77))")
kind("nice", "none", "os.nice(0)", "os.nice(5)")
kind("processors", "none", "len(os.sched_getaffinity(0))", "os.sched_setaffinity(0, [0])")
kind("schedule", "none", "os.sched_getscheduler(0)", "os.sched_setscheduler(0, os.SCHED_BATCH, "
                                                     "os.sched_param(0))")
kind("name", "none", "open('/proc/self/comm').read() == 'left\\n'", "open('/proc/self/comm', "
                                                                    "'w').write('left')")
kind("thread", "none", "(threading.active_count(), status('Threads'))", "thread()")
kind("child", "none", "child_left() and 'one'", "start_child(0.1)")
kind("child_that_ended", "none", "children_seen[-1:]", "start_child(0)")
kind("process_group", "none", "os.getpgrp() == os.getpid()", "os.setpgid(0, os.getpgid(os.getppid()))")
kind("user", "none", "os.getresuid()", "os.setuid(65534)")
kind("root_folder", "none", "os.path.exists('/etc/passwd')", "os.chroot('/usr')")

def leave(name):
    if name in KINDS:
        exec(KINDS[name][1], globals())


def main():
    query = os.environ.get("QUERY_STRING", "")
    if query.startswith("again="):
        leave(query[len("again="):])
    seen = ["Content-Type: text/plain", ""]
    for name, (look, _) in KINDS.items():
        try:
            found = eval(look, globals())
        except Exception as error:
            found = repr(error)
        seen.append(f"{name}: {found}")
    os.write(1, ("\n".join(seen) + "\n").encode())
    leave(query)


main()
