//! In which order the rows of a list stand.

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
