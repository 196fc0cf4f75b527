//! Reading pages of others as far as they are needed, in bounded memory.

use std::borrow::Cow;

use lol_html::{ElementContentHandlers, HtmlRewriter, MemorySettings, Selector, Settings};

/// What the parser may hold at once, in bytes: the longest tag, in the main.
const MAX_MEMORY: usize = 256 * 1024;
/// So much of a page is parsed at once.
const PIECE: usize = 8 * 1024;

/// A selector, and what is done with an element that it matches; an error ends the reading.
pub(super) type Handler<'h> = (Cow<'h, Selector>, ElementContentHandlers<'h>);

/// Goes through a page until its end, or until a handler has seen enough.
pub(super) fn read(page: &[u8], handlers: Vec<Handler<'_>>) {
    let memory = MemorySettings::new()
        .with_preallocated_parsing_buffer_size(1024)
        .with_max_allowed_memory_usage(MAX_MEMORY);
    let mut settings = Settings::new()
        .with_memory_settings(memory)
        .with_strict(false);
    for handler in handlers {
        settings = settings.append_element_content_handler(handler);
    }
    let mut parser = HtmlRewriter::new(settings, |_: &[u8]| {});
    // What cannot be parsed, or would take too much memory, ends the page there.
    let _ = page.chunks(PIECE).try_for_each(|piece| parser.write(piece));
}

/// An attribute's value with the reference that addresses have in HTML; the parser leaves them as they stand.
pub(super) fn unescape(value: &str) -> String {
    let value = value.replace("&#38;", "&").replace("&#x26;", "&");
    value.replace("&amp;", "&")
}
