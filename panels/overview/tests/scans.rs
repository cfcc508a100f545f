use super::*;

/// A shard that is accused of what a big key would explain, and the state of its scan.
fn with_scan(scan: Option<ScanState>) -> Arc<Snapshot> {
    let snapshot = World::after(Trouble::FullLink, 45);
    let shard = subject("redis/features#2");
    let scans = scan.map(|state| Scan {
        scanned: 1_000,
        total: 4_000,
        state,
        ..Scan::begun(shard.clone(), shard.instance("10.0.3.15:6379"))
    });
    let scans_wanted = if scans.is_none() { vec![shard] } else { vec![] };
    let mut report = (*snapshot.report).clone();
    report.suspects[0].keys.clear();
    let report = Arc::new(report);
    Arc::new(Snapshot {
        scans: scans.into_iter().map(|scan| (snapshot.at, scan)).collect(),
        scans_wanted,
        report,
        ..(*snapshot).clone()
    })
}

#[test]
fn who_does_not_know_the_key_is_told_how_to_find_it_and_how_far_it_is() {
    let line = |scan| {
        let text = shown(&with_scan(scan), Glyphs::Unicode, 80, 24);
        let mut rows = text.lines().skip_while(|row| !row.starts_with("which key?"));
        let first = rows.next().unwrap_or_default().to_owned();
        let rest = rows.take_while(|row| row.starts_with("           "));
        rest.fold(first, |line, row| line + " " + row.trim())
    };
    insta::assert_snapshot!([
        line(None),
        line(Some(ScanState::Running)),
        line(Some(ScanState::Paused)),
        line(Some(ScanState::Complete)),
    ].join("\n"), @r#"
    which key? b looks for big keys on redis/features#2; reads only, 1 % of a core; H looks for hot keys on redis/features#2
    which key? scan of redis/features#2: running, 1000 of 4000 keys (25 %) on 10.0.3.15:6379; p: pause or go on, x: end
    which key? scan of redis/features#2: paused, 1000 of 4000 keys (25 %) on 10.0.3.15:6379; p: pause or go on, x: end
    which key? scan of redis/features#2: complete, 1000 keys on 10.0.3.15:6379; no key was found; H looks for hot keys on redis/features#2
    "#);
    let gone_back = Snapshot { gone_back_from: Some(BEGAN), ..(*with_scan(None)).clone() };
    assert!(!shown(&gone_back, Glyphs::Unicode, 80, 24).contains("which key?"), "the past cannot be scanned");
    let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
    assert!(!search::offered(&live(&gone_back, &palette, &keys)).contains(&Action::Scan));
    assert!(search::offered(&live(&with_scan(None), &palette, &keys)).contains(&Action::Scan));
}

#[test]
fn a_scan_is_asked_for_and_steered_here_in_the_words_of_the_shards() {
    let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
    let shard = subject("redis/features#2");
    let act = |scan, action| {
        let snapshot = with_scan(scan);
        Overview::default().act(action, &live(&snapshot, &palette, &keys))
    };
    let here = act(None, Action::Scan);
    let snapshot = with_scan(None);
    let replay = View { is_replay: true, ..live(&snapshot, &palette, &keys) };
    let refused = Outcome::Refused("a recording cannot be asked anything new: no scan".to_owned());
    assert_eq!(Overview::default().act(Action::Scan, &replay), refused);
    assert!(search::line(&replay).is_none() && !search::offered(&replay).contains(&Action::Scan));
    let mut shards = (PANELS.iter().find(|row| row.name == "shards").unwrap().make)();
    shards.open(&shard);
    let there = shards.act(Action::Scan, &live(&snapshot, &palette, &keys));
    assert!(
        matches!(&here, Outcome::Wants(Intent::Ask(_, Effect::Scan(asked))) if *asked == shard),
        "{here:?}"
    );
    assert_eq!(here, there);
    let running = || Some(ScanState::Running);
    assert!(
        matches!(act(running(), Action::Scan), Outcome::Refused(why) if why.contains("is being scanned"))
    );
    let paused = Outcome::Wants(Intent::Do(Effect::PauseScan(shard.clone())));
    assert_eq!(act(running(), Action::PauseScan), paused);
    assert_eq!(act(running(), Action::CancelScan), Outcome::Wants(Intent::Do(Effect::CancelScan(shard))));
    assert_eq!(act(None, Action::PauseScan), Outcome::Refused("no scan is running".to_owned()));
}
