//! S3 servers that others wrote, on this machine: what is taken for S3 may be a habit of the one
//! that the tests serve themselves.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A program that serves buckets: one line adds another.
pub(crate) struct Other {
    pub(crate) name: &'static str,
    /// Below target/tools, where `scripts/setup-s3.sh` puts it.
    program: &'static str,
    /// Its words before the port.
    words: &'static [&'static str],
}

pub(crate) const OTHERS: [Other; 1] = [Other {
    name: "moto",
    // Not the script beside it, which names the folder in which it was installed.
    program: "moto/bin/python3",
    words: &["-m", "moto.server", "-H", "127.0.0.1", "-p"],
}];

/// Looks until one must have started: a minute.
const LOOKS: u32 = 3000;

/// One that runs, as long as this lives.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    port: u16,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Other {
    /// Starts it with an empty bucket. `None`, loudly, where it is not installed.
    pub(crate) fn start(&self, bucket: &str) -> Option<Running> {
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
        let program = tools.join(self.program);
        if !program.exists() {
            let name = self.name;
            let line = format!("\n!!! {name} WAS NOT TRIED: scripts/setup-s3.sh installs it\n");
            let _ = std::io::stderr().write_all(line.as_bytes());
            assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{name}, and CI=true");
            return None;
        }
        // The port may be another's before it is bound: a server that ends tries the next.
        let mut running = Running::start(&program, self.words);
        for _ in 0..LOOKS {
            if running.make(bucket) {
                return Some(running);
            }
            if running.child.try_wait().expect("asked").is_some() {
                running = Running::start(&program, self.words);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("{} does not answer", self.name);
    }
}

impl Running {
    fn start(program: &Path, words: &[&str]) -> Running {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let port = free.expect("a port").port();
        let mut command = Command::new(program);
        command.args(words).arg(port.to_string()).stdin(Stdio::null());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
        Running { child, port }
    }

    fn make(&self, bucket: &str) -> bool {
        let Ok(mut socket) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let signed = "Authorization: AWS4-HMAC-SHA256 \
                      Credential=KEY/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, \
                      Signature=0\r\n";
        let ask = format!(
            "PUT /{bucket} HTTP/1.1\r\nHost: 127.0.0.1\r\n{signed}Content-Length: 0\r\n\
             Connection: close\r\n\r\n"
        );
        let mut answer = String::new();
        socket.write_all(ask.as_bytes()).is_ok()
            && socket.read_to_string(&mut answer).is_ok()
            && answer.lines().next().is_some_and(|line| line.contains(" 200 "))
    }

    /// What its users have in their environment.
    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        let settings = [
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port)),
            ("AWS_ACCESS_KEY_ID", "KEY".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
        ];
        settings.map(|(name, value)| (name.to_owned(), value)).to_vec()
    }
}
