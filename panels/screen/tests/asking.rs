//! Lines that a panel asks for, filters that it lends, and the way of a newcomer.

use super::*;

#[test]
fn a_panel_that_asks_for_a_line_gets_it_and_it_is_never_lost_by_quitting() {
    let mut desk = Rehearsal::after(3);
    desk.press("2 w");
    let window = desk.below_head();
    for part in
        ["In your words", "why is it left out?", "> ", "type a few words, then enter: keep   esc: leave it"]
    {
        assert!(window.contains(part), "'{part}' in\n{window}");
    }
    assert!(desk.cursor().is_some());
    desk.press("enter");
    assert!(desk.bar().starts_with("a few words are needed"), "{}", desk.bar());
    desk.type_in("not ours");
    assert!(desk.press("ctrl-c").is_empty());
    assert!(desk.bar().starts_with("what you typed is not kept yet"), "{}", desk.bar());
    assert_eq!(desk.press("enter"), [Effect::Note("not ours".into())]);
    assert!(desk.screen.overlay.is_none());
    desk.press("w");
    desk.with(|screen, shown| screen.paste("two\nlines", shown));
    assert_eq!(desk.press("enter"), [Effect::Note("two lines".into())]);
    desk.press("w x esc");
    assert!(desk.screen.overlay.is_none());
}

#[test]
fn a_filter_that_was_lent_goes_with_its_panel() {
    let mut desk = Rehearsal::after(3);
    desk.press("2 i");
    assert_eq!(desk.screen.name(), "rules");
    assert_eq!(desk.panel("rules").filter().map(|filter| filter.as_str()), Some("state = firing"));
    desk.press("esc");
    assert_eq!(desk.screen.name(), "shards", "one key leads back");
    assert!(desk.panel("rules").filter().is_none());
    // A filter of one's own is cleared first, as everywhere.
    desk.press("i /");
    desk.type_in(" a");
    desk.press("enter esc");
    assert_eq!(desk.screen.name(), "rules");
    desk.press("esc");
    assert_eq!(desk.screen.name(), "shards");
}

#[test]
fn a_walkthrough_begins_at_the_runbook() {
    let screen = Screen::new().walkthrough();
    assert_eq!(screen.name(), "runbook");
}

#[test]
fn words_typed_over_a_frozen_screen_are_taken_now_and_none_are_thrown_away() {
    let mut desk = Rehearsal::after(3);
    desk.press("2 space w");
    desk.type_in("cache off");
    desk.deployment.run(20);
    assert_eq!(desk.press("enter"), [Effect::Note("cache off".into())]);
    desk.press("w");
    desk.type_in("refuse");
    desk.press("enter");
    assert!(desk.bar().contains("not now"), "{}", desk.bar());
    assert!(desk.drawn(80, 24).contains("> refuse"), "what was typed is still there");
}

#[test]
fn a_look_closes_what_was_open_and_gives_back_the_filter_that_was_there() {
    let mut desk = Rehearsal::after(3);
    desk.press("5 /");
    desk.type_in("redis");
    desk.press("enter enter");
    let is_open = desk.panel("rules").fields().is_empty();
    assert!(is_open, "{}", desk.drawn(80, 24));
    desk.press("2 i");
    assert_eq!(desk.screen.name(), "rules");
    assert_eq!(desk.panel("rules").filter().map(Filter::as_str), Some("state = firing"));
    desk.press("esc");
    assert_eq!(desk.screen.name(), "shards", "one key leads back");
    assert_eq!(desk.panel("rules").filter().map(Filter::as_str), Some("redis"));
}

#[test]
fn an_answer_that_was_kept_is_told_beside_the_keys() {
    let mut desk = Rehearsal::after(3);
    let keys = desk.bar();
    let kept = Notice::new("kept at 14:07:02 UTC", false).about(About::Answer);
    desk.with(|screen, _| screen.tell(kept.clone()));
    let bar = desk.bar();
    let (beside, told) = bar.split_at(bar.len() - kept.text.len());
    assert_eq!(told, kept.text);
    // The first key and those that always stand there are read all the same.
    let first = keys.split("  ").next().unwrap_or_default();
    assert!(beside.starts_with(first) && beside.trim_end().ends_with("? help  q quit"), "{bar}");
    // In a row that is short of room the keys are worth more.
    let last =
        |desk: &mut Rehearsal, width| desk.drawn(width, 24).lines().last().unwrap_or_default().to_owned();
    assert!(last(&mut desk, 30).ends_with("q quit"), "{}", last(&mut desk, 30));
    desk.press("f11");
    assert!(!desk.bar().contains("kept"));
}
