//! The subcommands, one file or folder each.

pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod headers;
pub(crate) mod man;
pub(crate) mod origin;
pub(crate) mod robots;
