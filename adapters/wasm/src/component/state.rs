//! What an instance of a component has of its own, besides its memory: for wasmtime-wasi and
//! wasmtime-wasi-http, whose functions work on it.

use std::time::Instant;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::http::Hooks;
use super::random::{self, Kernel};
use super::streams::Descriptor;
use super::World;
use crate::limits::Limits;
use crate::options::{text, Options};
use crate::run::Request;

/// Of handles of the host at once: files, streams, header fields, what is waited for.
const RESOURCES_MAX: usize = 2048;
/// Bytes of the header fields that one handle holds.
const FIELDS_MAX: usize = 32 << 10;
/// Of random bytes in one call.
const RANDOM_MAX: u64 = 1 << 20;

pub struct State {
    wasi: WasiCtx,
    table: ResourceTable,
    http: WasiHttpCtx,
    hooks: Hooks,
    pub limits: Limits,
    /// None until the request is there.
    began: Option<Instant>,
    has_asked: bool,
}

impl State {
    pub fn new(options: &Options) -> State {
        let mut table = ResourceTable::new();
        table.set_max_capacity(RESOURCES_MAX);
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(FIELDS_MAX);
        State {
            wasi: WasiCtx::default(),
            table,
            http,
            hooks: Hooks,
            limits: Limits::new(options.memory),
            began: None,
            has_asked: false,
        }
    }

    /// The request has come: functions may be called. The folders are opened now, so that they are
    /// those that have the names now.
    pub fn begin(
        &mut self,
        options: &Options,
        world: World,
        request: &Request,
    ) -> Result<(), String> {
        self.wasi = context(options, world, request)?;
        self.began = Some(Instant::now());
        Ok(())
    }

    /// Whether the component called a function before its request was there; it got nothing of a
    /// request, and the instance is of no use.
    pub fn has_asked(&self) -> bool {
        self.has_asked
    }

    /// When the request began, and where resources are kept.
    pub fn clock(&mut self) -> (Instant, &mut ResourceTable) {
        self.note_call();
        (self.began.unwrap_or_else(Instant::now), &mut self.table)
    }

    /// Ends all streams that the component still has.
    pub fn drop_resources(&mut self) {
        self.table = ResourceTable::new();
    }

    fn note_call(&mut self) {
        self.has_asked |= self.began.is_none();
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.note_call();
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.note_call();
        WasiHttpCtxView { ctx: &mut self.http, table: &mut self.table, hooks: &mut self.hooks }
    }
}

/// Sockets stay as a context has them at first: refused.
fn context(options: &Options, world: World, request: &Request) -> Result<WasiCtx, String> {
    let mut context = WasiCtx::builder();
    match world {
        World::Command => context.stdin(Descriptor(0)).stdout(Descriptor(1)),
        // What answers through wasi:http prints for the log only, and its input is the request's body.
        World::Proxy => context.stdout(Descriptor(2)),
    };
    context
        .stderr(Descriptor(2))
        .allow_blocking_current_thread(true)
        .secure_random(Kernel)
        .insecure_random(Kernel)
        .insecure_random_seed(u128::from_ne_bytes(random::drawn()))
        .max_random_size(RANDOM_MAX);
    for variable in &request.environment {
        let variable = String::from_utf8_lossy(variable);
        if let Some((name, value)) = variable.split_once('=') {
            context.env(name, value);
        }
    }
    for word in &request.arguments {
        context.arg(String::from_utf8_lossy(word));
    }
    for folder in &options.folders {
        let perms = if folder.read_only { FsPerms::ReadOnly } else { FsPerms::ReadWrite };
        let name = String::from_utf8_lossy(&folder.name);
        context.preopened_dir(&folder.path, name, perms).map_err(|error| {
            format!("wasm.dirs: {} = {}: {error:#}", text(&folder.name), folder.path.display())
        })?;
    }
    Ok(context.build())
}
