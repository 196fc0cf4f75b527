//! What this process knows of one scope: the state with all changes made here, of which the last may still
//! be on their way to the store.
//!
//! A change is made here first, and those that come while another is being stored are stored together
//! after it, in one swap. Who made one waits until it stands. Where the store held something else, or
//! failed, all that did not stand yet is void, and is made anew on what is there now.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use curtsy_core::audit::{Because, Noted, StateRead, Turn};
use curtsy_core::{HostState, Permit, Timestamp};
use curtsy_store::Version;

/// Changes that are stored together: whether they stand, once that is known.
pub(crate) type Batch = Arc<OnceLock<bool>>;

/// What is known of a scope, and what is still to be stored of it.
#[derive(Default)]
pub(super) struct Record {
    kept: Option<Kept>,
    /// Grows with every change of the state, so that who decided on an older one notices.
    mark: u64,
    /// The changes that nobody has begun to store.
    open: Batch,
    /// The departures that are permitted and have not left.
    leaving: Option<Leaving>,
    course: Course,
}

/// The changes in their order, for the audit log: a replay makes them again.
#[derive(Default)]
struct Course {
    /// The last change with a line of its own.
    turn: u64,
    /// The last one of those that are being stored, and of those that stand.
    begun: u64,
    stands: u64,
    /// The changes since the last turn that have no line of their own.
    noted: Vec<Noted>,
    /// Turns whose line nobody is there to write.
    untold: Vec<u64>,
    /// Why the next line must tell the state that it is about.
    tells: Option<Because>,
    /// The turn before the first.
    before: u64,
}

struct Kept {
    /// The version in the store that all stored changes have led to.
    version: Version,
    state: HostState,
}

/// Departures that were permitted at one instant, and are stored together.
struct Leaving {
    at: Timestamp,
    batch: Batch,
    /// How many of them have not left yet.
    number: usize,
    /// By when they leave, as the store was told.
    told: Option<Timestamp>,
}

/// What is to be stored, and the changes that it holds.
pub(super) struct Begun<'a> {
    pub(super) batch: Batch,
    pub(super) version: Version,
    pub(super) state: Cow<'a, HostState>,
}

/// The state as this process knows it.
pub(crate) struct Known<'a> {
    pub(crate) mark: u64,
    pub(crate) state: &'a HostState,
    pub(crate) ahead: Ahead,
}

/// Which departures have been permitted and have not left. What follows is measured from when they really
/// leave, so that it is not permitted before.
#[derive(Clone, Copy)]
pub(crate) enum Ahead {
    /// None.
    Nobody,
    /// Some that nobody has begun to store: what may depart at the same instant is stored with them.
    Joinable(Timestamp),
    /// Some that are waited for.
    OnTheirWay,
}

impl Record {
    /// Nothing is known; the first turn is the one after `turn`.
    pub(super) fn after(turn: u64) -> Self {
        Self {
            course: Course {
                turn,
                begun: turn,
                stands: turn,
                before: turn,
                ..Course::default()
            },
            ..Self::default()
        }
    }

    /// The last turn.
    pub(super) fn turn(&self) -> u64 {
        self.course.turn
    }

    pub(super) fn known(&self) -> Option<Known<'_>> {
        self.state().map(|state| Known {
            mark: self.mark,
            state,
            ahead: match &self.leaving {
                None => Ahead::Nobody,
                Some(leaving) if Arc::ptr_eq(&leaving.batch, &self.open) => {
                    Ahead::Joinable(leaving.at)
                }
                Some(_) => Ahead::OnTheirWay,
            },
        })
    }

    pub(super) fn state(&self) -> Option<&HostState> {
        self.kept.as_ref().map(|kept| &kept.state)
    }

    /// The version in the store that is known.
    pub(super) fn version(&self) -> Option<Version> {
        self.kept.as_ref().map(|kept| kept.version)
    }

    /// Whether the state is still the one that had this mark.
    pub(super) fn is_at(&self, mark: u64) -> bool {
        self.kept.is_some() && self.mark == mark
    }

    /// Changes the state by what has a line of its own. The batch tells, in time, whether that stands.
    pub(super) fn change(&mut self, next: HostState) -> (Batch, Turn) {
        let turn = self
            .course
            .take_turn(self.kept.as_ref().map(|kept| &kept.state));
        (self.amend(|state| *state = next), turn)
    }

    /// Whether the store was told that those that are leaving leave at `at` or later.
    pub(super) fn has_told(&self, at: Timestamp) -> bool {
        let told = self.leaving.as_ref().and_then(|leaving| leaving.told);
        told.is_some_and(|told| at <= told)
    }

    /// Changes the state by what has none.
    pub(super) fn note(&mut self, noted: Noted, change: impl FnOnce(&mut HostState)) -> Batch {
        if self.kept.is_some() {
            self.course.noted.push(noted);
        }
        self.amend(change)
    }

    /// Nobody is there any more to write the line of this turn: the next line tells the state instead.
    pub(super) fn untold(&mut self, turn: &Turn) {
        let because = turn.read.as_ref().map(|read| read.because);
        let course = &mut self.course;
        if let Some(read) = &turn.read {
            course.untold.extend(&read.untold);
        }
        course.untold.push(turn.number);
        course.tells = course.tells.or(because).or(Some(Because::Untold));
    }

    /// Changes the state by a departure, which is to be told of by [`left`](Self::left).
    pub(super) fn depart(&mut self, permit: &Permit) -> (Batch, Turn) {
        let (batch, turn) = self.change(permit.state.clone());
        let leaving = self.leaving.get_or_insert_with(|| Leaving {
            at: permit.at,
            batch: Arc::clone(&batch),
            number: 0,
            told: None,
        });
        leaving.number += 1;
        (batch, turn)
    }

    /// A departure has left, or will not. Whether it was the last one.
    pub(super) fn left(&mut self) -> bool {
        if let Some(leaving) = &mut self.leaving {
            leaving.number -= 1;
        }
        self.leaving
            .take_if(|leaving| leaving.number == 0)
            .is_some()
    }

    /// Changes the state in place. Where nobody waits for the answer, it is stored with the next change.
    fn amend(&mut self, change: impl FnOnce(&mut HostState)) -> Batch {
        if let Some(kept) = &mut self.kept {
            change(&mut kept.state);
            self.mark += 1;
        }
        Arc::clone(&self.open)
    }

    /// The changes made so far, which are now being stored. Departures that have not left are stored as if they left
    /// at what `leave_by` says: others are measured from then, and need not be told when they really do before.
    pub(super) fn begin(
        &mut self,
        leave_by: impl FnOnce(&HostState) -> Timestamp,
    ) -> Option<Begun<'_>> {
        let kept = self.kept.as_ref()?;
        let mut state = Cow::Borrowed(&kept.state);
        if let Some(leaving) = &mut self.leaving {
            let told = leaving.told.get_or_insert_with(|| leave_by(&kept.state));
            state.to_mut().leaves_by(*told);
        }
        self.course.begun = self.course.turn;
        Some(Begun {
            batch: std::mem::take(&mut self.open),
            version: kept.version,
            state,
        })
    }

    /// What was begun is in the store, under this version.
    pub(super) fn stored(&mut self, version: Version) {
        if let Some(kept) = &mut self.kept {
            kept.version = version;
        }
        self.course.stands = self.course.begun;
    }

    /// The store holds this, or cannot tell (`None`): what does not stand yet is void.
    pub(super) fn replace(&mut self, found: Option<(Version, HostState)>) {
        // Nobody else has settled it, since it is still open.
        let _ = std::mem::take(&mut self.open).set(false);
        self.course.begin_anew();
        self.kept = found.map(|(version, state)| Kept { version, state });
        self.mark += 1;
    }
}

impl Course {
    fn take_turn(&mut self, state: Option<&HostState>) -> Turn {
        self.turn += 1;
        let because = self.tells.take();
        let read = because.zip(state).map(|(because, state)| {
            // What was noted since is part of it already.
            self.noted.clear();
            Box::new(StateRead {
                because,
                policy: 0,
                untold: std::mem::take(&mut self.untold),
                state: state.clone(),
            })
        });
        Turn {
            number: self.turn,
            noted: std::mem::take(&mut self.noted),
            read,
        }
    }

    /// What does not stand yet is void, and its turns are taken again by what comes.
    fn begin_anew(&mut self) {
        self.turn = self.stands;
        self.noted.clear();
        self.untold.retain(|turn| *turn <= self.stands);
        let is_met = self.stands > self.before && self.tells != Some(Because::Met);
        self.tells = Some(match is_met {
            true => Because::Changed,
            false => Because::Met,
        });
    }
}
