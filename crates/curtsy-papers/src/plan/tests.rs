use proptest::prelude::*;

use super::*;
use crate::endpoint::Endpoints;
use crate::source::HostType;

const DOI: &str = "10.5555/curtsy.2024.0042";

fn plan_with(id: &str, wishes: Wishes) -> Plan {
    let doors = Doors::new(&Endpoints::default());
    Plan::new(id.parse().unwrap(), Arc::new(wishes), Arc::new(doors))
}

fn plan(id: &str) -> Plan {
    plan_with(id, Wishes::default())
}

fn pdf(url: &str) -> Location {
    Location::pdf(url.parse().unwrap(), SourceId::Unpaywall)
}

fn found(open: bool, locations: Vec<Location>) -> Answer<Finding> {
    Answer::Found(Finding {
        open: Some(open),
        locations,
        ..Finding::default()
    })
}

fn named(id: &str) -> Answer<Finding> {
    Answer::Found(Finding {
        ids: Ids::from(&id.parse().unwrap()),
        ..Finding::default()
    })
}

fn unavailable(reason: Reason, until: Option<u64>) -> Unavailable {
    Unavailable {
        reason,
        host: "api.example.org".to_owned(),
        status: Some(503),
        until: until.map(Timestamp::from_secs),
    }
}

fn miss(reason: Reason, host: &str) -> Miss {
    Miss {
        reason,
        host: host.to_owned(),
        status: Some(403),
        until: None,
    }
}

/// Answers the sources in the order in which they are asked, until a copy is to be fetched or the end.
fn ask_all(
    plan: &mut Plan,
    answer: impl Fn(SourceId) -> Answer<Finding>,
) -> (Vec<&'static str>, Step) {
    let mut asked = Vec::new();
    loop {
        match plan.next() {
            Step::Ask(question) => {
                asked.push(question.source().label());
                plan.answered(&question, answer(question.source()));
            }
            step => return (asked, step),
        }
    }
}

fn needs_key(source: SourceId) -> bool {
    matches!(source, SourceId::OpenAlex | SourceId::SemanticScholar)
}

fn end(step: Step) -> Verdict {
    match step {
        Step::End(verdict) => verdict,
        step => panic!("{step:?}"),
    }
}

#[test]
fn a_paper_on_arxiv_is_fetched_without_a_question() {
    for id in ["arXiv:2401.99999v2", "10.48550/arXiv.2401.99999"] {
        let Step::Fetch(location) = plan(id).next() else {
            panic!("{id}")
        };
        assert!(
            location
                .url
                .as_str()
                .starts_with("https://arxiv.org/pdf/2401.99999")
        );
    }
}

#[test]
fn a_paper_in_pubmed_central_takes_three_questions_and_one_fetch() {
    let mut plan = plan(DOI);
    let copy = Location {
        source: SourceId::PmcCloud,
        ..pdf("https://bucket.example/PMC9.2/PMC9.2.pdf")
    };
    let asked: Vec<Question> = std::iter::from_fn(|| match plan.next() {
        Step::Ask(question) => {
            let answer = match question {
                Question::Convert(_) => named("PMC9"),
                Question::PmcVersions(_) => named("PMC9.2"),
                _ => found(true, vec![copy.clone()]),
            };
            plan.answered(&question, answer);
            Some(question)
        }
        _ => None,
    })
    .collect();
    let pmcid = |text: &str| text.parse::<Pmcid>().unwrap();
    assert_eq!(
        asked,
        [
            Question::Convert(DOI.parse().unwrap()),
            Question::PmcVersions(pmcid("PMC9")),
            Question::PmcMetadata(pmcid("PMC9.2"))
        ]
    );
    assert_eq!(plan.next(), Step::Fetch(copy.clone()));
    plan.fetched(&copy);
    assert_eq!(end(plan.next()).outcome, Outcome::Pdf);
}

#[test]
fn a_version_that_is_given_is_the_one_that_is_asked_for() {
    let asked = plan("PMC9.1").next();
    assert_eq!(
        asked,
        Step::Ask(Question::PmcMetadata("PMC9.1".parse().unwrap()))
    );
}

#[test]
fn sources_are_asked_in_their_order_until_one_has_a_copy() {
    let mut plan = plan(DOI);
    let publisher = pdf("https://journal.example.org/a.pdf");
    let repository = Location {
        host_type: Some(HostType::Repository),
        ..pdf("https://repo.example.edu/a.pdf")
    };
    let both = vec![publisher.clone(), repository.clone()];
    let (asked, step) = ask_all(&mut plan, |source| match source {
        SourceId::Unpaywall => found(true, both.clone()),
        _ => Answer::NotFound,
    });
    assert_eq!(asked, ["idconv", "unpaywall"]);
    assert_eq!(
        step,
        Step::Fetch(repository.clone()),
        "walls are rarer there"
    );
    plan.missed(&repository, miss(Reason::Truncated, "repo.example.edu"));
    assert_eq!(plan.next(), Step::Fetch(publisher.clone()));
    plan.missed(&publisher, miss(Reason::Walled, "journal.example.org"));
    let (asked, step) = ask_all(&mut plan, |source| match needs_key(source) {
        true => Answer::Unavailable(unavailable(Reason::NeedsKey, None)),
        false => Answer::NotFound,
    });
    assert_eq!(
        asked,
        [
            "europepmc",
            "openalex",
            "semanticscholar",
            "crossref",
            "datacite",
            "landing-page"
        ]
    );
    let verdict = end(step);
    assert_eq!(
        (verdict.outcome, verdict.reason),
        (Outcome::Failed, Some(Reason::Walled))
    );
    assert_eq!(
        verdict.retry,
        Some(Retry::Later),
        "the other copy may be whole another time"
    );
    assert_eq!(
        plan.not_asked(),
        [SourceId::OpenAlex, SourceId::SemanticScholar]
    );
}

#[test]
fn a_paper_is_closed_only_where_all_that_were_asked_have_answered() {
    for (failing, reason, retry) in [
        (None, Reason::Closed, Retry::Never),
        (
            Some((SourceId::EuropePmc, Reason::ServerError)),
            Reason::Unavailable,
            Retry::Later,
        ),
        (
            Some((SourceId::OpenAlex, Reason::NeedsKey)),
            Reason::Closed,
            Retry::Never,
        ),
        (
            Some((SourceId::OpenAlex, Reason::RateLimited)),
            Reason::Unavailable,
            Retry::Later,
        ),
    ] {
        let mut plan = plan(DOI);
        let (_, step) = ask_all(&mut plan, |source| match failing {
            Some((failing, reason)) if failing == source => {
                Answer::Unavailable(unavailable(reason, None))
            }
            _ if source == SourceId::Unpaywall => found(false, Vec::new()),
            _ => Answer::NotFound,
        });
        let verdict = end(step);
        assert_eq!(
            (verdict.reason, verdict.retry),
            (Some(reason), Some(retry)),
            "{failing:?}"
        );
    }
}

#[test]
fn only_the_registry_says_that_a_doi_does_not_exist() {
    for (answer, reason) in [
        (Answer::NotFound, Reason::UnknownId),
        (Answer::Found(Finding::default()), Reason::Closed),
        (
            Answer::Unavailable(unavailable(Reason::Timeout, None)),
            Reason::Unavailable,
        ),
    ] {
        let mut plan = plan("10.5555/nobody");
        let (asked, step) = ask_all(&mut plan, |source| match source {
            SourceId::DoiRegistry => answer.clone(),
            _ => Answer::NotFound,
        });
        assert_eq!(asked.last(), Some(&"doi"));
        assert_eq!(end(step).reason, Some(reason));
    }
}

#[test]
fn a_wait_beyond_patience_lets_the_others_go_on_and_ends_the_paper_as_deferred() {
    let mut plan = plan(DOI);
    let (asked, step) = ask_all(&mut plan, |source| match source {
        SourceId::Unpaywall => Answer::Unavailable(unavailable(Reason::RateLimited, Some(54_000))),
        SourceId::EuropePmc => Answer::Unavailable(unavailable(Reason::RateLimited, Some(9_000))),
        _ => Answer::NotFound,
    });
    assert!(asked.contains(&"crossref"), "{asked:?}");
    let verdict = end(step);
    assert_eq!(verdict.outcome, Outcome::Deferred);
    assert_eq!(verdict.until(), Some(Timestamp::from_secs(9_000)));
}

#[test]
fn a_host_that_refuses_one_copy_is_asked_for_no_other_of_the_paper() {
    let mut plan = plan(DOI);
    let (one, other) = (
        pdf("https://j.example/1.pdf"),
        pdf("https://j.example/2.pdf"),
    );
    let elsewhere = pdf("https://k.example/3.pdf");
    let all = vec![one.clone(), other, elsewhere.clone()];
    ask_all(&mut plan, |source| match source {
        SourceId::Unpaywall => found(true, all.clone()),
        _ => Answer::NotFound,
    });
    plan.missed(&one, miss(Reason::Walled, "j.example"));
    assert_eq!(plan.next(), Step::Fetch(elsewhere));
}

#[test]
fn a_refusal_after_a_redirect_closes_the_host_that_gave_it() {
    let mut plan = plan(DOI);
    let (one, other) = (
        pdf("https://a.example/1.pdf"),
        pdf("https://a.example/2.pdf"),
    );
    let all = vec![one.clone(), other.clone()];
    ask_all(&mut plan, |source| match source {
        SourceId::Unpaywall => found(true, all.clone()),
        _ => Answer::NotFound,
    });
    plan.missed(&one, miss(Reason::Walled, "far.example"));
    assert_eq!(plan.next(), Step::Fetch(other));
}

#[test]
fn a_landing_page_is_asked_for_only_where_the_work_is_called_open() {
    for (open, try_landing, asked_for) in [
        (true, false, true),
        (false, false, false),
        (false, true, true),
    ] {
        let wishes = Wishes {
            try_landing,
            ..Wishes::default()
        };
        let mut plan = plan_with(DOI, wishes);
        let (asked, step) = ask_all(&mut plan, |source| match source {
            SourceId::Unpaywall => found(open, Vec::new()),
            _ => Answer::NotFound,
        });
        assert_eq!(asked.contains(&"landing-page"), asked_for);
        let reason = if open { Reason::NoPdf } else { Reason::Closed };
        assert_eq!(end(step).reason, Some(reason));
    }
}

#[test]
fn a_pmid_leads_to_its_doi_before_anybody_is_asked_by_doi() {
    let mut plan = plan("39900042");
    let (asked, _) = ask_all(&mut plan, |source| match source {
        SourceId::EuropePmc => named(DOI),
        _ => Answer::NotFound,
    });
    assert_eq!(asked[..3], ["idconv", "europepmc", "unpaywall"]);
}

#[test]
fn a_short_doi_is_resolved_before_all_else() {
    let mut plan = plan("10/abc12");
    let (asked, _) = ask_all(&mut plan, |source| match source {
        SourceId::DoiRegistry => named(DOI),
        _ => Answer::NotFound,
    });
    assert_eq!(asked[..2], ["doi", "idconv"]);
    assert_eq!(plan.ids().doi.as_ref().unwrap().as_str(), DOI);
}

#[test]
fn an_answer_about_another_work_is_none() {
    let mut plan = plan(DOI);
    let (_, step) = ask_all(&mut plan, |source| match source {
        SourceId::Unpaywall => Answer::Found(Finding {
            ids: Ids::from(&"10.5555/other".parse().unwrap()),
            locations: vec![pdf("https://j.example/other.pdf")],
            ..Finding::default()
        }),
        _ => Answer::NotFound,
    });
    assert_eq!(end(step).reason, Some(Reason::UnknownId));
}

#[test]
fn pages_that_programs_may_not_ask_for_become_the_doors_that_they_may() {
    let mut plan = plan(DOI);
    let page = pdf("https://www.ncbi.nlm.nih.gov/pmc/articles/PMC9900042/pdf/main.pdf");
    let (asked, step) = ask_all(&mut plan, |source| match source {
        SourceId::Unpaywall => found(true, vec![page.clone()]),
        _ => Answer::NotFound,
    });
    assert_eq!(asked, ["idconv", "unpaywall"]);
    let Step::Fetch(copy) = step else {
        panic!("a copy")
    };
    assert_eq!(
        copy.url.as_str(),
        "https://europepmc.org/articles/PMC9900042?pdf=render"
    );
    plan.missed(&copy, miss(Reason::NotPdf, "europepmc.org"));
    assert!(matches!(plan.next(), Step::Ask(Question::PmcVersions(_))));
}

#[test]
fn licences_retractions_and_preferences_are_as_wished() {
    let licensed = |license: &str| Location {
        license: Some(license.to_owned()),
        ..pdf("https://j.example/a.pdf")
    };
    for (license, wanted, is_taken) in [
        ("cc-by", "CC BY", true),
        (
            "https://creativecommons.org/licenses/by/4.0/",
            "cc-by",
            true,
        ),
        ("cc-by-nc", "cc-by", false),
        ("CC0", "cc0", true),
    ] {
        let wishes = Wishes {
            licenses: vec![wanted.to_owned()],
            ..Wishes::default()
        };
        let mut plan = plan_with(DOI, wishes);
        let (_, step) = ask_all(&mut plan, |source| match source {
            SourceId::Unpaywall => found(true, vec![licensed(license)]),
            _ => Answer::NotFound,
        });
        match step {
            Step::Fetch(_) => assert!(is_taken, "{license}"),
            step => assert_eq!(
                (end(step).reason, is_taken),
                (Some(Reason::License), false),
                "{license}"
            ),
        }
    }
    let wishes = Wishes {
        skip_retracted: true,
        ..Wishes::default()
    };
    let mut plan = plan_with(DOI, wishes);
    let (_, step) = ask_all(&mut plan, |_| {
        Answer::Found(Finding {
            retracted: Some(true),
            ..Finding::default()
        })
    });
    assert_eq!(end(step).reason, Some(Reason::RetractedSkipped));
}

fn any_answer() -> impl Strategy<Value = Answer<Finding>> {
    let host = prop_oneof![Just("a.example"), Just("b.example"), Just("europepmc.org")];
    let location = (host, 0_u8..4, any::<bool>()).prop_map(|(host, number, is_page)| {
        let location = pdf(&format!("https://{host}/articles/PMC{}", number + 1));
        match is_page {
            true => Location::landing(location.url, SourceId::Unpaywall),
            false => location,
        }
    });
    let id = prop_oneof![
        Just(DOI),
        Just("PMC7"),
        Just("PMC7.3"),
        Just("12"),
        Just("2401.99999")
    ];
    prop_oneof![
        Just(Answer::NotFound),
        Just(Answer::Malformed("x")),
        Just(Answer::Unavailable(unavailable(Reason::Timeout, None))),
        Just(Answer::Unavailable(unavailable(
            Reason::RateLimited,
            Some(9)
        ))),
        (
            id,
            prop::collection::vec(location, 0..4),
            any::<Option<bool>>()
        )
            .prop_map(|(id, locations, open)| {
                Answer::Found(Finding {
                    ids: Ids::from(&id.parse().unwrap()),
                    locations,
                    open,
                    ..Finding::default()
                })
            }),
    ]
}

proptest! {
    #[test]
    fn whatever_is_answered_nobody_is_asked_twice_and_it_ends(
        id in prop_oneof![Just(DOI), Just("12"), Just("PMC7"), Just("PMC7.1"), Just("10/abc"), Just("2401.99999")],
        answers in prop::collection::vec(any_answer(), 40),
        misses in prop::collection::vec(prop_oneof![
            Just(Reason::Walled), Just(Reason::Truncated), Just(Reason::Network)], 64),
    ) {
        let (mut plan, mut steps) = (plan(id), Vec::new());
        let (mut answers, mut misses) = (answers.into_iter(), misses.into_iter());
        loop {
            let step = plan.next();
            prop_assert!(!steps.contains(&step), "{step:?} again");
            steps.push(step.clone());
            match step {
                Step::Ask(question) => plan.answered(&question, answers.next().unwrap()),
                Step::Fetch(location) => {
                    let host = location.url.host_str().unwrap();
                    plan.missed(&location, miss(misses.next().unwrap(), host));
                }
                Step::End(verdict) => {
                    prop_assert!(verdict.reason.is_some() && verdict.retry.is_some());
                    break;
                }
            }
        }
    }
}
