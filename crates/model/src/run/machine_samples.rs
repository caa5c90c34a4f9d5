//! Samples of the machine, all of a run or the last.

use rusqlite::Row;

use super::network;
use super::reader::{Run, bytes_at, micros_at, number_at};
use super::sql::to_sql_int;
use crate::event::{CpuSample, DeviceSample, MachineSample, MemorySample, PressureSample};
use crate::{ByteCount, Micros, Result};

impl Run {
    /// Samples of the machine, in order of time.
    pub fn samples(&self) -> Result<Vec<MachineSample>> {
        self.samples_from(Micros(0))
    }

    /// The last sample that is there; also of a file that grows.
    pub fn latest_sample(&self) -> Result<Option<MachineSample>> {
        let last = self.conn.query_row("SELECT max(at_us) FROM samples", [], |r| micros_at(r, 0));
        let Some(at) = last.map_err(|e| self.read_error(e))? else { return Ok(None) };
        Ok(self.samples_from(at)?.pop())
    }

    fn samples_from(&self, from: Micros) -> Result<Vec<MachineSample>> {
        let read = || -> rusqlite::Result<Vec<MachineSample>> {
            let from = to_sql_int(from.0);
            let mut rows = self.conn.prepare_cached(
                "SELECT at_us, cpu_user_us, cpu_system_us, cpu_iowait_us, cpu_idle_us,
                        cpu_steal_us, memory_bytes, available_bytes, dirty_bytes, writeback_bytes,
                        cached_bytes, pressure_some_us, pressure_full_us
                 FROM samples WHERE at_us >= ?1 ORDER BY at_us",
            )?;
            let mut samples: Vec<MachineSample> =
                rows.query_map([from], sample_row)?.collect::<rusqlite::Result<_>>()?;
            let mut rows = self.conn.prepare_cached(
                "SELECT at_us, name, read_bytes, written_bytes, reads, writes, busy_us
                 FROM sample_devices WHERE at_us >= ?1 ORDER BY at_us, rowid",
            )?;
            for row in rows.query_map([from], device_row)? {
                let (at, device) = row?;
                if let Ok(found) = samples.binary_search_by_key(&at, |s| s.at) {
                    samples[found].devices.push(device);
                }
            }
            network::read_networks(&self.conn, from, &mut samples)?;
            Ok(samples)
        };
        read().map_err(|e| self.read_error(e))
    }
}

fn device_row(r: &Row<'_>) -> rusqlite::Result<(Micros, DeviceSample)> {
    let device = DeviceSample {
        name: r.get(1)?,
        read: bytes_at(r, 2)?.unwrap_or_default(),
        written: bytes_at(r, 3)?.unwrap_or_default(),
        reads: number_at(r, 4)?.unwrap_or(0),
        writes: number_at(r, 5)?.unwrap_or(0),
        busy: micros_at(r, 6)?.unwrap_or_default(),
    };
    Ok((micros_at(r, 0)?.unwrap_or_default(), device))
}

fn sample_row(r: &Row<'_>) -> rusqlite::Result<MachineSample> {
    let time = |at| -> rusqlite::Result<Micros> { Ok(micros_at(r, at)?.unwrap_or_default()) };
    let size = |at| -> rusqlite::Result<ByteCount> { Ok(bytes_at(r, at)?.unwrap_or_default()) };
    let pressure = match (micros_at(r, 11)?, micros_at(r, 12)?) {
        (Some(some), Some(full)) => Some(PressureSample { some, full }),
        _ => None,
    };
    Ok(MachineSample {
        at: time(0)?,
        cpu: CpuSample {
            user: time(1)?,
            system: time(2)?,
            iowait: time(3)?,
            idle: time(4)?,
            steal: time(5)?,
        },
        memory: MemorySample {
            total: size(6)?,
            available: size(7)?,
            dirty: size(8)?,
            writeback: size(9)?,
            cached: size(10)?,
        },
        devices: Vec::new(),
        networks: Vec::new(),
        pressure,
    })
}
