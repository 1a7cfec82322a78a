// guest.cc has what it does.
use std::collections::HashMap;
use std::io::Read;
use std::sync::Mutex;

static RUNS: Mutex<Option<HashMap<String, u32>>> = Mutex::new(None);

fn main() {
    print!("Content-Type: text/plain\r\n\r\nHello\n");
    for word in std::env::args().skip(1) {
        println!("word {word}");
    }
    let mut variables: Vec<String> = std::env::vars().map(|(k, v)| format!("{k}={v}")).collect();
    variables.sort();
    for variable in variables {
        println!("variable {variable}");
    }
    let mut body = String::new();
    std::io::stdin().read_to_string(&mut body).unwrap();
    let mut runs = RUNS.lock().unwrap();
    let count = runs.get_or_insert_with(HashMap::new).entry("this".into()).or_default();
    *count += 1;
    println!("body {body}\nruns {count}");
    std::fs::write("/data/written", "by the guest").unwrap();
    println!("file {}", std::fs::read_to_string("/data/written").unwrap());
    eprintln!("told");
    std::process::exit(std::env::var("QUERY_STRING").unwrap().parse().unwrap());
}
