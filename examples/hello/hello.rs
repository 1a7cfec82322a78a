// The smallest CGI program.
fn main() {
    print!("Content-Type: text/plain\r\n\r\nHello, world!\n");
}
