//! wasi:http/proxy: a component gets the request as a value, and its answer is printed as a CGI
//! program would print it. Both bodies are passed on in pieces, as they come.

use std::future::{poll_fn, Future};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use ::http::HeaderName;
use wasmtime::component::{Linker, Resource};
use wasmtime::{Store, StoreContextMut};
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::p2::bindings::Proxy;
use wasmtime_wasi_http::p2::types::{HostFutureIncomingResponse, HostOutgoingRequest};
use wasmtime_wasi_http::{
    Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpHooks, WasiHttpView,
    DEFAULT_FORBIDDEN_HEADERS,
};

use super::request::{self, Body};
use super::response::{Answer, Fault, Printer};
use super::state::State;
use super::wait;
use crate::options::Options;
use crate::run::Request;
use crate::{compiler, failure, Outcome};

/// The name under which wasmtime-wasi-http offers the function that is replaced here.
const OUTGOING: &str = "wasi:http/outgoing-handler@0.2.12";
/// The most of a body that is under way between a component and the printer at a time.
const PIECE_MAX: usize = 64 << 10;

/// wasi:http without requests of the component's own; the linker allows that a function is replaced.
pub fn add_to(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)?;
    // wasmtime-wasi-http's own starts a runtime before it asks Hooks::send_request().
    type Words = (Resource<HostOutgoingRequest>, Option<Resource<RequestOptions>>);
    type Said = Result<Resource<HostFutureIncomingResponse>, ErrorCode>;
    linker.instance(OUTGOING)?.func_wrap(
        "handle",
        |mut store: StoreContextMut<State>, (request, options): Words| {
            let table = store.data_mut().http().table;
            table.delete(request)?;
            options.map(|options| table.delete(options)).transpose()?;
            Ok((Said::Err(ErrorCode::HttpRequestDenied),))
        },
    )
}

/// Lets the component answer; the exit code.
pub fn answer(
    options: &Options,
    store: &mut Store<State>,
    proxy: &Proxy,
    request: &Request,
) -> Outcome {
    let (scheme, request) = request::of(&request.environment, Body::of_stdin)?;
    let answer = Arc::new(Answer::default());
    let is_set = answer.clone();
    let mut http = store.data_mut().http();
    let made = http.new_incoming_request(scheme, request).and_then(|request| {
        let set = http.new_response_outparam_from_callback(move |response| is_set.set(response))?;
        Ok((request, set))
    });
    let (request, set) = made.map_err(|error| compiler::one_line(&error))?;
    let mut printer = Printer::new(1, answer);
    let ended = {
        let handler = proxy.wasi_http_incoming_handler();
        let mut handled = pin!(handler.call_handle(&mut *store, request, set));
        // What the component has written is printed whenever it waits for something.
        wait::block_on(poll_fn(|context| {
            let handled = handled.as_mut().poll(context);
            match printer.print(context) {
                Poll::Ready(Err(Fault::Unheard)) => Poll::Ready(Ok(())),
                _ => handled,
            }
        }))
    };
    store.data_mut().drop_resources();
    let printed = wait::at_once(poll_fn(|context| printer.print(context)));
    if printed == Some(Err(Fault::Unheard)) {
        return Ok(128 + libc::SIGPIPE);
    }
    // A trap is the reason to tell, whatever became of the answer.
    let code = failure::exit_code(&options.shown_module(), ended);
    match printed {
        _ if code != 0 => Ok(code),
        Some(Ok(())) => Ok(0),
        Some(Err(Fault::Other(why))) => Err(why),
        _ => Err("it ends without an answer: it never set its response-outparam".into()),
    }
}

/// What a component may do, and within which limits.
pub struct Hooks;

/// Headers between two neighbours, which the web server makes; and "Status", which is no header of
/// HTTP but CGI's way to say the status (RFC 3875 6.3.3). A component can neither make nor see them.
fn is_forbidden(name: &HeaderName) -> bool {
    DEFAULT_FORBIDDEN_HEADERS.contains(name) || matches!(name.as_str(), "status" | "te" | "trailer")
}

impl WasiHttpHooks for Hooks {
    fn is_forbidden_header(&mut self, name: &HeaderName) -> bool {
        is_forbidden(name)
    }

    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(is_forbidden)
    }

    fn send_request(
        &mut self,
        _request: ::http::Request<WasiBody>,
        _options: Option<RequestOptions>,
        _sent: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Result<(::http::Response<WasiBody>, Io), Error>> + Send> {
        Box::new(async { Err(Error::HttpRequestDenied) })
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        PIECE_MAX
    }
}

type Io = Box<dyn Future<Output = Result<(), Error>> + Send>;
