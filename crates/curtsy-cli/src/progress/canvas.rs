//! A few lines at the bottom of a terminal that change in place.
//!
//! They are written over and not cleared first, all in one write and only when they change, so that nothing
//! flickers. The cursor rests at their beginning: there it stays, however a terminal whose size changes
//! wraps the lines, and so the next ones are written over all of these.

use console::Term;

use crate::output;

/// Terminals that know the first of these show what is between them at once; others ignore it. By the
/// second, a line that is too long since the terminal has just become narrower is cut and not wrapped.
const BEGIN: &str = "\x1b[?2026h\x1b[?7l\r";
const END: &str = "\r\x1b[?7h\x1b[?2026l";
const TO_END_OF_LINE: &str = "\x1b[K";
const TO_END_OF_SCREEN: &str = "\x1b[J";

/// The lines on standard error.
pub(super) struct Canvas {
    terminal: Term,
    lines: Vec<String>,
    /// Of the terminal when they were written.
    width: usize,
}

impl Canvas {
    pub(super) fn new() -> Self {
        Self {
            terminal: Term::stderr(),
            lines: Vec::new(),
            width: 0,
        }
    }

    /// Width and height of the terminal.
    pub(super) fn size(&self) -> (usize, usize) {
        let (height, width) = self.terminal.size();
        (usize::from(width), usize::from(height))
    }

    /// Shows these lines in the place of those before.
    pub(super) fn show(&mut self, lines: Vec<String>) {
        let (width, _) = self.size();
        if lines != self.lines || width != self.width {
            output::say_plainly(&written(&lines, self.lines.len()));
            (self.lines, self.width) = (lines, width);
        }
    }

    /// Says something above them.
    pub(super) fn above(&mut self, say: impl FnOnce()) {
        let lines = std::mem::take(&mut self.lines);
        if !lines.is_empty() {
            output::say_plainly(&written(&[], lines.len()));
        }
        say();
        self.show(lines);
    }
}

/// What has to be written over `before` lines. Rows that are no longer needed are cleared one by one: a
/// screen that is cleared from its very top is kept for scrolling back by some terminals.
fn written(lines: &[String], before: usize) -> String {
    let count = lines.len().max(before);
    let line = |nth| lines.get(nth).map_or("", String::as_str);
    let rows = (0..count).map(|nth| format!("{}{TO_END_OF_LINE}", line(nth)));
    let rows = rows.collect::<Vec<_>>().join("\n");
    let back = match count {
        0 | 1 => String::new(),
        count => format!("\x1b[{}A", count - 1),
    };
    format!("{BEGIN}{rows}{TO_END_OF_SCREEN}{back}{END}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_goes_back_to_where_the_lines_begin() {
        for (lines, before, expected) in [
            (&[][..], 2, "\x1b[K\n\x1b[K\x1b[J\x1b[1A"),
            (&["a"], 0, "a\x1b[K\x1b[J"),
            (&["a", "", "c"], 1, "a\x1b[K\n\x1b[K\nc\x1b[K\x1b[J\x1b[2A"),
        ] {
            let lines: Vec<_> = lines.iter().map(|&line| line.to_owned()).collect();
            assert_eq!(written(&lines, before), format!("{BEGIN}{expected}{END}"));
        }
    }
}
