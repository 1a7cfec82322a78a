//! A request as wasi:http has it, of the variables and the input that CGI has (RFC 3875 4).

use std::os::fd::RawFd;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::uri::{Authority, PathAndQuery};
use http::{header, HeaderMap, HeaderName, HeaderValue, Method, Uri};
use http_body::Frame;
use wasmtime_wasi_http::p2::bindings::http::types::Scheme;
use wasmtime_wasi_http::Error;

use super::{streams, wait};

const PIECE_MAX: usize = 64 << 10;

/// The request, with the body that `body` makes for the length that was announced.
pub fn of<B>(
    environment: &[Vec<u8>],
    body: impl FnOnce(Option<u64>) -> B,
) -> Result<(Scheme, http::Request<B>), String> {
    let variables = Variables(environment);
    let wrong = |name: &str, value: &[u8]| {
        format!("the variable {name} of the request makes no sense: {}", value.escape_ascii())
    };
    let method = variables.get("REQUEST_METHOD").unwrap_or(b"GET");
    let method = Method::from_bytes(method).map_err(|_| wrong("REQUEST_METHOD", method))?;
    let length = match variables.get("CONTENT_LENGTH") {
        None => None,
        Some(digits) => Some(number(digits).ok_or_else(|| wrong("CONTENT_LENGTH", digits))?),
    };
    let is_secure = variables.get("HTTPS").is_some_and(|value| value != b"off")
        || variables.get("REQUEST_SCHEME") == Some(b"https");
    let path = path_of(&variables);
    let target = PathAndQuery::from_maybe_shared(Bytes::from(path.clone()))
        .map_err(|_| wrong("SCRIPT_NAME, PATH_INFO or QUERY_STRING", &path))?;
    let mut uri = http::uri::Parts::default();
    uri.scheme = Some(if is_secure { http::uri::Scheme::HTTPS } else { http::uri::Scheme::HTTP });
    uri.authority = Some(authority_of(&variables));
    uri.path_and_query = Some(target);
    let mut request = http::Request::new(body(length));
    *request.method_mut() = method;
    *request.uri_mut() = Uri::from_parts(uri).map_err(|error| error.to_string())?;
    *request.headers_mut() = headers_of(&variables);
    Ok((if is_secure { Scheme::Https } else { Scheme::Http }, request))
}

struct Variables<'a>(&'a [Vec<u8>]);

impl<'a> Variables<'a> {
    /// None, too, if it is empty (RFC 3875 4.1: which means the same).
    fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.all().find(|(other, _)| *other == name.as_bytes()).map(|(_, value)| value)
    }

    fn all(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        self.0.iter().filter_map(|variable| {
            let end = variable.iter().position(|byte| *byte == b'=')?;
            Some((&variable[..end], &variable[end + 1..])).filter(|(_, value)| !value.is_empty())
        })
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(digits).ok()?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// The path and the query of the Script-URI (RFC 3875 3.3), in the client's own spelling if the web
/// server tells it (REQUEST_URI) and has not made another path of it.
fn path_of(variables: &Variables) -> Vec<u8> {
    let value = |name| variables.get(name).unwrap_or_default();
    let path = [value("SCRIPT_NAME"), value("PATH_INFO")].concat();
    let query = value("QUERY_STRING");
    let spelled = value("REQUEST_URI");
    let spelled = spelled.split(|byte| *byte == b'?').next().unwrap_or_default();
    let mut whole = match decoded(spelled) == path {
        true => spelled.to_vec(),
        false => encoded(&path),
    };
    if !whole.starts_with(b"/") {
        whole.insert(0, b'/');
    }
    if !query.is_empty() {
        whole.push(b'?');
        whole.extend_from_slice(query);
    }
    whole
}

fn decoded(spelled: &[u8]) -> Vec<u8> {
    let digit = |at: usize| spelled.get(at).and_then(|digit| (*digit as char).to_digit(16));
    let (mut bytes, mut at) = (Vec::with_capacity(spelled.len()), 0);
    while let Some(byte) = spelled.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                bytes.push(*byte);
                at += 1;
            }
        }
    }
    bytes
}

/// RFC 3986 3.3: what a path may contain stays, the rest becomes %XX.
fn encoded(path: &[u8]) -> Vec<u8> {
    let mut spelled = Vec::with_capacity(path.len());
    for byte in path {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(byte) {
            spelled.push(*byte);
        } else {
            spelled.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    spelled
}

/// What the client named, or what the server calls itself; no name is no reason to refuse a request.
fn authority_of(variables: &Variables) -> Authority {
    if let Some(Ok(named)) = variables.get("HTTP_HOST").map(Authority::try_from) {
        return named;
    }
    let name = String::from_utf8_lossy(variables.get("SERVER_NAME").unwrap_or_default());
    let port = match variables.get("SERVER_PORT") {
        Some(port) if port != b"80" && port != b"443" => format!(":{}", port.escape_ascii()),
        _ => String::new(),
    };
    // An address of IPv6 may come without its brackets.
    let is_bare = name.parse::<std::net::Ipv6Addr>().is_ok();
    let host = if is_bare { format!("[{name}]") } else { name.into_owned() };
    Authority::try_from(format!("{host}{port}")).unwrap_or(Authority::from_static("localhost"))
}

/// HTTP_* are the client's headers (RFC 3875 4.1.18); what can be no header is left out.
fn headers_of(variables: &Variables) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in variables.all() {
        let name = match name {
            b"CONTENT_TYPE" => header::CONTENT_TYPE,
            b"CONTENT_LENGTH" => header::CONTENT_LENGTH,
            b"HTTP_CONTENT_TYPE" | b"HTTP_CONTENT_LENGTH" => continue,
            _ => match name.strip_prefix(b"HTTP_").map(header_name) {
                Some(Some(name)) => name,
                _ => continue,
            },
        };
        if let Ok(value) = HeaderValue::from_bytes(value) {
            let _ = headers.try_append(name, value); // more than 32,768 are no request
        }
    }
    headers
}

fn header_name(name: &[u8]) -> Option<HeaderName> {
    let name: Vec<u8> = name.iter().map(|byte| if *byte == b'_' { b'-' } else { *byte }).collect();
    HeaderName::from_bytes(&name).ok()
}

/// Standard input, up to the length that was announced: behind it is nothing of this request
/// (RFC 3875 4.2).
pub struct Body {
    from: RawFd,
    left: Option<u64>,
    is_over: bool,
}

impl Body {
    pub fn of_stdin(length: Option<u64>) -> Body {
        Body { from: 0, left: length, is_over: length == Some(0) }
    }

    /// None: the end.
    fn read(&mut self) -> Option<Result<Frame<Bytes>, Error>> {
        let most = self.left.map_or(PIECE_MAX, |left| left.min(PIECE_MAX as u64) as usize);
        let got = streams::read_some(self.from, most);
        let was_cut = self.left.is_some() && got.as_ref().is_ok_and(Bytes::is_empty);
        match got {
            Ok(bytes) if !bytes.is_empty() => {
                self.left = self.left.map(|left| left - bytes.len() as u64);
                self.is_over = self.left == Some(0);
                Some(Ok(Frame::data(bytes)))
            }
            Ok(_) if !was_cut => {
                self.is_over = true;
                None
            }
            _ => {
                self.is_over = true;
                Some(Err(Error::ConnectionTerminated))
            }
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        match wait::poll_readiness(self.from, libc::POLLIN) {
            Poll::Ready(()) => Poll::Ready(self.read()),
            Poll::Pending => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(variables: &[&str]) -> http::Request<Option<u64>> {
        let variables: Vec<Vec<u8>> = variables.iter().map(|text| text.as_bytes().into()).collect();
        of(&variables, |length| length).unwrap().1
    }

    #[test]
    fn makes_the_target_of_the_script_uri() {
        let uri = |variables: &[&str]| request(variables).uri().to_string();
        let base =
            ["SCRIPT_NAME=/a b/x.wasm", "PATH_INFO=/é?", "SERVER_NAME=s", "QUERY_STRING=q=1&r"];
        assert_eq!(uri(&base), "http://s/a%20b/x.wasm/%C3%A9%3F?q=1&r");
        let spelled = [&base[..], &["REQUEST_URI=/a+b/x.wasm/%c3%a9%3f?q=1&r"]].concat();
        assert_eq!(uri(&spelled), "http://s/a%20b/x.wasm/%C3%A9%3F?q=1&r", "another path");
        let spelled = [&base[..], &["REQUEST_URI=/a%20b/x%2ewasm/%c3%a9%3f?other"]].concat();
        assert_eq!(uri(&spelled), "http://s/a%20b/x%2ewasm/%c3%a9%3f?q=1&r");
        assert_eq!(uri(&["SERVER_NAME=::1", "SERVER_PORT=8080"]), "http://[::1]:8080/");
        assert_eq!(uri(&["SERVER_NAME=a b"]), "http://localhost/");
        assert_eq!(uri(&[]), "http://localhost/");
    }

    #[test]
    fn takes_the_client_s_headers() {
        let request = request(&[
            "REQUEST_METHOD=PROPFIND",
            "HTTPS=on",
            "HTTP_HOST=example.org:8443",
            "HTTP_X_Y=z: w",
            "HTTP_EMPTY=",
            "HTTP_BAD=a\nb",
            "HTTP_=x",
            "CONTENT_LENGTH=12",
            "HTTP_CONTENT_LENGTH=13",
            "CONTENT_TYPE=text/plain",
        ]);
        assert_eq!(request.method(), "PROPFIND");
        assert_eq!(request.uri(), "https://example.org:8443/");
        assert_eq!(request.headers()["x-y"], "z: w");
        assert_eq!(request.headers()["content-length"], "12");
        assert_eq!(request.headers().len(), 4);
        assert_eq!(request.body(), &Some(12));
    }

    #[test]
    fn refuses_what_makes_no_sense() {
        for variable in
            ["REQUEST_METHOD=A B", "CONTENT_LENGTH=-1", "CONTENT_LENGTH=1x", "QUERY_STRING=\u{1}"]
        {
            assert!(of(&[variable.into()], |_| ()).is_err(), "{variable}");
        }
    }
}
