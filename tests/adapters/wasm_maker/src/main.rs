//! Makes WebAssembly files for tests: README.md.

mod component;
mod smith;

use std::path::Path;

const USAGE: &str = "wasm-maker component MODULE COMPONENT [command|reactor|proxy]
wasm-maker text WAT FILE
wasm-maker bindings WIT-FOLDER WORLD FOLDER
wasm-maker broken SEED COUNT FOLDER [FILE...]";

type Done = Result<(), Box<dyn std::error::Error>>;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match &words[..] {
        ["component", module, component] => component::make(module, component, "command"),
        ["component", module, component, world] => component::make(module, component, world),
        ["text", text, file] => translate(text, file),
        ["bindings", wit, world, folder] => component::bindings(wit, world, Path::new(folder)),
        ["broken", seed, count, folder, files @ ..] => {
            smith::make_all(seed, count, Path::new(folder), files)
        }
        _ => Err(USAGE.into()),
    };
    if let Err(error) = done {
        eprintln!("wasm-maker: {error:#}");
        std::process::exit(1);
    }
}

/// Text of a module or a component, as a file.
fn translate(text: &str, file: &str) -> Done {
    std::fs::write(file, wat::parse_file(text)?)?;
    Ok(())
}
