//! The guest's memory, by its addresses. Each is checked; an address or a length that leads out of
//! the memory is FAULT, never a panic.

use super::errno::{Done, Errno};

pub struct Guest<'a> {
    bytes: &'a mut [u8],
}

/// As many as the kernel takes in one call; more are left for the next.
const PIECES_MAX: u32 = 1024;

impl<'a> Guest<'a> {
    pub fn new(bytes: &'a mut [u8]) -> Self {
        Guest { bytes }
    }

    pub fn read(&self, at: u32, length: u32) -> Done<&[u8]> {
        let (at, length) = (at as usize, length as usize);
        self.bytes.get(at..).and_then(|rest| rest.get(..length)).ok_or(Errno::FAULT)
    }

    pub fn at(&mut self, at: u32, length: u32) -> Done<&mut [u8]> {
        let (at, length) = (at as usize, length as usize);
        self.bytes.get_mut(at..).and_then(|rest| rest.get_mut(..length)).ok_or(Errno::FAULT)
    }

    pub fn put(&mut self, at: u32, bytes: &[u8]) -> Done<()> {
        let length = u32::try_from(bytes.len()).map_err(|_| Errno::FAULT)?;
        self.at(at, length)?.copy_from_slice(bytes);
        Ok(())
    }

    pub fn put_u32(&mut self, at: u32, value: u32) -> Done<()> {
        self.put(at, &value.to_le_bytes())
    }

    pub fn put_u64(&mut self, at: u32, value: u64) -> Done<()> {
        self.put(at, &value.to_le_bytes())
    }

    pub fn u32(&self, at: u32) -> Done<u32> {
        Ok(u32::from_le_bytes(self.read(at, 4)?.try_into().unwrap()))
    }

    pub fn u64(&self, at: u32) -> Done<u64> {
        Ok(u64::from_le_bytes(self.read(at, 8)?.try_into().unwrap()))
    }

    pub fn u16(&self, at: u32) -> Done<u16> {
        Ok(u16::from_le_bytes(self.read(at, 2)?.try_into().unwrap()))
    }

    pub fn u8(&self, at: u32) -> Done<u8> {
        Ok(self.read(at, 1)?[0])
    }

    /// The list of buffers of a read or a write (iovec), as the kernel takes it. They point into
    /// this memory, which must not grow before the call; they may overlap.
    pub fn pieces(&mut self, list: u32, count: u32) -> Done<Vec<libc::iovec>> {
        let whole = count.checked_mul(8).ok_or(Errno::INVAL)?;
        self.read(list, whole)?;
        let mut pieces = Vec::with_capacity(count.min(PIECES_MAX) as usize);
        for n in 0..count.min(PIECES_MAX) {
            let (at, length) = (self.u32(list + 8 * n)?, self.u32(list + 8 * n + 4)?);
            let piece = self.at(at, length)?;
            pieces.push(libc::iovec { iov_base: piece.as_mut_ptr().cast(), iov_len: piece.len() });
        }
        Ok(pieces)
    }

    pub fn end(address: u32, by: u32) -> Done<u32> {
        address.checked_add(by).ok_or(Errno::FAULT)
    }
}
