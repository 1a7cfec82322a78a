// The leak battery in Rust; battery.h explains it. kind!(name, leaks under, look, leave). main() does not run again
// unless its libraries' and its thread's memory is put back, so state in there cannot be shown to leak.
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::CStr;
use std::fmt::Write as _;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::raw::{c_char, c_int, c_long, c_uint, c_ulong, c_void};
use std::os::unix::io::IntoRawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{mpsc, Mutex, Once, RwLock};
use std::{env, fs, panic, process, thread};

extern "C" {
    fn alarm(seconds: c_uint) -> c_uint;
    fn close(fd: c_int) -> c_int;
    fn dup2(from: c_int, to: c_int) -> c_int;
    fn fcntl(fd: c_int, command: c_int, argument: c_long) -> c_int;
    fn getitimer(which: c_int, timer: *mut [c_long; 4]) -> c_int;
    fn getpgid(pid: c_int) -> c_int;
    fn getpgrp() -> c_int;
    fn getppid() -> c_int;
    fn getpriority(which: c_int, who: c_uint) -> c_int;
    fn getrlimit(which: c_int, limit: *mut [c_ulong; 2]) -> c_int;
    fn mmap(at: *mut c_void, n: usize, rights: c_int, flags: c_int, fd: c_int, from: c_long) -> *mut c_void;
    fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int;
    fn rand() -> c_int;
    fn sbrk(bytes: isize) -> *mut c_void;
    fn setitimer(which: c_int, timer: *const [c_long; 4], old: *mut [c_long; 4]) -> c_int;
    fn setlocale(category: c_int, name: *const c_char) -> *const c_char;
    fn setpgid(pid: c_int, group: c_int) -> c_int;
    fn setpriority(which: c_int, who: c_uint, value: c_int) -> c_int;
    fn setrlimit(which: c_int, limit: *const [c_ulong; 2]) -> c_int;
    fn sigaltstack(new: *const Stack, old: *mut Stack) -> c_int;
    fn signal(number: c_int, handler: usize) -> usize;
    fn sigprocmask(how: c_int, set: *const [c_ulong; 16], old: *mut [c_ulong; 16]) -> c_int;
    fn srand(seed: c_uint);
    fn umask(mask: c_uint) -> c_uint;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
}

#[repr(C)]
struct Stack {
    place: usize,
    flags: c_int,
    bytes: usize,
}

static COUNTER: AtomicUsize = AtomicUsize::new(0);
static FLAG: AtomicBool = AtomicBool::new(false);
static LIST: Mutex<Vec<String>> = Mutex::new(Vec::new());
static TABLE: RwLock<Vec<u32>> = RwLock::new(Vec::new());
static POISONED: Mutex<u32> = Mutex::new(0);
static HELD: Mutex<u32> = Mutex::new(0);
static ONCE: Once = Once::new();
static mut WORD: u64 = 42;
static mut ROOM: [u8; 1 << 16] = [0; 1 << 16];
static mut KEPT: Option<Box<[u8]>> = None;
static mut CHANNEL: Option<mpsc::Receiver<u32>> = None;
thread_local! {
    static OF_THE_THREAD: Cell<u32> = Cell::new(1);
    static LOCAL: RefCell<HashMap<u32, u32>> = RefCell::new(HashMap::new());
}

fn limit(which: c_int) -> [c_ulong; 2] {
    let mut now = [0; 2];
    unsafe { getrlimit(which, &mut now) };
    now
}

fn lower(which: c_int, soft: c_ulong) {
    unsafe { setrlimit(which, &[soft, limit(which)[1]]) };
}

fn status(word: &str) -> String {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    text.lines().find(|line| line.starts_with(word)).unwrap_or("none").to_string()
}

fn target(fd: c_int) -> String {
    fs::read_link(format!("/proc/self/fd/{fd}")).map_or("none".into(), |path| path.display().to_string())
}

fn open_files() -> Vec<c_int> {
    (3..64).filter(|&fd| unsafe { fcntl(fd, 1, 0) } >= 0).collect()
}

fn left_file() -> c_int {
    fs::File::open("/etc/group").unwrap().into_raw_fd()
}

fn timer(which: c_int) -> c_long {
    let mut now = [0; 4];
    unsafe { getitimer(which, &mut now) };
    now[2]
}

fn mappings() -> usize {
    fs::read_to_string("/proc/self/maps").map_or(0, |text| text.lines().filter(|l| l.contains("/etc/")).count())
}

fn heap_is_large() -> bool {
    let text = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let line = text.lines().find(|line| line.ends_with("[heap]")).unwrap_or("0-0 ");
    let place = line.split(' ').next().and_then(|range| range.split_once('-')).unwrap_or(("0", "0"));
    let number = |hex| usize::from_str_radix(hex, 16).unwrap_or(0);
    number(place.1) - number(place.0) > 2 << 20
}

fn handler(number: c_int) -> usize {
    unsafe {
        let now = signal(number, 0);
        signal(number, now);
        now
    }
}

type Kind = (&'static str, fn() -> String, fn());

macro_rules! kind {
    ($name:expr, $part:expr, $look:expr, $leave:expr) => {
        ($name, (|| format!("{:?}", $look)) as fn() -> String, (|| { let _ = $leave; }) as fn())
    };
}

#[rustfmt::skip]
fn kinds() -> Vec<Kind> { vec![
    kind!("counter", "own data", COUNTER.load(SeqCst), COUNTER.store(7, SeqCst)),
    kind!("flag", "own data", FLAG.load(SeqCst), FLAG.store(true, SeqCst)),
    kind!("list", "own data", LIST.lock().unwrap().len(), LIST.lock().unwrap().push("left".into())),
    kind!("table", "own data", TABLE.read().unwrap().clone(), TABLE.write().unwrap().push(7)),
    kind!("poisoned", "own data", POISONED.is_poisoned(),
        thread::spawn(|| { let _held = POISONED.lock(); panic::resume_unwind(Box::new(1)); }).join().map(|_: ()| ())),
    kind!("lock_held", "own data", HELD.try_lock().is_ok(), std::mem::forget(HELD.lock())),
    kind!("once", "own data", ONCE.is_completed(), ONCE.call_once(|| ())),
    kind!("word", "own data", unsafe { WORD }, unsafe { WORD = 43 }),
    kind!("room", "own data", unsafe { ROOM[54321] }, unsafe { ROOM[54321] = 1 }),
    kind!("boxed", "own data", unsafe { KEPT.is_some() }, unsafe { KEPT = Some(vec![1; 300_000].into()) }),
    kind!("boxed_200_mib", "own data", unsafe { KEPT.is_some() }, unsafe { KEPT = Some(vec![1; 200 << 20].into()) }),
    kind!("channel", "own data", unsafe { CHANNEL.is_some() }, unsafe { let (tell, hear) = mpsc::channel(); CHANNEL = Some(hear); tell.send(1) }),
    kind!("of_the_thread", "", OF_THE_THREAD.with(|one| one.get()), OF_THE_THREAD.with(|one| one.set(2))),
    kind!("map_of_the_thread", "", LOCAL.with(|map| map.borrow().len()), LOCAL.with(|map| map.borrow_mut().insert(1, 2))),
    kind!("environment", "", (env::var("LEFT"), env::var("PATH").is_ok()), { env::set_var("LEFT", "1"); env::remove_var("PATH") }),
    kind!("working_directory", "", env::current_dir().map_or(false, |at| at.ends_with("tmp")), env::set_current_dir("/tmp")),
    kind!("libc_random", "", unsafe { rand() }, unsafe { srand(77) }),
    kind!("locale", "", unsafe { CStr::from_ptr(setlocale(0, std::ptr::null())) }, unsafe { setlocale(0, "C.UTF-8\0".as_ptr() as *const c_char) }),
    kind!("break_moved", "", heap_is_large(), unsafe { sbrk(4 << 20) }),
    kind!("mapping_new", "mappings", mappings(), unsafe { mmap(std::ptr::null_mut(), 100, 1, 2, left_file(), 0) }),
    kind!("umask", "umask", unsafe { let old = umask(0); umask(old); old }, unsafe { umask(0o77) }),
    kind!("descriptor", "descriptors", open_files(), left_file()),
    kind!("descriptor_high", "descriptors", target(50), unsafe { dup2(left_file(), 50) }),
    kind!("standard_closed", "", unsafe { fcntl(0, 1, 0) }, unsafe { close(0) }),
    kind!("output_elsewhere", "", target(2).starts_with("/etc"), unsafe { dup2(left_file(), 2) }),
    kind!("file_in_part", "descriptors", open_files(), { let mut file = fs::File::open("/etc/group").unwrap(); file.seek(SeekFrom::Start(3)).unwrap(); file.into_raw_fd() }),
    kind!("socket", "descriptors", open_files(), std::os::unix::net::UnixStream::pair().map(|(a, b)| (a.into_raw_fd(), b.into_raw_fd()))),
    kind!("limit_of_files", "", limit(7), lower(7, 77)),
    kind!("limit_of_cores", "limits", limit(4), lower(4, 77)),
    kind!("limit_of_time", "limits", limit(0), lower(0, 1000)),
    kind!("limit_of_the_stack", "limits", limit(3), lower(3, 4 << 20)),
    kind!("nice", "limits", unsafe { getpriority(0, 0) }, unsafe { setpriority(0, 0, getpriority(0, 0) + 1) }),
    kind!("name", "name", status("Name"), unsafe { prctl(15, "left\0".as_ptr() as c_ulong, 0, 0, 0) }),
    kind!("dumpable", "limits", unsafe { prctl(3, 0, 0, 0, 0) }, unsafe { prctl(4, 0, 0, 0, 0) }),
    kind!("no_new_privileges", "", unsafe { prctl(39, 0, 0, 0, 0) }, unsafe { prctl(38, 1, 0, 0, 0) }),
    kind!("alarm", "timers", unsafe { let left = alarm(0); alarm(left); left > 0 }, unsafe { alarm(1000) }),
    kind!("timer_of_its_time", "timers", timer(1), unsafe { setitimer(1, &[0, 0, 1000, 0], std::ptr::null_mut()) }),
    kind!("signal_ignored", "signals", handler(10), unsafe { signal(10, 1) }),
    kind!("pipe_signal", "", handler(13), unsafe { signal(13, 0) }),
    kind!("signal_blocked", "", status("SigBlk"), unsafe { sigprocmask(0, &[1 << 9; 16], std::ptr::null_mut()) }),
    kind!("signal_stack", "", { let mut now = Stack { place: 0, flags: 0, bytes: 0 }; unsafe { sigaltstack(std::ptr::null(), &mut now) }; (now.flags, now.bytes) },
        unsafe { sigaltstack(&Stack { place: 0, flags: 2, bytes: 0 }, std::ptr::null_mut()) }),
    kind!("thread", "", status("Threads"), thread::spawn(|| loop { thread::park() })),
    kind!("child", "", unsafe { waitpid(-1, std::ptr::null_mut(), 1) }, process::Command::new("/bin/sleep").arg("1")
        .stdin(process::Stdio::null()).stdout(process::Stdio::null()).stderr(process::Stdio::null()).spawn()),
    kind!("process_group", "", unsafe { getpgrp() } == process::id() as c_int, unsafe { setpgid(0, getpgid(getppid())) }),
] }

fn leave(name: &str) {
    for (_, _, leave) in kinds().iter().filter(|one| one.0 == name) {
        leave();
    }
}

fn main() {
    let query = env::var("QUERY_STRING").unwrap_or_default();
    if let Some(name) = query.strip_prefix("again=") {
        leave(name);
    }
    let mut body = String::new();
    if unsafe { fcntl(0, 1, 0) } >= 0 {
        std::io::stdin().read_to_string(&mut body).unwrap();
    }
    let mut answer = String::from("Content-Type: text/plain\n\n");
    for (name, look, _) in kinds() {
        writeln!(answer, "{}: {}", name, look()).unwrap();
    }
    std::io::stdout().write_all(answer.as_bytes()).unwrap();
    std::io::stdout().flush().unwrap();
    leave(&query);
}
