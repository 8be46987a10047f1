// Rust's notify as a subject of the benchmark: its modes and answers are in ../../../watchers/outside.mjs.
// Events go through a channel to another thread, as in the crate's examples.
use notify::event::{EventKind, ModifyKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::io::Read;
use std::mem::zeroed;
use std::path::Path;
use std::sync::mpsc::channel;

// Returns CLOCK_MONOTONIC, which the writer uses as well.
fn now_ns() -> i64 {
    unsafe {
        let mut at: libc::timespec = zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut at);
        at.tv_sec * 1_000_000_000 + at.tv_nsec
    }
}

fn cpu_ms() -> f64 {
    let ms = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    unsafe {
        let mut used: libc::rusage = zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut used);
        ms(used.ru_utime) + ms(used.ru_stime)
    }
}

fn resident_mib() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as f64 / 1048576.0
}

// Keeps the events that the other watchers tell as well: notify also tells of closed files.
fn is_told(kind: &EventKind) -> bool {
    match kind {
        EventKind::Create(_) | EventKind::Remove(_) => true,
        EventKind::Modify(what) => !matches!(what, ModifyKind::Metadata(_)),
        _ => false,
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (mode, directory) = (arguments[1].as_str(), Path::new(&arguments[2]));
    let samples: usize = arguments.get(3).map_or(0, |text| text.parse().unwrap());
    let mut received = vec![0i64; samples];
    let (start, resident) = (now_ns(), resident_mib());
    let (sender, events) = channel();
    let mut watcher = RecommendedWatcher::new(sender, notify::Config::default()).unwrap();
    let depth = if mode == "tree" { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
    watcher.watch(directory, depth).unwrap();
    let ms = (now_ns() - start) as f64 / 1e6;
    println!("{{\"ms\":{ms},\"MiB\":{}}}", resident_mib() - resident);
    if mode == "blocked" {
        std::io::stdin().read_exact(&mut [0]).unwrap();
    }

    let (before, free) = (cpu_ms(), now_ns());
    let (mut delivered, mut overflows, mut last, mut in_order) = (0, 0, free, true);
    let mut previous = String::new();
    for event in events {
        let event = event.unwrap();
        if event.need_rescan() {
            overflows += 1;
            continue;
        }
        if !is_told(&event.kind) {
            continue;
        }
        let name = event.paths[0].file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("last") {
            break;
        }
        delivered += 1;
        last = now_ns();
        in_order = in_order && name >= previous;
        if samples > 0 {
            received[name["event-".len()..].parse::<usize>().unwrap()] = last;
        }
        previous = name;
    }
    let (to_last, cpu) = ((last - free) as f64 / 1e6, cpu_ms() - before);
    println!(
        "{{\"delivered\":{delivered},\"overflows\":{overflows},\"inOrder\":{in_order},\
         \"toLastMs\":{to_last},\"cpuMs\":{cpu},\"received\":{received:?}}}"
    );
}
