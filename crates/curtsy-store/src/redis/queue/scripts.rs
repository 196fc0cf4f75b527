//! The scripts, one for each call that changes something, and one that tells.

use std::sync::LazyLock;

use crate::redis::script::Script;

#[derive(Debug)]
pub(super) struct Scripts {
    pub(super) open: Script,
    pub(super) feed: Script,
    pub(super) enqueue: Script,
    pub(super) lease: Script,
    pub(super) more: Script,
    pub(super) renew: Script,
    pub(super) release: Script,
    pub(super) settle: Script,
    pub(super) reopen: Script,
    pub(super) take_over: Script,
    pub(super) tell: Script,
    pub(super) set_meta: Script,
    pub(super) cancel: Script,
}

pub(super) fn all() -> &'static Scripts {
    static ALL: LazyLock<Scripts> = LazyLock::new(|| Scripts {
        open: script(include_str!("open.lua")),
        feed: script(include_str!("feed.lua")),
        enqueue: script(include_str!("enqueue.lua")),
        lease: script(include_str!("lease.lua")),
        more: script(include_str!("more.lua")),
        renew: script(include_str!("renew.lua")),
        release: script(include_str!("release.lua")),
        settle: script(include_str!("settle.lua")),
        reopen: script(include_str!("reopen.lua")),
        take_over: script(include_str!("take_over.lua")),
        tell: script(include_str!("tell.lua")),
        set_meta: script(include_str!("set_meta.lua")),
        cancel: script(include_str!("cancel.lua")),
    });
    &ALL
}

fn script(body: &str) -> Script {
    Script::new(include_str!("common.lua"), body)
}
