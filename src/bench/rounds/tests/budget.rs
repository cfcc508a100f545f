//! What is done where a budget is too short.

use super::*;

/// Whether each kernel that the device has memory for was timed, or said to be skipped for lack of time.
fn is_each_told(told: &Told) -> bool {
    let of = |line: &Line| match line {
        Line::Timed(result) => Some(result.name.clone()),
        Line::Skipped(skipped) if skipped.for_lack_of_time => Some(skipped.name.clone()),
        _ => None,
    };
    let named: Vec<String> = told.0.iter().filter_map(of).filter(|name| name != "d2h_pinned").collect();
    KERNELS.iter().all(|kernel| {
        let times = named.iter().filter(|name| *name == kernel.name).count();
        times == usize::from(!["d2h_pinned", "d2h_pageable"].contains(&kernel.name))
    })
}

/// What was skipped for lack of time, with the reason.
fn late(told: &Told) -> Vec<&str> {
    let lines = told.0.iter();
    lines
        .filter_map(|line| match line {
            Line::Skipped(skipped) if skipped.for_lack_of_time => Some(skipped.why.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn what_does_not_fit_into_the_budget_is_skipped_and_said_and_never_run_anyway() {
    let scripted = |clock: &Cell<Duration>, run: Duration, filling, check, foretells| {
        let run = always(run);
        told_by(&Scripted { clock, run: &run, check, filling, foretells, result: |_, _| Ok(()) }, BUDGET)
    };
    let told = |run, filling, check, foretells| {
        scripted(&Cell::new(Duration::ZERO), Duration::from_millis(run), filling, check, foretells)
    };
    let none = Duration::ZERO;
    for (run, filling, check) in [
        (500, 1, none),
        (900, 1, none),
        (1_100, 1, none),
        (1_990, 0, none),
        (3_000, 1, none),
        (100, 150, none),
        (100, 300, none),
        (10, 40, Duration::from_millis(1_700)),
        (10, 40, Duration::from_millis(4_000)),
    ] {
        let told = told(run, filling, check, true);
        assert!(is_each_told(&told), "{run} ms: {:?}", told.0);
        // A piece of what is cut short may end after the budget, and the part of a run that foretells.
        let piece = Duration::from_millis(run / 10 + run / 16).max(check / PIECES);
        assert!(told.1 <= BUDGET + piece, "{run} ms, {filling}, {check:?}: {:?}", told.1);
    }
    let whole = |run, filling, check| {
        let told = told(run, filling, check, true);
        (timed(&told).len(), late(&told).first().map(|why| (*why).to_owned()))
    };
    let said =
        |what: &str| Some(format!("{what} more than was left of the budget: give more with '--budget'"));
    assert_eq!(whole(500, 1, none), (1, said("running it takes some 1 s,")));
    assert_eq!(whole(3_000, 1, none), (0, said("running it takes some 6 s,")));
    assert_eq!(whole(100, 300, none), (0, said("filling its memory takes")));
    assert_eq!(whole(10, 1, Duration::from_secs(4)), (0, said("checking its result takes")));
    // Where no part of a run can be run alone, one run is what it may be wrong by.
    let blind = told(700, 1, none, false);
    assert!(blind.1 <= BUDGET + Duration::from_millis(700), "{:?}", blind.1);
    assert!(is_each_told(&blind), "{:?}", blind.0);
    let nothing = Cell::new(BUDGET);
    let told = scripted(&nothing, Duration::from_micros(1), 1, none, false);
    assert_eq!((timed(&told).len(), told.1), (0, BUDGET), "not even a first run is begun: {:?}", told.0);
}

#[test]
fn a_machine_that_slows_down_while_kernels_are_timed_costs_rounds_and_not_the_budget() {
    for quick in [1, 50, 100, 200, 300, 400, 500] {
        let (run, slow) = (Duration::from_micros(500), Duration::from_millis(5));
        let loaded = |now: Duration| if now < Duration::from_millis(quick) { run } else { slow };
        let clock = Cell::new(Duration::ZERO);
        let backend = Scripted {
            clock: &clock,
            run: &loaded,
            check: run,
            filling: 40,
            foretells: true,
            result: |_, _| Ok(()),
        };
        let told = told_by(&backend, BUDGET);
        assert!(is_each_told(&told), "{quick}: {:?}", told.0);
        assert!(told.1 <= BUDGET, "{quick}: {:?}", told.1);
    }
}

#[test]
fn less_memory_is_taken_and_told_where_filling_it_takes_more_than_a_kernel_s_share() {
    let fitted = |run| {
        let clock = Cell::new(Duration::ZERO);
        let backend = Scripted {
            clock: &clock,
            run: &always(Duration::from_millis(run)),
            check: Duration::ZERO,
            filling: 40,
            foretells: true,
            result: |_, _| Ok(()),
        };
        let lines = told_by(&backend, BUDGET).0;
        lines.into_iter().filter(|line| matches!(line, Line::Fitted(..))).collect::<Vec<_>>()
    };
    assert_eq!(fitted(5), []);
    assert_eq!(fitted(50), [Line::Fitted(4, 64)]);
}
