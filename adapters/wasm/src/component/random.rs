//! Random numbers, from the kernel at each call: a generator in this process would be put back at
//! each reset, and two requests would draw the same numbers.

use std::convert::Infallible;

use rand_core::TryRng;

pub struct Kernel;

impl TryRng for Kernel {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(u32::from_ne_bytes(drawn()))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from_ne_bytes(drawn()))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        draw(bytes);
        Ok(())
    }
}

/// An array of random bytes.
pub fn drawn<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    draw(&mut bytes);
    bytes
}

fn draw(bytes: &mut [u8]) {
    let mut rest = bytes;
    while !rest.is_empty() {
        let drawn = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        let Ok(drawn) = usize::try_from(drawn) else {
            let error = std::io::Error::last_os_error();
            assert!(error.raw_os_error() == Some(libc::EINTR), "no random numbers: {error}");
            continue;
        };
        rest = &mut rest[drawn..];
    }
}
