use std::path::Path;
use std::time::Duration;

use clap::Parser as _;
use curtsy_core::Preset;

use super::*;
use crate::args::{Cli, Command, ConfigCommand};

/// What `config show` would show with this file, these variables and these options.
fn merge(file: &str, variables: &[(&str, &str)], flags: &[&str]) -> Result<Settings, Failure> {
    let arguments = ["curtsy", "config", "show"].iter().chain(flags);
    let cli = Cli::try_parse_from(arguments).map_err(|error| Failure::usage("flags", error))?;
    let Command::Config {
        command: ConfigCommand::Show(args),
    } = cli.command
    else {
        panic!("config show");
    };
    let config = Config::parse(Path::new("curtsy.toml"), file)?;
    let environment = Environment::of(
        variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned()))),
    );
    let flags = Flags {
        global: &cli.global,
        options: &args.options,
        json: false,
    };
    Settings::merge(flags, &environment, Some(&config))
}

fn complaint(file: &str, variables: &[(&str, &str)], flags: &[&str]) -> String {
    match merge(file, variables, flags) {
        Ok(_) => "no complaint".to_owned(),
        Err(failure) => failure.text().to_owned(),
    }
}

fn source<'a>(settings: &'a [Setting], key: &str) -> &'a Source {
    &settings
        .iter()
        .find(|setting| setting.key == key)
        .unwrap()
        .source
}

#[test]
fn a_flag_wins_over_the_environment_and_that_over_the_file_and_that_over_the_default() {
    let file = "[policy]\nburst = 3\n";
    let variables = [("CURTSY_BURST", "4")];
    for (file, variables, flags, burst, from) in [
        ("", &[][..], &[][..], 5, Source::Default),
        (
            file,
            &[],
            &[],
            3,
            Source::File {
                section: "policy".to_owned(),
                line: 2,
            },
        ),
        (
            file,
            &variables,
            &[],
            4,
            Source::Environment("CURTSY_BURST".to_owned()),
        ),
        (
            file,
            &variables,
            &["--burst", "6"],
            6,
            Source::Flag("--burst"),
        ),
        ("", &[("CURTSY_BURST", "")], &[], 5, Source::Default),
    ] {
        let settings = merge(file, variables, flags).unwrap();
        assert_eq!(
            settings.policy.burst, burst,
            "{file:?} {variables:?} {flags:?}"
        );
        assert_eq!(source(&settings.shown.policy, "burst"), &from);
    }
}

#[test]
fn what_the_preset_sets_is_told_to_come_from_it() {
    let settings = merge(
        "[policy]\npreset = 'http_client'\nmax_retries = 1",
        &[],
        &[],
    )
    .unwrap();
    assert_eq!(settings.policy.preset, Preset::HttpClient);
    assert_eq!(
        settings.policy.default_retry_after,
        Some(Duration::from_secs(60))
    );
    let shown = &settings.shown.policy;
    assert_eq!(
        source(shown, "default_retry_after"),
        &Source::Preset(Preset::HttpClient)
    );
    assert_eq!(source(shown, "max_retries").line(), Some(3));

    let unset = merge(
        "",
        &[],
        &["--preset", "http_client", "--default-retry-after", "none"],
    );
    assert_eq!(unset.unwrap().policy.default_retry_after, None);
}

#[test]
fn the_seeds_names_are_understood() {
    let file = "[policy]\nmax_retry_after_s = 30\ndefault_retry_after_s = 7.5\nbackoff_base_s = 2\n\
                backoff_max_s = 90\nbackoff_decay_s = 0.5\nrate_limit_min_s = 2\nrate_limit_max_s = 4\n\
                delay_min_s = 1\ndelay_max_s = 5\nrespect_robots_txt = false\nsuppress_on_403 = false\n\
                polite_mode = true\nhonor_retry_after = false\n[fetch]\nverbosity = 3\nuser_agent = 'x/1'\n";
    let settings = merge(file, &[], &[]).unwrap();
    let policy = settings.policy.values();
    let seconds = Duration::from_secs_f64;
    assert_eq!(policy.max_retry_after, seconds(30.0));
    assert_eq!(policy.default_retry_after, Some(seconds(7.5)));
    assert_eq!(
        (policy.backoff_base, policy.backoff_max),
        (seconds(2.0), seconds(90.0))
    );
    assert_eq!(policy.backoff_decay, seconds(0.5));
    assert_eq!(
        (policy.rate_limit.min(), policy.rate_limit.max()),
        (seconds(2.0), seconds(4.0))
    );
    let delay = policy.delay.unwrap();
    assert_eq!((delay.min(), delay.max()), (seconds(1.0), seconds(5.0)));
    assert!(!policy.respect_robots && !policy.honor_retry_after && policy.polite);
    assert_eq!(policy.suppress_after, None);
    assert_eq!(settings.fetch.verbosity, 3);
    assert_eq!(settings.fetch.user_agent.as_str(), "x/1");
}

#[test]
fn a_delay_comes_whole_from_the_highest_layer_that_has_one() {
    for (file, variables, flags, expected) in [
        (
            "[policy]\ndelay_min = 2",
            &[][..],
            &[][..],
            Some((2_000, 6_000)),
        ),
        ("[policy]\ndelay_max = '4s'", &[], &[], Some((0, 4_000))),
        (
            "[policy]\ndelay_min = 2",
            &[("CURTSY_DELAY_MAX", "1")],
            &[],
            Some((0, 1_000)),
        ),
        (
            "[policy]\ndelay = '1..5'",
            &[],
            &["--delay", "..4"],
            Some((0, 4_000)),
        ),
        ("[policy]\ndelay = 3", &[], &["--delay", "off"], None),
    ] {
        let settings = merge(file, variables, flags).unwrap();
        let delay = settings
            .policy
            .delay
            .map(|delay| (delay.min().as_millis(), delay.max().as_millis()));
        assert_eq!(delay, expected, "{file:?} {variables:?} {flags:?}");
    }
}

#[test]
fn p3_a_rate_above_the_default_ceiling_raises_it_and_one_above_a_given_ceiling_is_an_error() {
    let settings = merge("", &[], &["--rate", "20"]).unwrap();
    assert_eq!(settings.policy.clamp_rate(1e9), 20.0);
    let complaint = complaint("", &[], &["--rate", "20", "--max-rate", "10"]);
    assert_eq!(
        complaint,
        "--rate: is above max_rate; raise max_rate or lower rate"
    );
    let low = merge("", &[], &["--max-rate", "0.05"]).unwrap();
    assert_eq!(
        low.policy.min_rate, 0.05,
        "the floor that nobody set gives way"
    );
}

#[test]
fn the_end_of_the_guessed_interval_that_nobody_set_gives_way() {
    let range = |file| {
        let range = merge(file, &[], &[]).unwrap().policy.rate_limit;
        (range.min().as_secs(), range.max().as_secs())
    };
    assert_eq!(range("[policy]\nrate_limit_min = 7"), (7, 7));
    assert_eq!(range("[policy]\nrate_limit_max = 0"), (0, 0));
}

#[test]
fn timeout_and_per_host_may_stand_in_either_section() {
    let file = "[policy]\ntimeout = 5\n[fetch]\ntimeout = 6\nper_host = 7";
    let settings = merge(file, &[], &[]).unwrap();
    assert_eq!(settings.policy.timeout, Duration::from_secs(5));
    assert_eq!(settings.policy.per_host, 7);
}

#[test]
fn a_scope_has_its_own_policy_over_the_common_one() {
    let file = "[policy]\nburst = 3\nrate = 4\n[scopes.\"Example.org:443\"]\nrate = 1\ntos_cap = 0.5\n\
                [scopes.\"example.org:8080\"]\nprofile = 'openalex'\n";
    let settings = merge(file, &[], &["--max-retries", "9"]).unwrap();
    let policy = &settings.scopes[&Scope::named("example.org")];
    assert_eq!(
        (policy.rate, policy.burst, policy.tos_cap),
        (Some(1.0), 3, Some(0.5))
    );
    assert_eq!((policy.max_retries, settings.policy.rate), (9, Some(4.0)));
    assert_eq!(
        settings.profiles[&Scope::named("example.org:8080")],
        Profile::OpenAlex
    );
    let shown: Vec<_> = settings.shown.scopes[0]
        .1
        .iter()
        .map(|setting| setting.key)
        .collect();
    assert_eq!(shown, ["rate", "tos_cap"]);
    let flag = merge(file, &[], &["--rate", "2"]).unwrap();
    let policy = &flag.scopes[&Scope::named("example.org")];
    assert_eq!((policy.rate, policy.tos_cap), (Some(2.0), Some(0.5)));
}

#[test]
fn the_hosts_of_a_group_share_its_policy() {
    let file = "[scopes.\"a.example\"]\ngroup = 'mirrors'\n[scopes.\"b.example\"]\ngroup = 'mirrors'\n\
                [scopes.mirrors]\nrate = 1\n";
    let settings = merge(file, &[], &[]).unwrap();
    let group = Scope::named("mirrors");
    assert_eq!(settings.groups[&Scope::named("a.example")], group);
    assert_eq!(settings.groups[&Scope::named("b.example")], group);
    assert_eq!(settings.scopes[&group].rate, Some(1.0));
    assert!(!settings.scopes.contains_key(&Scope::named("a.example")));
}

#[test]
fn a_list_of_the_command_line_replaces_the_files() {
    let file = "[fetch]\nheader = ['A: b', 'C: d']\nresolve = 'a.example:80:127.0.0.1'";
    let settings = merge(file, &[], &[]).unwrap();
    assert_eq!(
        (settings.fetch.headers.len(), settings.fetch.resolve.len()),
        (2, 1)
    );
    let settings = merge(file, &[], &["-H", "E: f"]).unwrap();
    assert_eq!(
        (settings.fetch.headers.len(), settings.fetch.resolve.len()),
        (1, 1)
    );
    let variables = [("CURTSY_HEADER", "A: b, c\nD: e")];
    assert_eq!(merge("", &variables, &[]).unwrap().fetch.headers.len(), 2);
}

#[test]
fn some_defaults_follow_other_settings() {
    let settings = merge("", &[], &["--max-retry-after", "1m", "-o", "x"]).unwrap();
    assert_eq!(settings.fetch.max_wait, Duration::from_secs(60));
    assert_eq!(settings.fetch.audit, Path::new("x/.curtsy/audit.jsonl"));
    for (flags, verbosity) in [
        (&["-q"][..], 0),
        (&[], 1),
        (&["-v"], 2),
        (&["-vv"], 3),
        (&["-vvvv"], 3),
    ] {
        assert_eq!(
            merge("", &[], flags).unwrap().fetch.verbosity,
            verbosity,
            "{flags:?}"
        );
    }
}

#[test]
fn a_mistake_in_the_file_is_told_with_its_line_and_the_nearest_key() {
    for (file, expected) in [
        (
            "[policy]\n\nraet = 2",
            "curtsy.toml:3: unknown key raet; did you mean rate?",
        ),
        (
            "[fetch]\nconcurency = 2",
            "curtsy.toml:2: unknown key concurency; did you mean concurrency?",
        ),
        (
            "[policy]\ncolour = 2",
            "curtsy.toml:2: unknown key colour; `curtsy config show` lists all keys",
        ),
        (
            "[policy]\nconcurrency = 2",
            "curtsy.toml:2: concurrency belongs in [fetch]",
        ),
        (
            "[fetch]\nrate = 2",
            "curtsy.toml:2: rate belongs in [policy]",
        ),
        ("rate = 2", "curtsy.toml:1: rate belongs in [policy]"),
        ("cacert = 'x'", "curtsy.toml:1: cacert belongs in [fetch]"),
        (
            "raet = 2",
            "curtsy.toml:1: unknown key raet; did you mean rate?",
        ),
        (
            "[policy]\nrate = 0",
            "curtsy.toml:2: rate: must be above 0 and at most 1000000 per second",
        ),
        (
            "[policy]\nrate = 'fast'",
            "curtsy.toml:2: rate: \"fast\" is no number",
        ),
        (
            "[policy]\nrate = nan",
            "curtsy.toml:2: rate: \"nan\" is no number",
        ),
        (
            "[policy]\nrate = [1]",
            "curtsy.toml:2: rate: takes one value, not a list",
        ),
        (
            "[policy]\nburst = -1",
            "curtsy.toml:2: burst: \"-1\" is no whole number from 0 to 4294967295",
        ),
        (
            "[policy]\nper_host = 33",
            "curtsy.toml:2: per_host: must be from 1 to 32",
        ),
        (
            "[policy]\ntimeout = '2 weeks'",
            "curtsy.toml:2: timeout: \"2 weeks\" is no duration; write 1.5 (seconds), 500ms, 2m, 1h or 1d",
        ),
        (
            "[policy]\nbackoff_base = 2\nbackoff_max = 1",
            "curtsy.toml:3: backoff_max: is below backoff_base",
        ),
        (
            "[policy]\nbreaker_trip_after = 0",
            "curtsy.toml:2: breaker_trip_after: must be at least 1",
        ),
        (
            "[policy]\nrate_limit_min = 3\nrate_limit_max = 2",
            "curtsy.toml:2: rate_limit_min: is above rate_limit_max",
        ),
        (
            "[policy]\nretry_after_buffer = [0.1]",
            "curtsy.toml:2: retry_after_buffer: takes two shares, as [0.1, 0.15]",
        ),
        (
            "[policy]\nretry_after_buffer = [0.2, 0.1]",
            "curtsy.toml:2: retry_after_buffer: must be two shares in order, from 0 to 10",
        ),
        (
            "[policy]\nmax_retry_after = 1\nmax_retry_after_s = 1",
            "curtsy.toml:3: max_retry_after_s: is the same as max_retry_after, which is given too",
        ),
        (
            "[policy]\ndelay = 1\ndelay_min = 1",
            "curtsy.toml:3: delay_min: the delay is given twice",
        ),
        (
            "[policy]\ndelay_min = 5\ndelay_max = 1",
            "curtsy.toml:2: delay_min: the shortest delay is longer than the longest",
        ),
        (
            "[fetch]\nconcurrency = 0",
            "curtsy.toml:2: concurrency: must be from 1 to 10000",
        ),
        (
            "[fetch]\nmax_body = 0",
            "curtsy.toml:2: max_body: must be at least 1 byte",
        ),
        (
            "[fetch]\nstate = 'dynamodb://t'",
            "curtsy.toml:2: state: a table's name has 3 to 255 letters, digits, _, - and .; write dynamodb://TABLE",
        ),
        (
            "[fetch]\ncontact = 'me'",
            "curtsy.toml:2: contact: \"me\" is no mail address; write name@example.org",
        ),
        (
            "[fetch]\nheader = ['Host: x']",
            "curtsy.toml:2: header: the header Host is written by curtsy itself",
        ),
        (
            "[fetch]\nverbosity = 4",
            "curtsy.toml:2: verbosity: must be from 0 to 3",
        ),
        (
            "[scopes.\"https://example.org/\"]",
            "curtsy.toml:1: \"https://example.org/\" is no scope; write example.org or example.org:8080",
        ),
        (
            "[scopes.\"example.org\"]\nrate = 0",
            "curtsy.toml:2: rate: must be above 0 and at most 1000000 per second",
        ),
        (
            "[scopes.\"example.org\"]\nprofil = 'x'",
            "curtsy.toml:2: unknown key profil; did you mean profile?",
        ),
        (
            "[scopes.\"example.org\"]\nprofile = 'x'",
            "curtsy.toml:2: profile: \"x\" is none of discord-v6, openalex, prisjakt",
        ),
        (
            "[scopes.\"example.org\"]\n[scopes.\"EXAMPLE.org:80\"]",
            "curtsy.toml:2: EXAMPLE.org:80: line 1 is about this scope already",
        ),
        (
            "[scopes.\"a.example\"]\ngroup = 'g'\nrate = 2",
            "curtsy.toml:3: rate: a group is paced as one; write it in [scopes.\"g\"]",
        ),
        (
            "[scopes.\"a.example\"]\ngroup = 'g'\n[scopes.g]\ngroup = 'h'",
            "curtsy.toml:1: a.example: its group g is itself in a group",
        ),
        (
            "[policy]\ngroup = 'g'",
            "curtsy.toml:2: unknown key group; ",
        ),
    ] {
        let complaint = complaint(file, &[], &[]);
        assert!(
            complaint.starts_with(expected),
            "{file:?}\n  {complaint}\n  {expected}"
        );
    }
}

#[test]
fn a_mistake_in_the_environment_is_told_with_its_variable() {
    for (variable, value, expected) in [
        ("CURTSY_RATE", "fast", "CURTSY_RATE: \"fast\" is no number"),
        (
            "CURTSY_RATE",
            "-1",
            "CURTSY_RATE: must be above 0 and at most 1000000 per second",
        ),
        (
            "CURTSY_MAX_RETRY_AFTER_S",
            "x",
            "CURTSY_MAX_RETRY_AFTER_S: \"x\" is no duration; ",
        ),
        (
            "CURTSY_CONCURRENCY",
            "0",
            "CURTSY_CONCURRENCY: must be from 1 to 10000",
        ),
    ] {
        let complaint = complaint("", &[(variable, value)], &[]);
        assert!(complaint.starts_with(expected), "{complaint}");
    }
}

#[test]
fn a_variable_that_looks_misspelt_is_a_warning_and_others_are_let_be() {
    let variables = [
        ("CURTSY_RAET", "2"),
        ("CURTSY_LAB", "/x"),
        ("CURTSY_CONFIG", "x"),
        ("OTHER", "1"),
    ];
    let settings = merge("", &variables, &[]).unwrap();
    assert_eq!(
        settings.warnings,
        ["CURTSY_RAET: unknown; did you mean CURTSY_RATE?"]
    );
}

#[test]
fn no_bodies_and_a_file_of_them_are_not_asked_for_at_once() {
    let file = "[fetch]\nno_body = true\n";
    let said = complaint(file, &[("CURTSY_WARC", "a.warc.gz")], &[]);
    assert!(
        said.contains("no_body") && said.contains("one of the two"),
        "{said}"
    );
    let said = complaint("", &[], &["--no-body", "--warc", "a.warc.gz"]);
    assert!(said.contains("cannot be used with"), "{said}");
    for flags in [&["--warc", "a.warc.gz"][..], &["--no-body"]] {
        assert!(merge("", &[], flags).is_ok(), "{flags:?}");
    }
}

#[test]
fn alerts_have_a_section_of_their_own_where_their_keys_may_be_short() {
    let file = "[alerts]\nwebhook = 'https://hooks.example/x'\ncommand = ['mail', '-s', 'a b']\nsustained = '5m'\n";
    let settings = merge(file, &[("CURTSY_ALERT_COOL_DOWN", "1h")], &[]).unwrap();
    let alerts = &settings.alerts;
    assert_eq!(
        alerts.webhook.as_ref().unwrap().as_str(),
        "https://hooks.example/x"
    );
    assert_eq!(alerts.command.as_ref().unwrap().0, ["mail", "-s", "a b"]);
    assert_eq!(alerts.rules.sustained, Duration::from_secs(300));
    assert_eq!(alerts.rules.cool_down, Duration::from_secs(3600));
    let flags = ["--alert-webhook", "http://other.example/"];
    let flagged = merge(file, &[], &flags).unwrap();
    assert_eq!(
        flagged.alerts.webhook.unwrap().as_str(),
        "http://other.example/"
    );
    for (file, flags, expected) in [
        (
            "[fetch]\nalert_webhook = 'x'",
            &[][..],
            "curtsy.toml:2: alert_webhook belongs in [alerts]",
        ),
        (
            "[alerts]\nmetrics = 1",
            &[],
            "curtsy.toml:2: metrics belongs in [fetch]",
        ),
        (
            "[alerts]\nwebhok = 1",
            &[],
            "curtsy.toml:2: unknown key webhok; did you mean webhook?",
        ),
        (
            "[alerts]\nsustained = '2d'",
            &[],
            "curtsy.toml:2: alert_sustained: must be at most 1 day",
        ),
        (
            "",
            &["--metrics", "9464", "--dashboard", "9464"],
            "--dashboard: needs another port than metrics",
        ),
    ] {
        assert_eq!(complaint(file, &[], flags), expected, "{file}");
    }
}

#[test]
fn a_token_is_no_flag_and_is_not_shown() {
    let token = "0123456789abcdef";
    let settings = merge("", &[("CURTSY_DASHBOARD_TOKEN", token)], &[]).unwrap();
    let shown = settings
        .shown
        .fetch
        .iter()
        .find(|setting| setting.key == "dashboard_token");
    assert_eq!(shown.unwrap().value, "***");
    assert!(merge("", &[], &["--dashboard-token", token]).is_err());
    let short = complaint("[fetch]\ndashboard_token = 'secret'", &[], &[]);
    assert_eq!(
        short,
        "curtsy.toml:2: dashboard_token: must have at least 16 characters"
    );
}
