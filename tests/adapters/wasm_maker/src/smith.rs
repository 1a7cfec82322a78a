//! Modules and components that no compiler makes: valid ones of random parts, and those and others
//! with random damage. The same seed makes the same files.

use std::path::Path;

use arbitrary::Unstructured;
use wasm_smith::{Component, Config, Module};

use crate::Done;

/// What a module may call. What could wait for ever, or end with a code of its own, is left out.
const IMPORTS: &str = r#"(module
  (import "wasi_snapshot_preview1" "args_get" (func (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_sizes_get" (func (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_get" (func (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_allocate" (func (param i32 i64 i64) (result i32)))
  (import "wasi_snapshot_preview1" "fd_close" (func (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_fdstat_get" (func (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_pread" (func (param i32 i32 i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_prestat_dir_name" (func (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_readdir" (func (param i32 i32 i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_renumber" (func (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_seek" (func (param i32 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_readlink"
    (func (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_symlink" (func (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "sock_recv"
    (func (param i32 i32 i32 i32 i32 i32) (result i32))))"#;
/// What the runner asks a module for.
const EXPORTS: &str = r#"(module (func (export "_start")) (memory (export "memory") 1))"#;
/// Calls and turns of loops until a module ends itself.
const FUEL: u32 = 10_000;
/// Of random bytes that become parts.
const BYTES_MAX: u64 = 6000;

/// Makes FOLDER/0.wasm and so on; `files` are damaged as well.
pub fn make_all(seed: &str, count: &str, folder: &Path, files: &[&str]) -> Done {
    let (seed, count): (u64, u64) = (seed.parse()?, count.parse()?);
    let originals = files.iter().map(std::fs::read).collect::<Result<Vec<_>, _>>()?;
    for n in 0..count {
        let mut random = Random::of(seed.wrapping_add(n));
        let bytes = match random.below(4) {
            0 | 1 => damaged_or_whole(module(&mut random)?, &mut random),
            2 => damaged_or_whole(component(&mut random), &mut random),
            _ => match originals.get(random.below(originals.len().max(1) as u64) as usize) {
                Some(original) => damaged(original.clone(), &mut random),
                None => damaged(module(&mut random)?, &mut random),
            },
        };
        std::fs::write(folder.join(format!("{n}.wasm")), bytes)?;
    }
    Ok(())
}

/// A program with all that the runner asks for, which calls WASI with whatever it has.
fn module(random: &mut Random) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let parts = random.bytes();
    let mut parts = Unstructured::new(&parts);
    let mut config = Config { max_memories: 1, min_funcs: 1, ..of_this_runtime() };
    config.available_imports = Some(wat::parse_str(IMPORTS)?);
    config.exports = Some(wat::parse_str(EXPORTS)?);
    config.disallow_traps = random.below(2) == 0;
    let mut module = Module::new(config, &mut parts)?;
    // A module whose start cannot be stopped is one that runs for ever; few are.
    let _ = module.ensure_termination(FUEL);
    Ok(module.to_bytes())
}

/// Without what wasmtime has not, as the runner builds it, so that most files are more than refused.
fn of_this_runtime() -> Config {
    Config {
        exceptions_enabled: false,
        gc_enabled: false,
        reference_types_enabled: false,
        relaxed_simd_enabled: false,
        threads_enabled: false,
        ..Config::default()
    }
}

/// One of random parts; too few bytes make none, and then it is empty.
fn component(random: &mut Random) -> Vec<u8> {
    let parts = random.bytes();
    match Component::new(of_this_runtime(), &mut Unstructured::new(&parts)) {
        Ok(component) => component.to_bytes(),
        Err(_) => b"\0asm\x0d\0\x01\0".to_vec(),
    }
}

fn damaged_or_whole(bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    if random.below(3) == 0 {
        damaged(bytes, random)
    } else {
        bytes
    }
}

/// With up to eight places changed, cut out, or doubled.
fn damaged(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    for _ in 0..=random.below(8) {
        let at = random.below(bytes.len().max(1) as u64) as usize;
        let end = (at + random.below(16) as usize).min(bytes.len());
        match random.below(5) {
            _ if at >= end => bytes.push(random.next() as u8),
            0 => bytes.truncate(at.max(8)),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            3 => bytes[at] ^= 1 << random.below(8),
            _ => bytes[at] = random.next() as u8,
        }
    }
    bytes
}

/// xorshift64*
struct Random(u64);

impl Random {
    fn of(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn bytes(&mut self) -> Vec<u8> {
        let length = 200 + self.below(BYTES_MAX);
        (0..length).map(|_| self.next() as u8).collect()
    }
}
