"""Programs that do unusual things while they are loaded: every answer is the same as that of a process of its
own, byte for byte, whether what they load is loaded ahead or not."""

import os

import pytest

from driver import LAUNCH_ENV, REQUEST_ENV, Warm, adapters_dir, run_plainly
from python import PYTHON, python_argv
from ruby import RUBY, command

RESETS = pytest.mark.parametrize("reset", ["fork", "rewind"])

# The module `odd`, and what the script does with it.
PYTHON_CASES = {
    "a class body": (
        "class A:\n    names = sorted(vars())\n    place = __qualname__, __module__\n",
        "import odd; print(odd.A.names, odd.A.place)"),
    "decorators that count": (
        "seen = []\ndef note(f):\n    seen.append(f.__qualname__)\n    return f\n@note\ndef a(): pass\n"
        "class B:\n    @note\n    def b(self): pass\n",
        "import odd; odd.note(print); print(odd.seen)"),
    "a metaclass that registers": (
        "class Meta(type):\n    known = {}\n    def __init__(cls, name, *rest):\n"
        "        Meta.known[name] = len(Meta.known)\nclass A(metaclass=Meta): pass\n",
        "import odd\nclass B(odd.A): pass\nprint(odd.Meta.known)"),
    "__init_subclass__": (
        "class Base:\n    kinds = []\n    def __init_subclass__(cls, **more):\n"
        "        Base.kinds.append((cls.__name__, sorted(more)))\nclass A(Base, tag=1): pass\n",
        "import odd\nclass B(odd.Base, other=2): pass\nprint(odd.Base.kinds)"),
    "__set_name__ and __class_getitem__": (
        "class D:\n    def __set_name__(self, owner, name): self.name = name\n"
        "    def __class_getitem__(cls, item): return cls, item\nclass A:\n    one = D()\n",
        "import odd; print(odd.A.__dict__['one'].name, odd.D[3][1])"),
    "an import hook": (
        "import importlib.abc, importlib.machinery, sys\n"
        "class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'invented': return importlib.machinery.ModuleSpec(name, self)\n"
        "    def create_module(self, spec): return None\n"
        "    def exec_module(self, module): module.value = 42\nsys.meta_path.insert(0, Finder())\n",
        "import odd, invented, sys; print(invented.value, type(sys.meta_path[0]).__name__)"),
    "a hook of paths": (
        "import sys\ndef hook(path): raise ImportError\nsys.path_hooks.insert(0, hook)\n",
        "import sys; before = len(sys.path_hooks)\nimport odd; print(before, len(sys.path_hooks))"),
    "a lazy module": (
        "import importlib.util, sys\nspec = importlib.util.find_spec('colorsys')\n"
        "loader = importlib.util.LazyLoader(spec.loader)\nspec.loader = loader\n"
        "lazy = importlib.util.module_from_spec(spec)\nsys.modules['colorsys'] = lazy\n"
        "loader.exec_module(lazy)\n",
        "import odd, sys; print(type(odd.lazy).__name__, odd.lazy.ONE_THIRD, type(odd.lazy).__name__)"),
    "__getattr__ of a module": (
        "calls = []\ndef __getattr__(name):\n    calls.append(name)\n"
        "    if name.startswith('__'): raise AttributeError(name)\n    return name.upper()\n",
        "import odd; print(odd.some, odd.calls)"),
    "a module of another kind": (
        "import sys, types\nclass Odd(types.ModuleType):\n    @property\n"
        "    def now(self): return 'now'\nsys.modules[__name__].__class__ = Odd\n",
        "import odd; print(odd.now, type(odd).__name__)"),
    "an object in its place": (
        "import sys\nclass Callable:\n    def __call__(self): return 'called'\n"
        "sys.modules[__name__] = Callable()\n",
        "import odd; print(odd())"),
    "a module that is not there afterwards": (
        "import sys\ndel sys.modules[__name__]\n",
        "try:\n    import odd\nexcept Exception as e: print(repr(e))"),
    "an error": ("raise RuntimeError('at load')\n", "import odd"),
    "an exit": ("import sys\nsys.exit(3)\n", "print('before')\nimport odd"),
    "a cycle": (
        "import odd as again\nname = again.__name__\nimport odd_b\n",
        "import odd; print(odd.name, odd.odd_b.seen)"),
    "a warning that is caught": (
        "import warnings\nwith warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n    warnings.warn('x', stacklevel=1)\ncount = len(seen)\n",
        "import odd; print(odd.count)"),
    "a warning to its importer": (
        "import warnings\nwarnings.warn('odd is old', UserWarning, stacklevel=2)\n",
        "import odd; print('done')"),
    "the kind of its loader": (
        "kind = type(__loader__).__name__, __spec__.origin == __file__, __package__\n",
        "import odd; print(odd.kind)"),
    "what is in sys.argv": (
        "import sys\nword = sys.argv[1] if len(sys.argv) > 1 else None\n",
        "import odd, sys; sys.argv.append('x'); print(odd.word, sys.argv[1:])"),
    "a dataclass, an enum, a tuple": (
        "import dataclasses, enum, typing\n@dataclasses.dataclass\nclass A:\n    x: int = 1\n"
        "class E(enum.Enum):\n    A = enum.auto()\nclass T(typing.NamedTuple):\n    a: int\n",
        "import odd, pickle; print(pickle.loads(pickle.dumps((odd.A(), odd.E.A, odd.T(1)))),"
        " odd.T.__module__)"),
    "an order of a set": (
        "kept = ''.join(sorted({str(n) for n in range(9)}))\n",
        "import odd; print(odd.kept)"),
    "a weak reference with an end": (
        "import weakref\nclass A: pass\nkept = A()\nend = weakref.finalize(kept, print, 'finalized')\n",
        "import odd; del odd.kept; print('last')"),
    "a file left open": (
        "import os\nkept = open(__file__)\nfirst = kept.readline()\n",
        "import odd; print(repr(odd.first), repr(odd.kept.readline()))"),
    "a variable of the context": (
        "import contextvars\nv = contextvars.ContextVar('v', default=1)\nv.set(2)\n",
        "import odd; print(odd.v.get())"),
    "an event loop": (
        "import asyncio\nasync def main(): return 5\nvalue = asyncio.run(main())\n",
        "import odd, asyncio; print(odd.value, asyncio.run(odd.main()))"),
}
RUBY_CASES = {
    "BEGIN and END": (
        "ODD = 1\nEND { puts 'end of odd' }",
        "BEGIN { puts 'first' }\nrequire 'odd'; puts ODD"),
    "at_exit": ("at_exit { puts 'exit of odd' }", "require 'odd'; at_exit { puts 'mine' }; puts 1"),
    "autoload": (
        "module Odd; autoload :Set2, 'odd_b'; end",
        "require 'odd'; p Odd.autoload?(:Set2), Odd::Set2"),
    "a refinement": (
        "module Odd; refine String do; def odd; 'odd'; end; end; end",
        "require 'odd'\nusing Odd\np 'x'.odd, ('x'.respond_to? :odd)"),
    "inherited": (
        "class Odd; @k = []; class << self; attr_reader :k; def inherited(c); super; Odd.k"
        " << c.name; end; end; end; class OddA < Odd; end",
        "require 'odd'; class Mine < Odd; end; p Odd.k"),
    "method_missing and const_missing": (
        "class Odd; def self.const_missing(n); n.to_s * 2; end; def method_missing(n, *a);"
        " [n, a]; end; end",
        "require 'odd'; p Odd::Abc, Odd.new.any(1)"),
    "a global": ("$odd = [__FILE__ == $0, __dir__ == File.dirname($0)]", "require 'odd'; p $odd"),
    "a patched class": ("class Integer; def odd_name; 'n' + to_s; end; end", "require 'odd'; p 5.odd_name"),
    "prepend": (
        "module Odd; def to_s; 'odd ' + super; end; end; class Range; prepend Odd; end",
        "require 'odd'; puts (1..2).to_s"),
    "an error": (
        "raise 'at load'",
        "begin; require 'odd'; rescue => e; p e, e.backtrace.first[/odd.rb:1/]; end"),
    "a load path": ("$LOAD_PATH.unshift '/nowhere'", "p $:.include?('/nowhere'); require 'odd'; p $:.first"),
    "what is loaded": ("ODD = $LOADED_FEATURES.grep(/start.rb/).size", "require 'odd'; p ODD"),
    "a thread's variable": (
        "Thread.current[:odd] = 7",
        "p Thread.current[:odd]; require 'odd'; p Thread.current[:odd]"),
    "a trace": (
        "ODD = []\nt = TracePoint.new(:class) { |x| ODD << x.path[/x.rb/] }\nt.enable",
        "require 'odd'; class Mine; end; p ODD"),
    "a finalizer": (
        "KEPT = Object.new; ObjectSpace.define_finalizer(KEPT, proc { puts 'final' })",
        "require 'odd'; p 1"),
}
TCL_CASES = {
    "a file that is sourced": ("source [file join [file dirname [info script]] odd_b.tcl]", "puts [odd_b]"),
    "its own name": ("set ::odd [file tail [info script]]", "puts $::odd"),
    "a namespace and an ensemble": (
        "namespace eval odd { proc one {} {return 1}; namespace export *; namespace ensemble create }",
        "puts [odd one]"),
    "a class": (
        "oo::class create Odd { constructor {} { puts made }; destructor { puts gone } }",
        "set o [Odd new]; $o destroy"),
    "a coroutine": ("proc gen {} { yield 1; yield 2; return 3 }; coroutine ::odd gen", "puts [odd][odd]"),
    "a trace on a variable": (
        "set ::odd 1; trace add variable ::odd write {apply {args {puts written}}}",
        "set ::odd 2; puts $::odd"),
    "another unknown": (
        "rename ::unknown ::old; proc ::unknown args { return [list unknown {*}$args] }",
        "puts [no such command]"),
    "an exit": ("puts early; exit 4", "puts never"),
    "an error": ("error odd", "puts never"),
    "an interpreter": ("set ::odd [interp create]; $::odd eval {set x 5}", "puts [$::odd eval {set x}]"),
    "an alias": ("interp alias {} say {} puts said", "say"),
    "a global array": ("array set ::odd {a 1 b 2}; set ::list [lsort [array names ::odd]]", "puts $::list"),
    "levels and frames": ("set ::odd [list [info level] [catch {uplevel 1 {}}]]", "puts $::odd"),
    "a package in a package": (
        "package require Tcl 8.5; package provide odd_c 2; set ::odd [package present odd_c]",
        "puts $::odd"),
}


def each_like_plain(line, plain_line, env, reset, launch_env, words=((), ("w",), ())):
    plain = {some: run_plainly([*plain_line, *some], env={**REQUEST_ENV, **env}) for some in set(words)}
    with Warm(line, level="compiled", reset=reset, env={**launch_env, **LAUNCH_ENV, **env},
              verify=False) as zygote:
        assert zygote.stands, (zygote.notes, zygote.log())
        zygote.argv = plain_line
        for some in words:
            assert zygote.ask(*some, env={**REQUEST_ENV, **env}).seen() == plain[some].seen()


@RESETS
@pytest.mark.parametrize("kind", PYTHON_CASES)
def test_python(folder, kind, reset):
    text, use = PYTHON_CASES[kind]
    folder.script("lib/odd.py", text)
    folder.script("lib/odd_b.py", "import odd\nseen = sorted(name for name in vars(odd) if name[0] != '_')\n")
    script = folder.script("x.py", use + "\n")
    env = {"PYTHONPATH": str(folder.path / "lib"), "PYTHONDONTWRITEBYTECODE": "1"}
    each_like_plain(python_argv(script, "odd"), [PYTHON, script], env, reset, {})


@pytest.mark.skipif(not os.path.exists(RUBY), reason="ruby is not installed")
@RESETS
@pytest.mark.parametrize("kind", RUBY_CASES)
def test_ruby(folder, kind, reset):
    text, use = RUBY_CASES[kind]
    folder.script("lib/odd.rb", text + "\n")
    folder.script("lib/odd_b.rb", "module Odd; class Set2; end; end\n")
    script = folder.script("x.rb", use + "\n")
    env = {"RUBYLIB": f"{folder.path}/lib"}
    each_like_plain(command(script, preload="odd"), [RUBY, script], env, reset, {})


TCLSH = "/usr/bin/tclsh"


@pytest.mark.skipif(not os.path.exists("/usr/bin/tclsh8.6"), reason="tclsh8.6 is not installed")
@RESETS
@pytest.mark.parametrize("kind", TCL_CASES)
def test_tcl(folder, kind, reset):
    text, use = TCL_CASES[kind]
    folder.script("lib/odd/odd.tcl", f"package provide odd 1.0\n{text}\n")
    folder.script("lib/odd/odd_b.tcl", "proc odd_b {} { return b }\n")
    folder.script("lib/odd/pkgIndex.tcl", "package ifneeded odd 1.0 [list source [file join $dir odd.tcl]]\n")
    script = folder.script("x.tcl", f"package require odd\n{use}\n")
    ours = {"TCL_LIBRARY": f"{adapters_dir()}/tcl", "CGIBRIDGE_PRELOAD": "odd/1.0"}
    each_like_plain([TCLSH, script], [TCLSH, script], {"TCLLIBPATH": f"{folder.path}/lib"}, reset, ours)
