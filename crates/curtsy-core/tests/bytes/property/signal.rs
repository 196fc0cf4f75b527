//! The reading of a whole response.

use curtsy_core::signal::{self, Profile, Signal};

use super::departure::assert_no_earlier_than_after_silence;
use super::response::Response;
use super::sane::assert_sane;

const PROFILES: [Option<Profile>; 4] = [
    None,
    Some(Profile::DiscordV6),
    Some(Profile::OpenAlex),
    Some(Profile::Prisjakt),
];

/// Any [`Response`], for any host: its reading is bounded and always the same, and a success that says
/// anything at all permits no earlier request than one that says nothing.
pub(crate) fn holds(bytes: &[u8]) {
    let response = Response::parse(bytes);
    for profile in PROFILES {
        let signal = read(&response, response.status, profile);
        assert_eq!(read(&response, response.status, profile), signal);
        assert_sane(&signal);
        let success = read(&response, 200, profile);
        assert_sane(&success);
        assert_no_earlier_than_after_silence(&success, response.received);
    }
}

fn read(response: &Response<'_>, status: u16, profile: Option<Profile>) -> Signal {
    signal::read(
        status,
        &response.headers,
        response.received,
        response.body,
        profile,
    )
}
