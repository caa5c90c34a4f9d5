//! Servers that others wrote, on this machine: what is taken for S3 may be a habit of the one that the
//! tests serve themselves; and Azure's storage is served by its own emulator alone.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A program that serves buckets: one line adds another.
pub(crate) struct Other {
    pub(crate) name: &'static str,
    installed_by: &'static str,
    /// Below target/tools.
    program: &'static str,
    /// Its words before the port.
    words: &'static [&'static str],
    cloud: Cloud,
}

/// Whose words it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cloud {
    Amazon,
    Azure,
}

pub(crate) const OTHERS: [Other; 2] = [
    Other {
        name: "moto",
        installed_by: "scripts/setup-s3.sh",
        // Not the script beside it, which names the folder in which it was installed.
        program: "moto/bin/python3",
        words: &["-m", "moto.server", "-H", "127.0.0.1", "-p"],
        cloud: Cloud::Amazon,
    },
    Other {
        name: "Azurite",
        installed_by: "scripts/setup-azurite.sh",
        program: "azurite/node_modules/.bin/azurite-blob",
        words: &["--inMemoryPersistence", "--silent", "--blobPort"],
        cloud: Cloud::Azure,
    },
];

/// Of Azurite: its name, and its key in base64.
const ACCOUNT: &str = "lab";
const KEY: &str = "c2VjcmV0LW9mLXRoZS1sYWI=";
/// Makes a container. The client makes none; requests are signed as Azure's "Authorize with Shared
/// Key" says.
const MAKE_CONTAINER: &str = r#"
import base64, email.utils, hashlib, hmac, http.client, sys
port, account, key, name = sys.argv[1:]
date = email.utils.formatdate(usegmt=True)
text = "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:2021-08-06\n"
text += f"/{account}/{account}/{name}\nrestype:container"
made = hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()
signed = f"SharedKey {account}:{base64.b64encode(made).decode()}"
server = http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)
server.request("PUT", f"/{account}/{name}?restype=container", headers={
    "x-ms-date": date, "x-ms-version": "2021-08-06", "Authorization": signed})
sys.exit(server.getresponse().status != 201)
"#;

/// Looks until one must have started: a minute.
const LOOKS: u32 = 3000;

/// One that runs, as long as this lives.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    port: u16,
    cloud: Cloud,
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
            let (name, script) = (self.name, self.installed_by);
            let line = format!("\n!!! {name} WAS NOT TRIED: {script} installs it\n");
            let _ = std::io::stderr().write_all(line.as_bytes());
            assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{name}, and CI=true");
            return None;
        }
        // The port may be another's before it is bound: a server that ends tries the next.
        let mut running = Running::start(&program, self);
        for _ in 0..LOOKS {
            if running.make(bucket) {
                return Some(running);
            }
            if running.child.try_wait().expect("asked").is_some() {
                running = Running::start(&program, self);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("{} does not answer", self.name);
    }
}

impl Running {
    fn start(program: &Path, other: &Other) -> Running {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let port = free.expect("a port").port();
        let mut command = Command::new(program);
        command.args(other.words).arg(port.to_string()).stdin(Stdio::null());
        command.env("AZURITE_ACCOUNTS", format!("{ACCOUNT}:{KEY}"));
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
        Running { child, port, cloud: other.cloud }
    }

    fn make(&self, bucket: &str) -> bool {
        match self.cloud {
            Cloud::Amazon => self.make_bucket(bucket),
            Cloud::Azure => {
                let mut python = Command::new("python3");
                python.args(["-c", MAKE_CONTAINER, &self.port.to_string(), ACCOUNT, KEY, bucket]);
                python.stderr(Stdio::null()).status().is_ok_and(|end| end.success())
            }
        }
    }

    fn make_bucket(&self, bucket: &str) -> bool {
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

    /// The address of a bucket there.
    pub(crate) fn url(&self, bucket: &str) -> String {
        match self.cloud {
            Cloud::Amazon => format!("s3://{bucket}"),
            Cloud::Azure => format!("az://{bucket}"),
        }
    }

    /// What its users have in their environment.
    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        let at = format!("http://127.0.0.1:{}", self.port);
        let settings = match self.cloud {
            Cloud::Amazon => vec![
                ("AWS_ENDPOINT_URL", at),
                ("AWS_ACCESS_KEY_ID", "KEY".to_owned()),
                ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
                ("AWS_REGION", "us-east-1".to_owned()),
            ],
            Cloud::Azure => vec![(
                "AZURE_STORAGE_CONNECTION_STRING",
                format!("AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={at}/{ACCOUNT};"),
            )],
        };
        settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
