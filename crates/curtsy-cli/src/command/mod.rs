//! The subcommands, one file or folder each.

pub(crate) mod audit;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod explain;
pub(crate) mod fetch;
pub(crate) mod get;
pub(crate) mod headers;
pub(crate) mod job;
pub(crate) mod man;
pub(crate) mod origin;
pub(crate) mod paper;
pub(crate) mod plan;
pub(crate) mod robots;
pub(crate) mod simulate;
pub(crate) mod state;
