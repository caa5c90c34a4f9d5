//! The screen at three sizes, character by character. If these fail, what people watch over ssh is
//! cut, crooked, or lets a file's name write to their terminal.

use super::display_state::{DisplayState, FileOrder};
use super::screen::{draw_screen, screen_text};
use super::view::DaemonView;
use super::*;
use forebay_volume::ipc::BucketStatus;
use forebay_volume::ipc::CacheReport;
use forebay_volume::live::{FileStatus, OperationTotals, TaskStatus, TierStatus};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;

fn file(path: &str, open: u64, opens: u64, mib: u64) -> FileStatus {
    let (path, read, written) = (path.to_owned(), mib << 20, (mib / 2) << 20);
    FileStatus { path, open, opens, read, written }
}

fn tier(name: Option<&str>, path: &str, used: Option<u64>, limit: Option<u64>) -> TierStatus {
    let (tier, path) = (name.map(str::to_owned), path.into());
    TierStatus { tier, path, used, limit, room: Some(900 << 30), free: Some(120 << 30) }
}

/// After so many seconds; each adds the same.
fn live(seconds: u64) -> LiveStatus {
    let group = |count, each_us| OperationTotals {
        count: count * seconds,
        time_us: count * seconds * each_us,
    };
    let task = |name: &str, processes, waiting| TaskStatus {
        name: name.to_owned(),
        processes,
        waiting,
        cpu_us: 61_000_000,
        read: Some(seconds * (30 << 20)),
        written: None,
    };
    let mut files = vec![
        file("map/sample1.bam", 1, 3, 100 * seconds),
        file("reference/chromosomes/some/where/deep/down/in/the/tree/reference.fa", 1, 12, 50),
        file("x\x1b[2J\n.bam", 0, 7, 1),
    ];
    files.extend((0..30).map(|number| file(&format!("tmp/{number}"), 0, 1, 0)));
    LiveStatus {
        schema: 1,
        pid: 4242,
        command: ["snakemake", "--cores", "8"].map(str::to_owned).to_vec(),
        points: vec!["/data/project".into()],
        at_us: seconds * 1_000_000,
        recorded: true,
        passthrough: true,
        names: group(1234, 210),
        data: group(300, 1_100),
        syncs: group(2, 5_000),
        read: seconds * (120 << 20),
        written: seconds * (40 << 20),
        tiers: vec![
            tier(None, "/data/project", None, None),
            tier(Some("fast"), "/nvme/room", Some(3 << 30), Some(200 << 30)),
        ],
        tasks: vec![task("map", 6, 2), task("sort", 1, 0)],
        files,
        drained: (4, 5 << 20),
        cache: Some(CacheReport { hits: 12, misses: 3, copied: (2, 6 << 30), why_not: None }),
        bucket: Some(BucketStatus {
            url: "s3://lab/v".into(),
            changed: 7,
            queued: (3, 90 << 20),
            shipped: (41, 2 << 30),
            trouble: Some("nobody answers".into()),
            ..BucketStatus::default()
        }),
        warnings: vec!["s3://lab/v is out of reach: nobody answers".into()],
        ..LiveStatus::default()
    }
}

fn state() -> DisplayState {
    let mut state = DisplayState::new(vec![DaemonView::from_first_look(live(60))], false);
    state.update_views(vec![live(62)]);
    state.keys = true;
    state
}

#[track_caller]
fn looks(state: &DisplayState, columns: u16, rows: u16, expected: &str) {
    let text = screen_text(state, columns, rows);
    assert!(text == expected, "{columns} by {rows} is now:\n{text}");
}

#[test]
fn a_usual_terminal() {
    looks(&state(), 80, 24, include_str!("snapshots/80x24.txt"));
}

#[test]
fn a_small_terminal() {
    looks(&state(), 50, 14, include_str!("snapshots/50x14.txt"));
}

#[test]
fn a_large_terminal() {
    looks(&state(), 120, 40, include_str!("snapshots/120x40.txt"));
}

#[test]
fn no_size_breaks_it_and_no_name_writes_to_the_terminal() {
    for help in [false, true] {
        for (columns, rows) in [(1, 1), (7, 2), (20, 5), (80, 3), (300, 100)] {
            let text = screen_text(&DisplayState { help, scroll: 7, ..state() }, columns, rows);
            assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        }
    }
    assert!(screen_text(&DisplayState::new(Vec::new(), true), 80, 24).trim().is_empty());
}

#[test]
fn machines_have_a_line_each_and_samples_that_are_old_say_so() {
    let host = |name: &str, age| hosts::HostLoad {
        name: name.to_owned(),
        age,
        busy: 0.5,
        waiting: 0.25,
        free: forebay_model::ByteCount(3 << 30),
        disks: 5e6,
        network: 0.0,
    };
    let late = Some(forebay_model::Micros(20_000_000));
    let hosts = vec![host("this machine", None), host("filer\x1b[2J", late)];
    let screen = screen_text(&DisplayState { hosts: hosts.clone(), ..state() }, 80, 30);
    let line = |begin: &str| screen.lines().find(|line| line.starts_with(begin)).map(str::to_owned);
    let here = line("this machine").expect("a line");
    for said in ["50 %", "25 %", "3.0 GiB", "4.8 MiB/s"] {
        assert!(here.contains(said), "{said} is not in {here:?}");
    }
    assert!(line("filer\\x1b[2J").is_some_and(|line| line.contains("20.0 s ago")), "{screen}");
    assert!(screen.contains("\ntask "), "{screen}");
    // Where nothing of this user's runs they are all that there is, and on a small screen the rest.
    let alone = DisplayState { hosts: hosts.clone(), ..DisplayState::new(Vec::new(), false) };
    assert!(screen_text(&alone, 80, 24).starts_with("machine "));
    assert!(!screen_text(&DisplayState { hosts, ..state() }, 50, 14).contains("machine"));
}

#[test]
fn without_colour_there_is_none() {
    let colours = |colour| {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("memory");
        terminal
            .draw(|frame| draw_screen(frame, &DisplayState { colour, ..state() }))
            .expect("drawn");
        let cells = terminal.backend().buffer().content().to_vec();
        cells.iter().filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset).count()
    };
    assert_eq!(colours(false), 0);
    assert!(colours(true) > 10);
}

#[test]
fn keys_scroll_sort_explain_and_end_it() {
    let mut state = state();
    state.views.push(DaemonView::from_first_look(live(5)));
    let mut press = |code| {
        let ends = keys::handle_key(&mut state, KeyEvent::new(code, KeyModifiers::NONE));
        (ends, state.scroll, state.shown, state.sort, state.help)
    };
    assert_eq!(press(KeyCode::Down), (false, 1, 0, FileOrder::Hot, false));
    assert_eq!(press(KeyCode::PageDown).1, 11);
    assert_eq!(press(KeyCode::Up).1, 10);
    assert_eq!(press(KeyCode::Tab).2, 1);
    assert_eq!(press(KeyCode::Right).2, 0);
    assert_eq!(press(KeyCode::Char('s')).3, FileOrder::Opens);
    assert_eq!(press(KeyCode::Char('?')), (false, 10, 0, FileOrder::Opens, true));
    assert_eq!(press(KeyCode::Esc), (false, 10, 0, FileOrder::Opens, false));
    assert!(press(KeyCode::Char('q')).0);
    let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert!(keys::handle_key(&mut state, control));
    state.sort = FileOrder::Opens;
    let text = screen_text(&state, 120, 40);
    assert!(text.contains("file (most opens)"), "{text}");
    let (reference, map) = (text.find("reference.fa"), text.find("map/sample1.bam"));
    assert!(text.contains("[1/2]") && (reference < map || map.is_none()), "{text}");
}

#[test]
fn rates_are_known_from_the_second_look_on() {
    let mut view = DaemonView::from_first_look(live(10));
    assert!(view.rates_json()["read"].is_null());
    view.update_live(Some(live(14)));
    assert_eq!(view.rates_json()["names"], 1234.0);
    assert_eq!(view.rate_per_second(|live| live.read), Some((120 << 20) as f64));
    assert_eq!(view.mean_time_us(|live| live.data), Some(1100.0));
    assert_eq!(view.file_rates("map/sample1.bam"), Some(((100 << 20) as f64, (50 << 20) as f64)));
    view.update_live(None);
    assert!(
        view.ended && screen_text(&DisplayState::new(vec![view], false), 80, 24).contains("ended)")
    );
}
