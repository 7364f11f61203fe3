//! The binary as a user meets it: whole processes, real sockets, real files.

mod agents;
mod bad_input;
mod cases;
mod first_run;
mod fleet;
mod interrupts;
mod kill_and_resume;
mod process;
