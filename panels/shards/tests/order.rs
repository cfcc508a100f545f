//! In which order the rows of a list stand, and of which moment their numbers are.

use super::*;

#[test]
fn the_order_of_a_list_is_that_of_the_numbers_it_shows() {
    let mut world = World::new(12, settings(Some(25e6)));
    world.go_on(60, 3e6, 0.0007);
    world.go_on(2, 3e6, 0.03);
    let snapshot = world.snapshot();
    let mut stage = stage(&snapshot);
    let sorted = |field: &str, stage: &mut Stage<'_>| {
        let place = columns::SHARDS.iter().position(|column| column.field.name == field).unwrap();
        let columns = columns::SHARDS[..=place].iter().filter(|column| column.draw.is_none());
        columns.for_each(|_| _ = stage.act(Action::Sort));
        let drawn = stage.drawn(160, 20);
        let rows = drawn.lines().filter(|line| line.contains("features#"));
        rows.map(|row| row.split_once('#').unwrap().1.split(' ').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let by_answer = sorted("answer", &mut stage);
    assert_eq!(by_answer[..2], ["2", "0"], "{by_answer:?}");
}

#[test]
fn numbers_of_the_list_change_every_other_second_and_those_of_the_past_are_of_the_moment() {
    let mut world = World::new(4, settings(Some(25e6)));
    world.go_on(60, 3e6, 0.0007);
    let answer = |snapshot: &Snapshot| {
        let drawn = stage(snapshot).drawn(80, 12);
        let row = drawn.lines().find(|line| line.contains("features#2 ")).unwrap();
        row.split_once(" ms").unwrap().0.rsplit(' ').next().unwrap().to_owned()
    };
    let mut shown = vec![];
    for tens in 1..=4 {
        world.go_on(1, 3e6, 0.01 * f64::from(tens));
        shown.push(answer(&world.snapshot()));
    }
    assert_eq!(shown, ["0.7", "20", "20", "40"]);
    let now = world.snapshot();
    let past = now.back_to(now.at - std::time::Duration::from_secs(1)).unwrap();
    assert_eq!(answer(&past), "30");
}
