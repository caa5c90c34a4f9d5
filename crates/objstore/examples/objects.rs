//! The bare client that a volume in a bucket uses, without a volume: what its requests, many at a
//! time, bring and take at best. `cargo run --release -p forebay-objstore --example objects --`
//!
//! ```text
//! put s3://BUCKET/PREFIX NAME FILE    writes the object NAME
//! get s3://BUCKET/PREFIX NAME [FILE]  reads it, in the order of its bytes, into a file or nowhere
//! ```
//!
//! It prints the seconds that took, without its own start. Settings are those of AWS's own tools.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros)] // It measures and prints.

use std::fs::File;
use std::io::{Read, Write};
use std::time::Instant;

use forebay_objstore::{BucketClient, PutCondition};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let settings: Vec<_> = std::env::vars().filter(|(name, _)| name.starts_with("AWS_")).collect();
    let open = |url: &str| BucketClient::open(url, settings.clone()).expect("a bucket");
    let began = match words.as_slice() {
        ["put", url, name, file] => {
            let objects = open(url);
            let mut file = File::open(file).expect("a file to read");
            let size = file.metadata().expect("its length").len();
            let began = Instant::now();
            let mut next = |buffer: &mut [u8]| file.read(buffer);
            objects.upload(name, "a tag", size, PutCondition::Always, &mut next).expect("written");
            began
        }
        ["get", url, name, file @ ..] => {
            let objects = open(url);
            let size = objects.object_size(name).expect("an answer").expect("an object");
            let mut kept = file.first().map(|file| File::create_new(file).expect("a file"));
            let (began, mut came) = (Instant::now(), 0);
            let mut take = |bytes: bytes::Bytes| {
                came += bytes.len() as u64;
                kept.as_mut().map_or(Ok(()), |file| file.write_all(&bytes))
            };
            objects.read_in_parts(name, 0..size, None, &mut take).expect("read");
            assert_eq!(came, size, "all of it came");
            began
        }
        _ => panic!("objects put URL NAME FILE | get URL NAME [FILE]"),
    };
    println!("{:.6}", began.elapsed().as_secs_f64());
}
