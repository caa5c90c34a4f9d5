//! Bytes that are going to be read, fetched before: parts that lie near each other as one request.
//! A stretch is let go when all of it that was wanted has been taken.

mod range_states;

use std::sync::Arc;

use forebay_reads::ObjectRange;
use parking_lot::{Condvar, Mutex};

use super::client::Client;
use range_states::{Key, PrefetchState, Stage};

/// Bytes that are there, or on their way.
const MOST: u64 = 48 << 20;

/// All that was told to be wanted and is not taken yet.
#[derive(Debug)]
pub(super) struct RangePrefetcher {
    client: Arc<Client>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<PrefetchState>,
    came: Condvar,
}

impl RangePrefetcher {
    pub(super) fn for_client(client: Arc<Client>) -> RangePrefetcher {
        RangePrefetcher { client, shared: Arc::default() }
    }

    /// These parts will be asked for, the first ones first.
    pub(super) fn prefetch_parts(&self, parts: &[ObjectRange<'_>]) {
        let mut state = self.shared.state.lock();
        state.forget_unused();
        state.add_stretches(parts);
        self.request_waiting(&mut state);
    }

    /// What was fetched before of some parts, or is on its way.
    pub(super) fn take_parts(&self, parts: &[ObjectRange<'_>]) -> Vec<Option<Vec<u8>>> {
        let mut state = self.shared.state.lock();
        for key in parts.iter().filter_map(|part| state.find_stretch(part)).collect::<Vec<_>>() {
            // Whoever takes it can't wait for others to make room.
            if state.all.get(&key).is_some_and(|it| matches!(it.stage, Stage::Waiting)) {
                self.request_stretch(&mut state, &key);
            }
        }
        drop(state);
        parts.iter().map(|part| self.take_part(part)).collect()
    }

    fn take_part(&self, part: &ObjectRange<'_>) -> Option<Vec<u8>> {
        let mut state = self.shared.state.lock();
        let (key, bytes) = loop {
            let key = state.find_stretch(part)?;
            let now = state.clock;
            let stretch = state.all.get_mut(&key)?;
            stretch.used = now;
            match &stretch.stage {
                Stage::There(bytes) => break (key, bytes.clone()),
                Stage::Waiting => return None,
                Stage::UnderWay => self.shared.came.wait(&mut state),
                Stage::Failed => {
                    state.remove_stretch(&key);
                    return None;
                }
            }
        };
        state.clock += 1;
        let stretch = state.all.get_mut(&key)?;
        stretch.left = stretch.left.saturating_sub(part.len as u64);
        if stretch.left == 0 {
            state.remove_stretch(&key);
        }
        self.request_waiting(&mut state);
        drop(state);
        let from = (part.offset - key.1) as usize;
        Some(bytes.get(from..from + part.len)?.to_vec())
    }

    /// These parts came as nobody wrote them.
    pub(super) fn forget_parts(&self, parts: &[ObjectRange<'_>]) {
        let mut state = self.shared.state.lock();
        for part in parts {
            if let Some(key) = state.find_stretch(part)
                && matches!(state.all[&key].stage, Stage::There(_) | Stage::Failed)
            {
                state.remove_stretch(&key);
            }
        }
    }

    /// Asks for those for which there is room.
    fn request_waiting(&self, state: &mut PrefetchState) {
        while let Some(key) = state.waiting.front().cloned() {
            let len = state.all.get(&key).map_or(0, |stretch| stretch.end - key.1);
            if state.bytes > 0 && state.bytes + len > MOST {
                return;
            }
            state.waiting.pop_front();
            self.request_stretch(state, &key);
        }
    }

    fn request_stretch(&self, state: &mut PrefetchState, key: &Key) {
        let Some(stretch) = state.all.get_mut(key) else { return };
        // It was asked for already, by who could not wait.
        if !matches!(stretch.stage, Stage::Waiting) {
            return;
        }
        stretch.stage = Stage::UnderWay;
        let end = stretch.end;
        state.bytes += end - key.1;
        let (shared, own) = (Arc::clone(&self.shared), key.clone());
        let begun = self.client.begin_request(&key.0, key.1..end, move |bytes| {
            let mut state = shared.state.lock();
            if let Some(stretch) = state.all.get_mut(&own) {
                // Whoever comes for it asks again, and meets the error if it stays.
                stretch.stage = bytes.map_or(Stage::Failed, Stage::There);
            }
            drop(state);
            shared.came.notify_all();
        });
        if begun.is_err() {
            state.remove_stretch(key);
        }
    }
}
