//! Components of C programs.

use std::path::Path;

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
    WASI_SNAPSHOT_PREVIEW1_PROXY_ADAPTER, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_bindgen_core::wit_parser::Resolve;
use wit_bindgen_core::Files;
use wit_component::ComponentEncoder;

use crate::Done;

/// A component of a module that a compiler for wasm32-wasi made: the adapter translates between
/// preview 1, which its C library knows, and WASI 0.2.
pub fn make(module: &str, component: &str, world: &str) -> Done {
    let adapter = match world {
        "command" => WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
        "reactor" => WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
        "proxy" => WASI_SNAPSHOT_PREVIEW1_PROXY_ADAPTER,
        _ => return Err(format!("no adapter for the world {world}").into()),
    };
    let bytes = ComponentEncoder::default()
        .module(&std::fs::read(module)?)?
        .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, adapter)?
        .encode()?;
    std::fs::write(component, bytes)?;
    Ok(())
}

/// What a C program includes and is linked with to be of a world: a header, a source and an object.
pub fn bindings(wit: &str, world: &str, folder: &Path) -> Done {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(wit)?;
    let world = resolve.select_world(&[package], Some(world))?;
    let mut files = Files::default();
    wit_bindgen_c::Opts::default().build().generate(&mut resolve, world, &mut files)?;
    for (name, bytes) in files.iter() {
        std::fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}
