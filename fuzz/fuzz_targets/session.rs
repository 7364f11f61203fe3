//! Sends arbitrary bytes to a coordinator on the streams of two workers, with correct messages between them.

#![no_main]

use tokio::runtime::{Builder, Runtime};

thread_local! {
    static RUNTIME: Runtime =
        Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    RUNTIME.with(|runtime| runtime.block_on(coordinator::fuzzing::session(bytes)));
});
