//! What is written for other tools. If these fail, the facility's page lacks the runs, or the name
//! of a program becomes markup in it.

use serde_json::Value;

use crate::place::{Place, done};

#[test]
fn multiqc_gets_a_row_and_bars_for_each_run() {
    let Some(place) = Place::with_fuse() else { return };
    let script = "for i in $(seq 30); do echo $i > s$i; done; head -c 2000000 /dev/zero > big
        cp /bin/cat '../a<b>'; '../a<b>' big > /dev/null";
    done(&mut place.script(&["-q"], script)).code(0);
    std::fs::copy(&place.run, place.all.join("two.run")).expect("copied");
    let export = |words: &[&str]| {
        let all = [&["export", "../out.run", "../two.run"], words].concat();
        done(&mut place.forebay(&all))
    };
    export(&["--format", "multiqc", "-o", "../page/forebay"]).code(0).says("2 runs for MultiQC");
    let read = |name: &str| -> Value {
        let path = place.all.join(format!("page/forebay/forebay_{name}_mqc.json"));
        let text = std::fs::read_to_string(path).expect(name);
        serde_json::from_str(&text).expect("JSON")
    };
    let general = read("general_stats");
    assert_eq!(general["plot_type"], "generalstats");
    for run in ["out", "two"] {
        let row = &general["data"][run];
        assert!(row["forebay_files_made"].as_u64() >= Some(31), "{general}");
        assert!(row["forebay_wall_min"].as_f64() > Some(0.0), "{general}");
        assert!(row["forebay_written_gib"].as_f64() > Some(0.0), "{general}");
        assert!(read("file_sizes")["data"][run]["up to 4 KiB"].as_u64() >= Some(30));
    }
    let tasks = read("time_by_task");
    assert!(tasks["data"]["out"]["a&lt;b&gt;"].as_f64() > Some(0.0), "{tasks}");
    assert_eq!(tasks["plot_type"], "bargraph");
    let bytes = read("bytes_by_storage");
    let bars = bytes["data"]["out"].as_object().expect("bars");
    let written = bars.iter().find(|(bar, _)| bar.ends_with(": written")).expect("bytes");
    assert!(written.1.as_u64() >= Some(2_000_000), "{bytes}");
    // Of what can't be written nothing is said to be there.
    export(&["--format", "multiqc"]).code(1).says("-o");
    export(&["--format", "multiqc", "-o", "/proc/none"]).code(1).says("/proc/none");
    export(&["--format", "wfformat"]).code(1).says("one run");
    export(&["../none.run", "--format", "multiqc", "-o", "../x"]).code(1).says("none.run");
    assert!(!place.all.join("x").exists(), "nothing is half written");
}
