//! The answer of a wasi:http component, printed as CGI's: "Status", the headers, the body
//! (RFC 3875 6). Trailers have no place there.

use std::os::fd::RawFd;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::{HeaderMap, StatusCode};
use http_body::Body;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::p2::body::HyperOutgoingBody;

use super::streams;

type Response = http::Response<HyperOutgoingBody>;

/// What the component has answered, once it has.
#[derive(Default)]
pub struct Answer(Mutex<Option<Result<Response, ErrorCode>>>);

impl Answer {
    pub fn set(&self, answer: Result<Response, ErrorCode>) {
        *self.0.lock().unwrap() = Some(answer);
    }

    fn take(&self) -> Option<Result<Response, ErrorCode>> {
        self.0.lock().unwrap().take()
    }
}

/// Why an answer is none, or not whole.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Nobody reads it any more.
    Unheard,
    /// In words.
    Other(String),
}

/// Prints to a descriptor, and waits there if need be.
pub struct Printer {
    to: RawFd,
    answer: Arc<Answer>,
    state: State,
}

enum State {
    /// Nothing has been answered.
    Silent,
    /// What is still to be printed: the head, if any, then the body.
    Printing(Vec<u8>, HyperOutgoingBody),
    Over(Result<(), Fault>),
}

impl Printer {
    pub fn new(to: RawFd, answer: Arc<Answer>) -> Printer {
        Printer { to, answer, state: State::Silent }
    }

    /// Prints what is there. Ready: that was all, or no more can come.
    pub fn print(&mut self, context: &mut Context) -> Poll<Result<(), Fault>> {
        loop {
            let next = match &mut self.state {
                State::Silent => match self.answer.take() {
                    None => return Poll::Pending,
                    Some(answer) => begin(answer),
                },
                State::Printing(head, body) => match print_piece(self.to, head, body, context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(None) => continue,
                    Poll::Ready(Some(end)) => State::Over(end),
                },
                State::Over(end) => return Poll::Ready(end.clone()),
            };
            self.state = next;
        }
    }
}

fn begin(answer: Result<Response, ErrorCode>) -> State {
    match answer {
        Err(code) => State::Over(Err(Fault::Other(format!("it answers with an error: {code:?}")))),
        Ok(response) if response.status().is_informational() => {
            let status = response.status();
            State::Over(Err(Fault::Other(format!("its status, {status}, is none of an answer"))))
        }
        Ok(response) => {
            let head = head_of(response.status(), response.headers());
            State::Printing(head, response.into_body())
        }
    }
}

/// Neither a name nor a value can end a line: the types of `http` exclude that.
fn head_of(status: StatusCode, headers: &HeaderMap) -> Vec<u8> {
    let reason = status.canonical_reason().unwrap_or_default();
    let mut head = format!("Status: {} {reason}\r\n", status.as_u16()).into_bytes();
    for (name, value) in headers {
        let name: &[u8] = name.as_ref();
        head.extend_from_slice(&[name, b": ", value.as_bytes(), b"\r\n"].concat());
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// The next piece of the body, after the head; Some: it was the last.
fn print_piece(
    to: RawFd,
    head: &mut Vec<u8>,
    body: &mut HyperOutgoingBody,
    context: &mut Context,
) -> Poll<Option<Result<(), Fault>>> {
    let frame = Pin::new(body).poll_frame(context);
    let mut piece = std::mem::take(head);
    if let Poll::Ready(Some(Ok(frame))) = &frame {
        // Trailers are not printed.
        piece.extend_from_slice(frame.data_ref().map_or(b"", |bytes| bytes));
    }
    if let Err(error) = streams::write_all(to, &piece) {
        return Poll::Ready(Some(Err(match error.raw_os_error() {
            Some(libc::EPIPE) => Fault::Unheard,
            _ => Fault::Other(format!("its answer cannot be printed: {error}")),
        })));
    }
    frame.map(|frame| match frame {
        Some(Ok(_)) => None,
        Some(Err(error)) => Some(Err(Fault::Other(format!("its answer was cut off: {error}")))),
        None => Some(Ok(())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::wait::at_once;
    use http_body_util::{BodyExt, Full};
    use std::io::{PipeReader, Read};
    use std::os::fd::AsRawFd;

    fn response(status: u16) -> Response {
        let body = Full::from("body").map_err(|never| match never {}).boxed_unsync();
        http::Response::builder().status(status).header("X-Y", "z").body(body).unwrap()
    }

    fn printed(answer: Result<Response, ErrorCode>) -> (Option<Result<(), Fault>>, String) {
        let (mut reading, writing) = std::io::pipe().unwrap();
        let shared = Arc::new(Answer::default());
        let mut printer = Printer::new(writing.as_raw_fd(), shared.clone());
        let mut print = || at_once(std::future::poll_fn(|context| printer.print(context)));
        assert_eq!(print(), None);
        shared.set(answer);
        let end = print();
        drop(writing);
        (end, all_of(&mut reading))
    }

    fn all_of(reading: &mut PipeReader) -> String {
        let mut text = String::new();
        reading.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn prints_an_answer_as_cgi_has_it() {
        let (end, text) = printed(Ok(response(404)));
        assert_eq!(end, Some(Ok(())));
        assert_eq!(text, "Status: 404 Not Found\r\nx-y: z\r\n\r\nbody");
        assert!(printed(Ok(response(799))).1.starts_with("Status: 799 \r\n"));
    }

    #[test]
    fn prints_nothing_of_what_is_no_answer() {
        for answer in [Ok(response(103)), Err(ErrorCode::HttpRequestDenied)] {
            let (end, text) = printed(answer);
            assert!(matches!(end, Some(Err(Fault::Other(_)))) && text.is_empty(), "{end:?} {text}");
        }
    }

    #[test]
    fn sees_that_nobody_reads() {
        let (reading, writing) = std::io::pipe().unwrap();
        drop(reading);
        let shared = Arc::new(Answer::default());
        shared.set(Ok(response(200)));
        let mut printer = Printer::new(writing.as_raw_fd(), shared);
        let end = at_once(std::future::poll_fn(|context| printer.print(context)));
        assert_eq!(end, Some(Err(Fault::Unheard)));
    }
}
