//! The priority of the store's threads in a process that also plays: conversations go first, because their starts and
//! latencies are measured. On one core, a commit would otherwise keep a start waiting for a millisecond or more.

/// Lets the threads that the store has give way to all others. Without Linux, or if the system refuses it, starts are later.
pub(crate) fn give_way() {
    #[cfg(target_os = "linux")]
    linux::lower(store::Sqlite::THREAD, linux::NICE);
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{fs, path::PathBuf};

    use rustix::process::{Pid, getpriority_process, setpriority_process};

    /// Lower than normal: such a thread gets a tenth of a core that normal ones want all of, and all of one that is idle.
    pub(super) const NICE: i32 = 10;

    /// Gives this process's threads with this name a lower priority.
    pub(super) fn lower(name: &str, nice: i32) {
        for thread in threads(name) {
            let number = thread.file_name().and_then(|name| name.to_str()?.parse().ok()).and_then(Pid::from_raw);
            // Linux takes the number of a thread too, and changes that thread only. All of the process may be lower already.
            if number.is_some() && getpriority_process(number).is_ok_and(|now| now < nice) {
                let _ = setpriority_process(number, nice);
            }
        }
    }

    /// Their folders below `/proc`.
    pub(super) fn threads(name: &str) -> impl Iterator<Item = PathBuf> {
        let all = fs::read_dir("/proc/self/task").into_iter().flatten().flatten().map(|entry| entry.path());
        all.filter(move |path| fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim_end() == name))
    }

    #[cfg(test)]
    mod tests {
        use std::{fs, sync::mpsc, thread};

        use store::Sqlite;

        use super::*;

        /// As the kernel shows it, of the only thread with this name.
        fn nice_of(name: &str) -> i32 {
            let found: Vec<_> = threads(name).collect();
            assert_eq!(found.len(), 1, "{name}: {found:?}");
            let stat = fs::read_to_string(found[0].join("stat")).unwrap();
            // After the name, which ends with the last parenthesis, the 17th field.
            stat.rsplit_once(") ").unwrap().1.split(' ').nth(16).unwrap().parse().unwrap()
        }

        #[test]
        fn only_threads_with_the_name_give_way() {
            let (stop, stopped) = mpsc::channel::<()>();
            let (other_stop, other_stopped) = mpsc::channel::<()>();
            let begin = |name: &str, stopped: mpsc::Receiver<()>| {
                let (began, has_begun) = mpsc::channel();
                let body = move || {
                    began.send(()).unwrap();
                    let _ = stopped.recv();
                };
                let thread = thread::Builder::new().name(name.to_owned()).spawn(body).unwrap();
                has_begun.recv().unwrap();
                thread
            };
            let threads = [begin("gives-way", stopped), begin("goes-first", other_stopped)];
            let before = nice_of("goes-first");
            lower("gives-way", before + 1);
            assert_eq!((nice_of("gives-way"), nice_of("goes-first")), (before + 1, before));
            lower("gives-way", before);
            assert_eq!(nice_of("gives-way"), before + 1, "it is never raised");
            drop((stop, other_stop));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        }

        #[tokio::test]
        async fn an_open_store_has_threads_with_the_name() {
            let folder = tempfile::tempdir().unwrap();
            let store = Sqlite::open(&folder.path().join("run.db")).await.unwrap();
            assert!(threads(Sqlite::THREAD).count() > 0);
            store.close().await.unwrap();
        }
    }
}
