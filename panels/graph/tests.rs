//! The panel over deployments of all sizes.

mod walks;

use headwater_engine::reading::{Call, Origin};
use headwater_engine::settings::Component;
use headwater_engine::{Kind, Snapshot};

use super::*;
use crate::example::{Trouble, World, drawn, keys, live, subject};
use crate::palette::Palette;

fn boutique() -> Vec<Call> {
    const CALLS: &[(&str, &[&str])] = &[
        ("loadgenerator", &["frontend"]),
        ("frontend", &["ad", "recommendation", "productcatalog", "cart", "shipping", "currency", "checkout"]),
        ("checkout", &["productcatalog", "shipping", "payment", "email", "currency", "cart"]),
        ("recommendation", &["productcatalog"]),
    ];
    let named = |name: &str| Subject::component(Kind::Service, &format!("{name}service"));
    let mut calls: Vec<Call> = CALLS
        .iter()
        .flat_map(|(caller, callees)| callees.iter().map(move |callee| (named(caller), named(callee))))
        .map(|(caller, callee)| Call { caller, callee, origin: Origin::Observed })
        .collect();
    calls.push(Call { caller: named("cart"), callee: subject("redis/cart"), origin: Origin::StartOrder });
    calls
}

/// Ten services and a Redis of which only the calls are known.
fn shop() -> Arc<Snapshot> {
    let mut world = World::with(|settings| {
        settings.components = vec![Component::new(subject("redis/cart"))];
        settings.calls = boutique();
    });
    world.trouble = Trouble::Nothing;
    world.run(2);
    world.snapshot()
}

fn panel() -> Box<dyn Panel> {
    (ROW.make)()
}

fn plain() -> Palette {
    Palette::mono(headwater_widgets::Glyphs::Unicode)
}

fn look(panel: &mut dyn Panel, snapshot: &Snapshot, width: u16, height: u16) -> String {
    drawn(panel, snapshot, &plain(), width, height)
}

fn press(panel: &mut dyn Panel, snapshot: &Snapshot, actions: &[Action]) -> Vec<Outcome> {
    let (keys, palette) = (keys(), plain());
    let view = live(snapshot, &palette, &keys);
    actions.iter().map(|action| panel.act(*action, &view)).collect()
}

#[test]
fn an_incident_marks_the_way_to_its_cause() {
    let snapshot = World::after(Trouble::FullLink, 60);
    insta::assert_snapshot!(look(panel().as_mut(), &snapshot, 80, 21), @r#"
    ─ Graph: 5 components, 4 calls ─────────────────────────── 1 guilty, 1 unknown ─





                                           ╭▸ o queue/ranker       ╌╌╌▸ ? gpu/ranker
                                           ┆    innocent 3 waiting        unknown
    o client/load ╌╌▸ o ranker             ┇
      innocent          innocent p99 2.9 s ┇
                                           ┗▸ X redis/features
                                                guilty link max 96 %





    X guilty   redis/features: redis/features#2: 23.9 MB/s at 10.0.3.14:6379, 95.6 %
               of its 25 MB/s link; answers in 41 ms, its peers in 0.7 ms
    call       ranker -> redis/features: supposed: nothing tells of it, no numbers
               on the way, on the critical path
    "#);
}

#[test]
fn structure_is_drawn_before_any_data() {
    let snapshot = World::after(Trouble::Nothing, 2);
    insta::assert_snapshot!(look(panel().as_mut(), &snapshot, 60, 13), @r#"
    ─ Graph: around ranker, 4 of 5 components ────── 5 unknown ─


                                      ╭╌╌╌╌╌╌╌▸ ? queue/ranker
                                      ┆           unknown
    ? client/load ╌╌╌╌╌╌╌╌▸ ? ranker  ┆
      unknown                 unknown ┆
                                      ╰╌╌╌╌╌╌╌▸ ? redis/features
                                                  unknown

    ? unknown  service/ranker: no source
    call       client/load -> ranker: supposed: nothing tells of
               it, no numbers on the way
    "#);
}

#[test]
fn a_shop_is_drawn_whole_where_it_fits() {
    insta::assert_snapshot!(look(panel().as_mut(), &shop(), 160, 44), @r#"
    ─ Graph: 12 components, 16 calls ────────────────────────────────────────────────────────────────────────────────────────────────────────────────── 12 unknown ─










                                                            ╭────────────▸ ? adservice
                                                            │                unknown                   ╭────────▸ ? emailservice
                                                            │                                          │            unknown
                                                            │                                          │
                                                            │                                          │
                                                            │                                          ├────────▸ ? paymentservice
                                                            ├──────────────────────────────────────╮   │            unknown
                                                            │                                      │   │
                                                            │                                      │   │
                                                            ├────────────▸ ? checkoutservice ──────┴───┼────────▸ ? cartservice ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌▸ ? redis/cart
                                                            │                unknown                   │            unknown                               unknown
                                                            │                                          │
                                                            │                                          │
    ? loadgeneratorservice ─────────────▸ ? frontendservice ├──────────────────────────────────────────┼────────▸ ? currencyservice
      unknown                               unknown         │                                          │            unknown
                                                            │                                          │
                                                            ├────────────▸ ? recommendationservice ──╮ │
                                                            │                unknown               ╭─┴─┼────────▸ ? productcatalogservice
                                                            │                                      │   │            unknown
                                                            │                                      │   │
                                                            ├──────────────────────────────────────╯   │
                                                            │                                       ╭──┴────────▸ ? shippingservice
                                                            │                                       │               unknown
                                                            │                                       │
                                                            ╰───────────────────────────────────────╯






    ? unknown  service/frontendservice: no source
    call       loadgeneratorservice -> frontendservice: traffic seen, no numbers on the way
    "#);
}

#[test]
fn a_shop_that_does_not_fit_shows_who_calls_most_with_its_neighbours() {
    insta::assert_snapshot!(look(panel().as_mut(), &shop(), 80, 21), @r#"
    ─ Graph: around frontendservice, 9 of 12 components ─────────────── 12 unknown ─


                                                     ╭─────▸ ? adservice
                                                     │         unknown
                                                     ├─────▸ ? checkoutservice
                                                     │         unknown
                                                     ├─────▸ ? recommendationservice
                                                     │         unknown
    ? loadgeneratorservice ──────▸ ? frontendservice ├─────▸ ? cartservice
      unknown                        unknown         │         unknown
                                                     ├─────▸ ? currencyservice
                                                     │         unknown
                                                     ├─────▸ ? productcatalogservice
                                                     │         unknown
                                                     ╰─────▸ ? shippingservice
                                                               unknown

    ? unknown  service/frontendservice: no source
    call       loadgeneratorservice -> frontendservice: traffic seen, no numbers on
               the way
    "#);
}

#[test]
fn what_has_no_room_is_counted() {
    insta::assert_snapshot!(look(panel().as_mut(), &shop(), 70, 12), @r#"
    ─ Graph: around frontendservice, 6 of 12 components ───── +3 callees ─
                                                ╭▸ ? adservice
                                                │    unknown
                                                ├▸ ? checkoutservice
    ? loadgeneratorservice ─▸ ? frontendservice │    unknown
      unknown                   unknown         ├▸ ? recommendationservice
                                                │    unknown
                                                ╰▸ ? cartservice
                                                     unknown
    ? unknown  service/frontendservice: no source
    call       loadgeneratorservice -> frontendservice: traffic seen, no
               numbers on the way
    "#);
}

#[test]
fn the_unhealthy_alone_are_the_way_to_the_cause() {
    let (mut panel, snapshot) = (panel(), World::after(Trouble::FullLink, 60));
    press(panel.as_mut(), &snapshot, &[Action::Unhealthy]);
    insta::assert_snapshot!(look(panel.as_mut(), &snapshot, 60, 12), @r#"
    ─ Graph: the unhealthy, 2 of 5 components ──────────────────



    o ranker             ╍╍╍╍╍╍╍╍╍╍╍╍╍╍╍▸ X redis/features
      innocent p99 2.9 s                    guilty link max 96 %



    X guilty   redis/features: redis/features#2: 23.9 MB/s at…
    call       ranker -> redis/features: supposed: nothing tells
               of it, no numbers on the way, on the critical…
    "#);
    let near = look(panel.as_mut(), &snapshot, 24, 4);
    assert!(near.starts_with("─ Graph: the unhealthy a"), "{near}");
    let healthy = World::after(Trouble::None, 30);
    insta::assert_snapshot!(look(panel.as_mut(), &healthy, 60, 3), @r#"
    none of 5 components is guilty or suspect
    the same key draws them all again
    "#);
    assert_eq!(
        press(panel.as_mut(), &healthy, &[Action::Back, Action::Back]),
        [Outcome::Done, Outcome::Ignored]
    );
    assert!(look(panel.as_mut(), &healthy, 100, 12).contains("gpu/ranker"));
}
