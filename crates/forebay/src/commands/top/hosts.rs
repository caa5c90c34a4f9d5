//! Machines: this one, and others whose `forebay sample` writes a file that is seen here.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use forebay_model::{ByteCount, MachineSample, Micros, Run};
use forebay_volume::sampler::MachineSampler;
use serde_json::{Value, json};

use super::cells::{format_rate, format_row};
use crate::exit::CommandError;
use crate::name_escaping::escape_name;

/// Samples that are older are no news.
const LATE: Micros = Micros(15_000_000);

/// What a machine did between its last two samples.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HostLoad {
    pub(super) name: String,
    /// Since then; `None`: it is this machine's.
    pub(super) age: Option<Micros>,
    /// Shares of all cores.
    pub(super) busy: f64,
    pub(super) waiting: f64,
    pub(super) free: ByteCount,
    /// Bytes a second from and to disks.
    pub(super) disks: f64,
    /// Bytes a second over the network, both ways.
    pub(super) network: f64,
}

impl HostLoad {
    fn from_sample(
        name: &str,
        cores: u32,
        age: Option<Micros>,
        sample: &MachineSample,
    ) -> HostLoad {
        let cpu = sample.cpu;
        let busy = cpu.user.0 + cpu.system.0 + cpu.steal.0;
        let all = (busy + cpu.iowait.0 + cpu.idle.0).max(1) as f64;
        // All cores together pass that many seconds in each.
        let seconds = all / 1e6 / f64::from(cores.max(1));
        // A device on others, or a part of one, counts the same bytes again: the busiest is told.
        let disks = sample.devices.iter().map(|device| device.read.0 + device.written.0).max();
        let lines = sample.networks.iter().filter(|network| network.name != "lo");
        let network = lines.map(|network| network.received.0 + network.sent.0).sum::<u64>();
        HostLoad {
            name: name.to_owned(),
            age,
            busy: busy as f64 / all,
            waiting: cpu.iowait.0 as f64 / all,
            free: sample.memory.available,
            disks: disks.unwrap_or(0) as f64 / seconds,
            network: network as f64 / seconds,
        }
    }

    fn is_late(&self) -> bool {
        self.age.is_some_and(|age| age > LATE)
    }

    fn to_json(&self) -> Value {
        json!({
            "host": self.name,
            "age_us": self.age,
            "busy_share": self.busy,
            "waiting_share": self.waiting,
            "free_bytes": self.free,
            "disks_bytes_per_s": self.disks,
            "network_bytes_per_s": self.network,
        })
    }
}

/// Where machines are looked at.
pub(super) struct HostSamplers {
    here: MachineSampler,
    /// Of others: their samples.
    files: Vec<(PathBuf, Run)>,
}

impl HostSamplers {
    /// Opens what `forebay sample` writes.
    pub(super) fn open_samples(files: &[PathBuf]) -> Result<HostSamplers, CommandError> {
        let open = |path: &PathBuf| match Run::open(path) {
            Ok(run) => Ok((path.clone(), run)),
            Err(error) => {
                let next = "give files that `forebay sample` writes, on this machine or copied";
                Err(CommandError::new(1, error.to_string(), next))
            }
        };
        let files = files.iter().map(open).collect::<Result<_, _>>()?;
        Ok(HostSamplers { here: MachineSampler::start(), files })
    }

    /// Other machines are shown, whatever runs here.
    pub(super) fn has_others(&self) -> bool {
        !self.files.is_empty()
    }

    /// How they are now, this machine first.
    pub(super) fn sample_all(&mut self) -> Vec<HostLoad> {
        let cores = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        let here = self
            .here
            .take_sample()
            .map(|sample| HostLoad::from_sample("this machine", cores, None, &sample));
        let others = self.files.iter().filter_map(|(path, run)| read_other_host(path, run));
        here.into_iter().chain(others).collect()
    }
}

/// What a file says last; `None`: nothing yet.
fn read_other_host(path: &Path, run: &Run) -> Option<HostLoad> {
    let (header, sample) = (run.header().ok()?, run.latest_sample().ok()??);
    let file = || path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = header.host.or_else(file)?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let at = header.started_unix.0 + sample.at.0;
    let age = Micros((now.as_micros() as u64).saturating_sub(at));
    Some(HostLoad::from_sample(&name, header.cpus.unwrap_or(1), Some(age), &sample))
}

/// A line for each, below one of titles.
pub(super) fn host_lines(hosts: &[HostLoad], columns: usize) -> Vec<String> {
    let cells = |cpu: String, waiting: String, free: String, disks: String, network: String| {
        [(waiting, 7), (cpu, 5), (free, 9), (disks, 11), (network, 11)]
    };
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let [cpu, waiting, free, disks, network] =
        ["cpu", "waiting", "free mem", "disks", "network"].map(str::to_owned);
    let mut lines =
        vec![format_row("machine", &cells(cpu, waiting, free, disks, network), columns)];
    for host in hosts {
        let late = match host.age {
            Some(age) if host.is_late() => format!(" ({age} ago)"),
            _ => String::new(),
        };
        let cells = cells(
            percent(host.busy),
            percent(host.waiting),
            host.free.to_string(),
            format_rate(Some(host.disks)),
            format_rate(Some(host.network)),
        );
        lines.push(format_row(
            &format!("{}{late}", escape_name(host.name.as_bytes())),
            &cells,
            columns,
        ));
    }
    lines
}

pub(super) fn as_json(hosts: &[HostLoad]) -> Vec<Value> {
    hosts.iter().map(HostLoad::to_json).collect()
}
