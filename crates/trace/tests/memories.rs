//! Trace memories that no compiler has made: what is refused, and in which words.

use accelflow_trace::{Image, LinkError, PredicateTable, Word};

fn raw(words: &[u64], names: &[&str]) -> Result<Image, LinkError> {
    let words = words.iter().copied().map(Word).collect();
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    Image::from_raw(words, PredicateTable::default(), names, vec![])
}

#[test]
fn a_memory_has_a_name_for_each_word() {
    let words = [0x5000_0000_0000_0000; 3];
    for names in [&["a", "b"][..], &["a", "b", "c", "d"], &[]] {
        let error = raw(&words, names).unwrap_err().to_string();
        let count = names.len();
        let expected =
            format!("names of the trace memory = {count}: must be one for each of its words, 3");
        assert_eq!(error, expected);
    }
    assert!(raw(&words, &["a", "b", "c"]).is_ok());
}

#[test]
fn a_memory_whose_arms_do_not_meet_is_refused() {
    let parts = ["t", "t.1", "t.2"];
    // Ser; scatter to 8; continue at 1; 8: continue at 1 or 2. There: join Encr.
    let (meets, meet) = (0x5bc8_f001_f001_0000, 0xbf20_0000_0000_0000);
    assert!(raw(&[meets, meet, meet], &parts).is_ok());
    for (words, why) in [
        (
            [0x5bc8_f001_f002_0000, meet, meet],
            "the arms of a join do not all meet",
        ),
        (
            [0x5bc8_f001_f002_0000, meet, 0x2000_0000_0000_0000],
            "the arms of a join do not all meet",
        ),
        (
            [0x5f00_1000_0000_0000, meet, meet],
            "the trace reaches a join whose arms no scatter instruction has started",
        ),
    ] {
        let error = raw(&words, &parts).unwrap_err().to_string();
        assert_eq!(error, format!("word 't': {why}"));
    }
    // Neither a trace nor an arm can begin with it.
    assert!(raw(&[meet], &["t"]).is_err());
    assert!(raw(&[0x5bc6_bf2f_0010_0000, meet, meet], &parts).is_err());
}
