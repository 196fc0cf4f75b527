//! How servers are reached, what they are told, and where their state is kept.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use crate::value::{Contact, Header, Off, Proxy, Resolve, Size, StateUrl, UserAgent, read};

/// The options about connections and identity.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ConnectionArgs {
    /// Longest silence of a server; seconds, or with a unit as 500ms, 2m [default: 30s]
    #[arg(long, help_heading = "Connection", value_name = "DUR", value_parser = read::<Duration>)]
    pub(crate) timeout: Option<Duration>,
    /// Longest time to connect [default: 10s]
    #[arg(long, help_heading = "Connection", value_name = "DUR", value_parser = read::<Duration>)]
    pub(crate) connect_timeout: Option<Duration>,
    /// Longest time of a whole request [default: 10m]
    #[arg(long, help_heading = "Connection", value_name = "DUR", value_parser = read::<Duration>)]
    pub(crate) total_timeout: Option<Duration>,
    /// Largest body, in bytes after decoding, or with a unit as 500k, 10MiB [default: 1GiB]
    #[arg(long, help_heading = "Connection", value_name = "SIZE", value_parser = read::<Size>)]
    pub(crate) max_body: Option<Size>,
    /// Address to use for a host and port; may be given several times
    #[arg(
        long,
        help_heading = "Connection",
        value_name = "HOST:PORT:ADDR",
        value_parser = read::<Resolve>
    )]
    pub(crate) resolve: Vec<Resolve>,
    /// Trust only the certificate authorities of this PEM file [default: those of the system]
    #[arg(long, help_heading = "Connection", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) cacert: Option<PathBuf>,
    /// Proxy, http:// or https://, or none [default: as http_proxy, https_proxy, all_proxy and no_proxy say]
    #[arg(
        long,
        help_heading = "Connection",
        value_name = "URL",
        value_parser = read::<Proxy>,
        value_hint = ValueHint::Url
    )]
    pub(crate) proxy: Option<Proxy>,
    /// Let redirects lead from public hosts to loopback and private addresses
    #[arg(long, help_heading = "Connection")]
    pub(crate) allow_private: bool,
    /// User-Agent to send [default: curtsy/VERSION]
    #[arg(
        short = 'A',
        long,
        help_heading = "Identity",
        value_name = "TEXT",
        value_parser = read::<UserAgent>
    )]
    pub(crate) user_agent: Option<UserAgent>,
    /// Mail address at which sites can reach you; sent with each request [default: none]
    #[arg(
        long,
        alias = "email",
        help_heading = "Identity",
        value_name = "EMAIL",
        value_parser = read::<Contact>,
        value_hint = ValueHint::EmailAddress
    )]
    pub(crate) contact: Option<Contact>,
    /// Header to send to listed URLs, never with robots.txt; may be given several times
    #[arg(
        short = 'H',
        long,
        help_heading = "Identity",
        value_name = "NAME: VALUE",
        value_parser = read::<Header>
    )]
    pub(crate) header: Vec<Header>,
}

/// The options about the stored state.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StoreArgs {
    /// Where the state of scopes is kept: memory:, sqlite:PATH, or redis://HOST or
    /// dynamodb://TABLE which other machines may share (rediss:// for TLS) [default: sqlite: in the user's state directory]
    #[arg(long, global = true, help_heading = "State", value_name = "URL", value_parser = read::<StateUrl>)]
    pub(crate) state: Option<StateUrl>,
    /// Longest wait for a state store that is lost during a run [default: none, until it returns]
    #[arg(long, global = true, help_heading = "State", value_name = "DUR", value_parser = read::<Off<Duration>>)]
    pub(crate) store_timeout: Option<Off<Duration>>,
}
