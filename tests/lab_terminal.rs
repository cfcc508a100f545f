//! What a newcomer runs first, in a real terminal: the demo over the lab, steered by keys until the key is named.

use std::path::Path;

use headwater_test_support::terminal::Terminal;
use tempfile::TempDir;

/// A program's first verdict is waited for on a machine that also carries the lab.
const SIZES: &[(u16, u16)] = &[(80, 24), (200, 60)];

fn demo(home: &TempDir, size: (u16, u16)) -> Terminal {
    let folder = home.path().to_str().expect("temporary folders have plain names");
    let variables = ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"].map(|name| (name, folder));
    let program = Path::new(env!("CARGO_BIN_EXE_headwater"));
    Terminal::start(program, &["demo", "--no-color"], home.path(), size, &variables)
}

#[test]
fn a_demo_names_the_shard_and_the_key_and_leaves_the_terminal_as_it_was() {
    for size in SIZES {
        let home = TempDir::new().expect("a temporary folder can be made");
        let mut terminal = demo(&home, *size);
        terminal.until_shown("press enter to look closer, 0 to be led, ? for help, q to leave");
        terminal.until_shown("demo 'hot-shard'");
        terminal.until_shown("GUILTY   redis/features#");
        terminal.until_shown("by shard-bandwidth");
        terminal.until_shown("chain");

        terminal.press("3");
        terminal.until_shown("share of link");
        terminal.until("one shard is guilty", |screen| screen.matches("X guilty").count() >= 1);
        terminal.press("/link > 70%\r");
        terminal.until("the others are filtered away", |screen| !screen.contains("o innocent"));
        terminal.press("\x1b");
        terminal.until("the filter is taken off", |screen| screen.contains("o innocent"));
        terminal.press("s");
        terminal.until_shown("verdict▼");

        // The cursor stands on the accused; a scan tells its cost first.
        terminal.press("b");
        terminal.until_shown("reads only");
        terminal.press("\r");
        terminal.press("1");
        terminal.until_shown("big string");

        terminal.press("3\r");
        terminal.until_shown("evidence");
        terminal.press("\x1b");
        // An escape and a key in one breath would be alt and that key.
        terminal.until("the detail is left", |screen| !screen.contains("evidence"));
        terminal.press(" ");
        terminal.until_shown("FROZEN");
        terminal.press(" ");
        terminal.until("the screen goes on", |screen| !screen.contains("FROZEN"));
        terminal.press("[[");
        terminal.until_shown("GONE BACK");
        terminal.press("L");
        terminal.until("the present is shown", |screen| !screen.contains("GONE BACK"));
        terminal.press("ncache off\r");
        terminal.press("1y");
        terminal.until_sent(b"\x1b]52;c;");
        terminal.press("q");
        assert_eq!(terminal.exit_code(), 0);
        terminal.assert_as_before();
        assert!(terminal.contents().contains("what the lab did"), "{}", terminal.contents());
    }
}
