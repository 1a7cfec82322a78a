//! The monotonic clock, counted from the request's start, and waiting for it, which needs no
//! runtime: wait.rs.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use wasmtime::component::{HasData, Linker, Resource, ResourceTable};
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock;
use wasmtime_wasi::p2::{subscribe, DynPollable, Pollable};

use super::{wait, State};

/// Replaces wasmtime-wasi's; the linker allows it.
pub fn add_to(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    monotonic_clock::add_to_linker::<State, HasClock>(linker, |state| {
        let (began, table) = state.clock();
        Clock { began, table }
    })
}

struct HasClock;

impl HasData for HasClock {
    type Data<'a> = Clock<'a>;
}

struct Clock<'a> {
    began: Instant,
    table: &'a mut ResourceTable,
}

impl Clock<'_> {
    /// None: too far away for a number, for ever.
    fn time(&self, since_began: u64) -> Option<Instant> {
        self.began.checked_add(Duration::from_nanos(since_began))
    }

    fn alarm(&mut self, until: Option<Instant>) -> wasmtime::Result<Resource<DynPollable>> {
        let alarm = self.table.push(Alarm(until))?;
        subscribe(self.table, alarm)
    }
}

impl monotonic_clock::Host for Clock<'_> {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(self.began.elapsed().as_nanos() as u64)
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(1)
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        let until = self.time(when);
        self.alarm(until)
    }

    fn subscribe_duration(&mut self, how_long: u64) -> wasmtime::Result<Resource<DynPollable>> {
        let until = Instant::now().checked_add(Duration::from_nanos(how_long));
        self.alarm(until)
    }
}

struct Alarm(Option<Instant>);

#[async_trait]
impl Pollable for Alarm {
    async fn ready(&mut self) {
        wait::sleep(self.0).await;
    }
}
