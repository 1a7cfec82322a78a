"""The machines that guests can be: what qemu emulates, and what their init and tests come from.

`own` boots on this machine's root; another processor needs a root of its own, which `fetch-arm64` makes."""

import dataclasses
import pathlib


@dataclasses.dataclass(frozen=True)
class Machine:
    qemu: str
    words: tuple    # of qemu's command line: the board, the processor, its memory's size
    console: str    # the kernel's name of the first serial line
    root: pathlib.Path

    @property
    def busybox(self):
        return self.root / "bin" / "busybox"


def own():
    return Machine("qemu-system-x86_64", ("-M", "q35", "-cpu", "Nehalem"), "ttyS0", pathlib.Path("/"))


# Its vectors are longer than those that every aarch64 has.
def arm64(root):
    return Machine("qemu-system-aarch64", ("-M", "virt", "-cpu", "max,pauth-impdef=on"), "ttyAMA0",
                   pathlib.Path(root))
