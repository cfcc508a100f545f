//! What the tests of every widget look at.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

/// A widget drawn on an empty screen of this size.
pub(crate) fn drawn(widget: impl Widget, width: u16, height: u16) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    widget.render(buffer.area, &mut buffer);
    buffer
}
