//! The ACTIONS table: everything that can be done with a key, wherever it is bound.

/// One row of [`ACTIONS`].
#[derive(Debug)]
pub struct ActionRow {
    /// The action.
    pub action: Action,
    /// The name that keymaps and the command line use.
    pub name: &'static str,
    /// Two words at most, for the bar of keys.
    pub short: &'static str,
    /// One sentence for help.
    pub help: &'static str,
    /// Where it works.
    pub scope: Scope,
}

/// Where an action works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// On every panel.
    Everywhere,
    /// In every table.
    Table,
    /// On panels that name it in [`Panel::actions`](crate::panel::Panel::actions).
    Panel,
    /// While a recording is replayed.
    Replay,
    /// On the kiosk alone, which takes no other key and shows none.
    Kiosk,
}

macro_rules! actions {
    ($($action:ident $name:literal $short:literal $scope:ident $help:literal)*) => {
        /// Something that can be done.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Action { $(#[doc = $help] $action),* }

        /// Every action, in the order of help.
        pub static ACTIONS: &[ActionRow] = &[$(ActionRow {
            action: Action::$action, name: $name, short: $short, help: $help, scope: Scope::$scope,
        }),*];
    };
}

actions! {
    Help "help" "help" Everywhere "show the keys of this panel and what it shows"
    CommandLine "command" "command" Everywhere "type the name of a panel or an action"
    NextPanel "next-panel" "next" Everywhere "go to the next panel"
    PreviousPanel "previous-panel" "previous" Everywhere "go to the panel before"
    Back "back" "back" Everywhere "close what is open, leave a detail, go back to where you came from"
    Freeze "freeze" "freeze" Everywhere "hold the screen still, and let it go on; a replay is paused"
    Earlier "earlier" "earlier" Everywhere "go back in time by one frame"
    Later "later" "later" Everywhere "go forward in time by one frame"
    MuchEarlier "much-earlier" "-1 min" Everywhere "go back in time by a minute"
    MuchLater "much-later" "+1 min" Everywhere "go forward in time by a minute"
    Live "live" "live" Everywhere "return to the present"
    Mark "mark" "mark" Everywhere "put a mark on the time axis"
    Note "note" "note" Everywhere "write a note for the write-up"
    Copy "copy" "copy" Everywhere "copy the row under the cursor, or the verdict, to the clipboard of your terminal"
    CopyReport "copy-report" "copy all" Everywhere "copy the whole report as Markdown"
    Export "export" "export" Everywhere "write the report as Markdown and JSON into files"
    Redraw "redraw" "redraw" Everywhere "draw the whole screen anew"
    Mouse "mouse" "mouse" Everywhere "give the mouse to Headwater, or back to the terminal to select text"
    NextTheme "next-theme" "theme" Everywhere "take the next colour theme"
    Suspend "suspend" "suspend" Everywhere "stop Headwater and return to the shell; 'fg' brings it back"
    Quit "quit" "quit" Everywhere "leave Headwater"
    Up "up" "up" Table "one row up"
    Down "down" "down" Table "one row down"
    PageUp "page-up" "page up" Table "one page up"
    PageDown "page-down" "page down" Table "one page down"
    Top "top" "top" Table "to the first row"
    Bottom "bottom" "bottom" Table "to the last row"
    Open "open" "open" Table "open what is under the cursor"
    Filter "filter" "filter" Table "keep only rows that match an expression"
    Sort "sort" "sort" Table "sort by the next column"
    Reverse "reverse" "reverse" Table "turn the order of the rows round"
    Left "left" "left" Panel "to the left: earlier, the column before, whoever calls"
    Right "right" "right" Panel "to the right: later, the next column, what is called"
    Compare "compare" "compare" Panel "put the row under the cursor beside another one"
    Arguments "arguments" "arguments" Panel "show or hide the arguments of slow commands"
    Group "group" "group" Panel "group rows, or list them one by one"
    Unhealthy "unhealthy" "unhealthy" Panel "draw only who is guilty or suspect with the way there, or all again"
    Scan "scan" "scan" Panel "look for big keys on the shard under the cursor, within a budget that is shown first"
    SearchHot "search" "hot keys" Panel "search the shard under the cursor for hot keys by the gentlest way that it offers; the cost is shown first"
    PauseScan "pause-scan" "pause scan" Panel "pause the scan of this shard, or let it go on"
    CancelScan "cancel-scan" "cancel scan" Panel "end the scan of this shard and every search of it; what they found stays"
    TimeKernels "time-kernels" "kernels" Panel "time our own kernels once on the GPU under the cursor, against what was saved for its model; asks first"
    SaveCase "save-case" "save case" Panel "write this incident as a case into your folder of cases; asks first"
    Week "week" "week" Panel "show the changes of the last week, or those of the last day"
    Confirm "confirm" "confirm" Panel "record what the checks of this step show, good or bad; begins a runbook that was not begun"
    Override "override" "override" Panel "answer this step by what you know instead of its checks, with a note"
    Skip "skip" "skip" Panel "leave this step out, with a reason"
    Reopen "reopen" "reopen" Panel "take the answer to this step back"
    Done "done" "done it" Panel "record that you have taken the action that is marked; Headwater takes none itself"
    Explain "explain" "explain" Panel "show or hide why a step matters and what its numbers mean"
    ChooseRunbook "choose-runbook" "runbooks" Panel "choose another runbook: those that fit what fires come first"
    Step "step" "step" Replay "play the next second and pause"
    Faster "faster" "faster" Replay "play twice as fast"
    Slower "slower" "slower" Replay "play half as fast"
    LeaveKiosk "leave-kiosk" "leave" Kiosk "leave the kiosk"
}

impl Action {
    /// This action's row.
    pub fn row(self) -> &'static ActionRow {
        &ACTIONS[self as usize]
    }

    /// The action with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        ACTIONS.iter().find(|row| row.name == name).map(|row| row.action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lead_back() {
        for (place, row) in ACTIONS.iter().enumerate() {
            assert_eq!(row.action as usize, place);
            assert_eq!(Action::by_name(row.name), Some(row.action), "'{}' stands twice", row.name);
            assert!(row.short.split(' ').count() <= 2, "'{}'", row.short);
        }
    }
}
