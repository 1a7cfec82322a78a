"""Broken WebAssembly files, for a few seconds: wasm_fuzz.py does it for as long as one likes."""

import wasm_fuzz

SEED, COUNT = 1, 400


def test_broken_files_end_as_the_runner_states(tmp_path):
    ends = wasm_fuzz.fuzz(SEED, COUNT, tmp_path)
    # Some of each: refused, trapped, and run to the end.
    assert min(ends.get(code, 0) for code in (0, 1, 134)) > COUNT // 100, ends
