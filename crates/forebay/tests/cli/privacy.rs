//! Run files are shared; a password or a patient's name in one can't be called back.

use crate::place::{Place, done};

fn holds(place: &Place, word: &str) -> bool {
    let bytes = std::fs::read(&place.run).expect("a run file");
    bytes.windows(word.len()).any(|window| window == word.as_bytes())
}

#[test]
fn secrets_are_masked() {
    let Some(place) = Place::with_fuse() else { return };
    let mut run = place.script(&["-q"], "true > a; cat a; sh -c 'cat a; cat a' sh \"$@\"");
    run.args(["sh", "--password=hunter2secret", "--token", "tok3nsecret"]);
    run.arg("https://ada:urlsecret@example.org/x?X-Amz-Signature=signsecret");
    done(&mut run).code(0);
    for secret in ["hunter2secret", "tok3nsecret", "urlsecret", "signsecret"] {
        assert!(!holds(&place, secret), "{secret} is in the run file");
    }
    assert!(holds(&place, "--password=***"), "the rest of the command line is kept");
    place.nothing_left();
}

#[test]
fn secrets_in_the_text_of_a_shell_are_masked_as_in_words() {
    let Some(place) = Place::with_fuse() else { return };
    // As engines run everything; none of these programs has to be there.
    let script = "cat made 2>/dev/null; sh -c 'PGPASSWORD=pgs3cret true; : curl -u me:curls3cret h'
        : sshpass -p sshs3cret ssh h; : mysql -h db -pmys3cret; : tool --token toks3cret
        : aws configure set aws_secret_access_key awss3cret; : curl https://me:urls3cret@h/x
        sh -c \"sh -c ': curl -sSu me:deeps3cret h; true'; true\"; echo done > made";
    done(&mut place.script(&["-q"], script)).code(0);
    assert!(!holds(&place, "s3cret"), "a secret is in the run file");
    assert!(holds(&place, "PGPASSWORD=*** true") && holds(&place, "aws_secret_access_key ***"));
    for words in [&["summary"][..], &["explain"], &["report", "--json"], &["summary", "--json"]] {
        let told = done(&mut place.forebay(&[words, &["../out.run"]].concat()));
        assert!(!told.code(0).text().contains("s3cret"), "{words:?}");
    }
    place.nothing_left();
}

#[test]
fn anonymous_runs_tell_no_names() {
    let Some(place) = Place::with_fuse() else { return };
    let script = "echo x > Lovelace_Ada.bam; cat Lovelace_Ada.bam > Lovelace_Ada.vcf";
    done(&mut place.script(&["-q", "--anonymise"], script)).code(0);
    assert!(!holds(&place, "Lovelace"));
    assert!(!holds(&place, place.all.file_name().and_then(|name| name.to_str()).expect("a name")));
    let record = place.record();
    assert_eq!(record.number("SELECT value FROM header WHERE key = 'anonymised'"), 1);
    assert_eq!(record.number("SELECT count(*) FROM files WHERE path LIKE '%bam'"), 1);
    place.nothing_left();
}

#[test]
fn command_lines_can_be_left_out() {
    let Some(place) = Place::with_fuse() else { return };
    done(&mut place.script(&["-q", "--no-commands"], "echo x > a; cat a # remarkable")).code(0);
    assert!(!holds(&place, "remarkable"));
    let record = place.record();
    assert_eq!(record.number("SELECT count(*) FROM processes WHERE argv IS NOT NULL"), 0);
    assert!(record.number("SELECT count(*) FROM processes") >= 2);
    place.nothing_left();
}
