//! The terminal: drawn again and again, until a key or a signal ends it.

use std::time::{Duration, Instant};

use forebay_volume::live::LiveStatus;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::display_state::DisplayState;
use super::hosts::HostSamplers;
use super::screen::draw_screen;
use crate::console;
use crate::exit::CommandError;
use crate::interrupt_signals::InterruptSignals;

/// Signals are looked for this often.
const LOOK: Duration = Duration::from_millis(200);
/// Lines of a page.
const PAGE: usize = 10;

/// Shows it until somebody ends it, or nothing is left to show.
pub(super) fn watch_terminal(
    mut state: DisplayState,
    hosts: &mut HostSamplers,
    every: Duration,
    ends: &InterruptSignals,
    look: impl Fn() -> Vec<LiveStatus>,
) -> Result<i32, CommandError> {
    let stop = |error: std::io::Error| {
        let why = format!("the terminal can't be drawn on: {error}");
        CommandError::new(1, why, "`forebay top --once` prints once")
    };
    state.keys = true;
    let mut terminal = ratatui::try_init().map_err(stop)?;
    let mut shown = || -> std::io::Result<bool> {
        let mut looked = Instant::now();
        loop {
            terminal.draw(|frame| draw_screen(frame, &state))?;
            if event::poll(LOOK.min(every.saturating_sub(looked.elapsed())))?
                && let Event::Key(key) = event::read()?
                && handle_key(&mut state, key)
            {
                return Ok(false);
            }
            if ends.wait_for_signal(Duration::ZERO) {
                return Ok(false);
            }
            if looked.elapsed() >= every {
                state.update_views(look());
                state.hosts = hosts.sample_all();
                looked = Instant::now();
                if !hosts.has_others() && state.views.iter().all(|view| view.ended) {
                    return Ok(true);
                }
            }
        }
    };
    let ended = shown();
    // A terminal that is gone needs nothing.
    let _ = ratatui::try_restore();
    if ended.map_err(stop)? {
        console::note("all that was shown has ended");
    }
    Ok(0)
}

/// True when this key ends it.
pub(super) fn handle_key(state: &mut DisplayState, key: KeyEvent) -> bool {
    if key.kind == KeyEventKind::Release {
        return false;
    }
    let views = state.views.len().max(1);
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if control => return true,
        KeyCode::Char('q') => return true,
        KeyCode::Esc if !state.help => return true,
        KeyCode::Esc => state.help = false,
        KeyCode::Char('?' | 'h') => state.help = !state.help,
        KeyCode::Char('s') => state.sort = state.sort.next_order(),
        KeyCode::Up | KeyCode::Char('k') => state.scroll = state.scroll.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => state.scroll += 1,
        KeyCode::PageUp => state.scroll = state.scroll.saturating_sub(PAGE),
        KeyCode::PageDown => state.scroll += PAGE,
        KeyCode::Home => state.scroll = 0,
        KeyCode::Tab | KeyCode::Right => state.shown = (state.shown + 1) % views,
        KeyCode::BackTab | KeyCode::Left => state.shown = (state.shown + views - 1) % views,
        _ => {}
    }
    let files = state.views.get(state.shown).map_or(0, |view| view.now.files.len());
    state.scroll = state.scroll.min(files);
    false
}
