//! Sockets: there are none. wasmtime-wasi refuses to make them by itself, but starts a runtime before
//! it refuses to look up a name.

use wasmtime::component::{Linker, Resource};
use wasmtime::StoreContextMut;
use wasmtime_wasi::p2::bindings::sockets::ip_name_lookup::ResolveAddressStream;
use wasmtime_wasi::p2::bindings::sockets::network::ErrorCode;
use wasmtime_wasi::p2::Network;

use super::state::State;

/// The name under which wasmtime-wasi offers the function that is replaced here.
const LOOKUP: &str = "wasi:sockets/ip-name-lookup@0.2.12";

/// Replaces the function; the linker allows it.
pub fn add_to(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    type Said = Result<Resource<ResolveAddressStream>, ErrorCode>;
    linker.instance(LOOKUP)?.func_wrap(
        "resolve-addresses",
        |_: StoreContextMut<State>, _: (Resource<Network>, String)| {
            Ok((Said::Err(ErrorCode::PermanentResolverFailure),))
        },
    )
}
