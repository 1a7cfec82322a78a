//! A guestbook as a CGI program; README.md has the rules that all languages share. On libsqlite3
//! itself, by the few declarations at the end, so that rustc alone builds it.
use std::env;
use std::ffi::{CStr, CString};
use std::fmt::Write as _;
use std::io::{self, Read, Write as _};
use std::os::raw::{c_char, c_int, c_void};

const BODY_MAX: usize = 16384;
const FIELDS: [(&[u8], usize); 2] = [(b"name", 100), (b"message", 2000)]; // maximum bytes
const FORM: &str = "application/x-www-form-urlencoded";
// Fails if two requests create the database at once; then the other one has switched it.
const USE_WAL: &str = "PRAGMA journal_mode = WAL";
const SCHEMA: &str = "
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
  message TEXT NOT NULL, created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE INDEX IF NOT EXISTS entries_by_name ON entries (name);
CREATE INDEX IF NOT EXISTS entries_by_created ON entries (created);
CREATE INDEX IF NOT EXISTS entries_by_name_created ON entries (name, created);
";
const PAGE_START: &str = r#"<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Guestbook</title></head>
<body>
<h1>Guestbook</h1>
<form method="post">
<p><input name="name" required maxlength="100" placeholder="Name"></p>
<p><textarea name="message" required maxlength="2000"></textarea></p>
<p><button>Sign</button></p>
</form>
<ol reversed>
"#;
const PAGE_END: &str = "</ol>\n</body>\n</html>\n";

/// An answer other than the page.
enum Refused {
    BadRequest,
    MethodNotAllowed,
    Database(String),
}

impl From<DatabaseError> for Refused {
    fn from(error: DatabaseError) -> Self {
        Refused::Database(error.0)
    }
}

fn variable(name: &str) -> String {
    env::var_os(name).map_or(String::new(), |value| value.to_string_lossy().into_owned())
}

fn put_escaped(page: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => page.push_str("&amp;"),
            '<' => page.push_str("&lt;"),
            '>' => page.push_str("&gt;"),
            '"' => page.push_str("&quot;"),
            '\'' => page.push_str("&#39;"),
            _ => page.push(c),
        }
    }
}

fn list_entries(db: &Database) -> Result<String, Refused> {
    let mut rows =
        db.prepare("SELECT id, name, created, message FROM entries ORDER BY id DESC LIMIT 100")?;
    let mut page = String::from(PAGE_START);
    while rows.step()? {
        let _ = write!(page, "<li value=\"{}\"><b>", rows.integer(0));
        put_escaped(&mut page, &rows.text(1));
        page.push_str("</b> <time>");
        put_escaped(&mut page, &rows.text(2));
        page.push_str("</time><p>");
        put_escaped(&mut page, &rows.text(3));
        page.push_str("</p></li>\n");
    }
    page.push_str(PAGE_END);
    let body = if variable("REQUEST_METHOD") == "HEAD" { "" } else { &page };
    Ok(format!("Content-Type: text/html; charset=utf-8\r\n\r\n{body}"))
}

/// A % that no two hex digits follow stands for itself.
fn decode(text: &[u8]) -> Vec<u8> {
    let digit = |at: usize| text.get(at).and_then(|byte| (*byte as char).to_digit(16));
    let mut decoded = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        match (text[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                at += 2;
            }
            (b'+', _, _) => decoded.push(b' '),
            (byte, _, _) => decoded.push(byte),
        }
        at += 1;
    }
    decoded
}

fn read_body() -> Result<Vec<u8>, Refused> {
    let (kind, length) = (variable("CONTENT_TYPE"), variable("CONTENT_LENGTH"));
    let more = kind.strip_prefix(FORM).ok_or(Refused::BadRequest)?;
    let digits = (1..=9).contains(&length.len()) && length.bytes().all(|b| b.is_ascii_digit());
    if !digits || !(more.is_empty() || more.starts_with(&[';', ' '][..])) {
        return Err(Refused::BadRequest);
    }
    let bytes: usize = length.parse().map_err(|_| Refused::BadRequest)?;
    let mut body = vec![0; bytes.min(BODY_MAX + 1)];
    match bytes <= BODY_MAX && io::stdin().read_exact(&mut body).is_ok() {
        true => Ok(body),
        false => Err(Refused::BadRequest),
    }
}

/// The value that the form gives this field, if it is as it should be. The first of two equal names
/// counts.
fn text_field(body: &[u8], name: &[u8], bytes_max: usize) -> Result<String, Refused> {
    for pair in body.split(|byte| matches!(byte, b'&' | b';')) {
        let equals = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
        if decode(&pair[..equals]) != name {
            continue;
        }
        let value = decode(pair.get(equals + 1..).unwrap_or_default());
        let control = |byte: &u8| *byte == 0x7F || (*byte < 0x20 && !b"\t\n\r".contains(byte));
        if value.is_empty() || value.len() > bytes_max || value.iter().any(control) {
            return Err(Refused::BadRequest);
        }
        return String::from_utf8(value).map_err(|_| Refused::BadRequest);
    }
    Err(Refused::BadRequest)
}

fn add_entry(db: &Database) -> Result<String, Refused> {
    let body = read_body()?;
    let mut insert = db.prepare("INSERT INTO entries (name, message) VALUES (?, ?)")?;
    for (index, (name, bytes_max)) in FIELDS.iter().enumerate() {
        insert.bind(index + 1, &text_field(&body, name, *bytes_max)?)?;
    }
    insert.step()?;
    Ok(format!("Status: 303 See Other\r\nLocation: {}\r\n\r\n", variable("SCRIPT_NAME")))
}

fn answer() -> Result<String, Refused> {
    let method = variable("REQUEST_METHOD");
    if !["GET", "HEAD", "POST"].contains(&method.as_str()) {
        return Err(Refused::MethodNotAllowed);
    }
    let path = match variable("GUESTBOOK_DB") {
        path if path.is_empty() => String::from("/var/lib/guestbook/guestbook.db"),
        path => path,
    };
    let db = Database::open(&path)?;
    let _ = db.execute(USE_WAL);
    db.execute(SCHEMA)?;
    if method == "POST" { add_entry(&db) } else { list_entries(&db) }
}

fn main() {
    let text = answer().unwrap_or_else(|refused| {
        let (status, headers) = match refused {
            Refused::BadRequest => ("400 Bad Request", ""),
            Refused::MethodNotAllowed => ("405 Method Not Allowed", "Allow: GET, HEAD, POST\r\n"),
            Refused::Database(why) => {
                eprintln!("guestbook: {why}");
                ("500 Internal Server Error", "")
            }
        };
        let kind = "Content-Type: text/plain; charset=utf-8";
        format!("Status: {status}\r\n{headers}{kind}\r\n\r\n{status}\n")
    });
    let _ = io::stdout().write_all(text.as_bytes());
}

// The used part of libsqlite3, and a thin layer that makes it safe.

struct DatabaseError(String);

struct Database(*mut c_void);

struct Statement<'db> {
    db: &'db Database,
    raw: *mut c_void,
}

impl Database {
    fn open(path: &str) -> Result<Database, DatabaseError> {
        let path = CString::new(path).map_err(|_| DatabaseError("a NUL in its path".into()))?;
        let mut db = Database(std::ptr::null_mut());
        let code = unsafe { sqlite3_open(path.as_ptr(), &mut db.0) };
        db.check(code == SQLITE_OK)?;
        unsafe { sqlite3_busy_timeout(db.0, 5000) };
        Ok(db)
    }

    fn check(&self, fine: bool) -> Result<(), DatabaseError> {
        if fine {
            return Ok(());
        }
        let message = unsafe { CStr::from_ptr(sqlite3_errmsg(self.0)) };
        Err(DatabaseError(message.to_string_lossy().into_owned()))
    }

    fn execute(&self, sql: &str) -> Result<(), DatabaseError> {
        let sql = CString::new(sql).expect("ours has no NUL");
        let none = std::ptr::null_mut();
        let code = unsafe { sqlite3_exec(self.0, sql.as_ptr(), None, none, none as *mut _) };
        self.check(code == SQLITE_OK)
    }

    fn prepare(&self, sql: &str) -> Result<Statement<'_>, DatabaseError> {
        let mut raw = std::ptr::null_mut();
        let (text, bytes) = (sql.as_ptr() as *const c_char, sql.len() as c_int);
        let rest = std::ptr::null_mut();
        let code = unsafe { sqlite3_prepare_v2(self.0, text, bytes, &mut raw, rest) };
        self.check(code == SQLITE_OK)?;
        Ok(Statement { db: self, raw })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        unsafe { sqlite3_close(self.0) };
    }
}

impl Statement<'_> {
    fn bind(&mut self, index: usize, text: &str) -> Result<(), DatabaseError> {
        let (bytes, size) = (text.as_ptr() as *const c_char, text.len() as c_int);
        let code =
            unsafe { sqlite3_bind_text(self.raw, index as c_int, bytes, size, SQLITE_TRANSIENT) };
        self.db.check(code == SQLITE_OK)
    }

    /// Whether there is a row.
    fn step(&mut self) -> Result<bool, DatabaseError> {
        let code = unsafe { sqlite3_step(self.raw) };
        self.db.check(code == SQLITE_ROW || code == SQLITE_DONE)?;
        Ok(code == SQLITE_ROW)
    }

    fn integer(&self, column: c_int) -> i64 {
        unsafe { sqlite3_column_int64(self.raw, column) }
    }

    fn text(&self, column: c_int) -> String {
        let text = unsafe { sqlite3_column_text(self.raw, column) };
        if text.is_null() {
            return String::new();
        }
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

impl Drop for Statement<'_> {
    fn drop(&mut self) {
        unsafe { sqlite3_finalize(self.raw) };
    }
}

const SQLITE_OK: c_int = 0;
const SQLITE_ROW: c_int = 100;
const SQLITE_DONE: c_int = 101;
const SQLITE_TRANSIENT: isize = -1;

type Callback = extern "C" fn(*mut c_void, c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

#[link(name = "sqlite3")]
extern "C" {
    fn sqlite3_open(path: *const c_char, db: *mut *mut c_void) -> c_int;
    fn sqlite3_close(db: *mut c_void) -> c_int;
    fn sqlite3_errmsg(db: *mut c_void) -> *const c_char;
    fn sqlite3_busy_timeout(db: *mut c_void, ms: c_int) -> c_int;
    fn sqlite3_exec(
        db: *mut c_void,
        sql: *const c_char,
        row: Option<Callback>,
        context: *mut c_void,
        error: *mut *mut c_char,
    ) -> c_int;
    fn sqlite3_prepare_v2(
        db: *mut c_void,
        sql: *const c_char,
        bytes: c_int,
        statement: *mut *mut c_void,
        rest: *mut *const c_char,
    ) -> c_int;
    fn sqlite3_bind_text(
        statement: *mut c_void,
        index: c_int,
        text: *const c_char,
        bytes: c_int,
        lifetime: isize,
    ) -> c_int;
    fn sqlite3_step(statement: *mut c_void) -> c_int;
    fn sqlite3_column_int64(statement: *mut c_void, column: c_int) -> i64;
    fn sqlite3_column_text(statement: *mut c_void, column: c_int) -> *const c_char;
    fn sqlite3_finalize(statement: *mut c_void) -> c_int;
}
