//! What an instance may have of memory and tables.

use wasmtime::ResourceLimiter;

/// Of all tables of a store: of functions that are called by pointers.
const TABLE_ELEMENTS_MAX: usize = 1 << 20;

pub struct Limits {
    memory_max: u64,
    memory: u64,
    elements: usize,
    was_reached: bool,
}

impl Limits {
    pub fn new(memory_max: u64) -> Limits {
        Limits { memory_max, memory: 0, elements: 0, was_reached: false }
    }

    pub fn was_reached(&self) -> bool {
        self.was_reached
    }
}

/// A false answer makes memory.grow and table.grow answer -1, and an instance not begin.
impl ResourceLimiter for Limits {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let all = self.memory.saturating_add(desired.saturating_sub(current) as u64);
        if all > self.memory_max {
            self.was_reached = true;
            return Ok(false);
        }
        self.memory = all;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let all = self.elements.saturating_add(desired.saturating_sub(current));
        if all > TABLE_ELEMENTS_MAX {
            return Ok(false);
        }
        self.elements = all;
        Ok(true)
    }
}
