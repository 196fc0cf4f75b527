//! The suites that every driver has to pass, so that all of them behave the same.
//!
//! [`host_store_conformance!`](crate::host_store_conformance) and
//! [`queue_conformance!`](crate::queue_conformance) make one test of each function here. Their argument
//! is an async function that opens an empty store, `Arc<dyn HostStore>` or `Arc<dyn Queue>`, and returns
//! it in a pair with whatever has to outlive it, and before it what each test is to be marked with, as
//! `#[ignore]`; `tests/memory.rs` is the least example. The calling crate needs tokio with `macros` and
//! `rt-multi-thread`.

pub mod host_store;
pub mod model;
pub mod queue;
pub mod queue_lease;
mod steps;

/// One `#[tokio::test]` for each function of [`conformance::host_store`](host_store).
#[macro_export]
macro_rules! host_store_conformance {
    ($(#[$attribute:meta])* $open:path) => {
        $crate::conformance_tests! { [$(#[$attribute])*] $open, host_store:
            an_absent_key_loads_as_none,
            what_was_swapped_in_is_loaded,
            a_swap_of_an_absent_key_creates_it_once,
            a_stale_version_conflicts_and_tells_what_is_there,
            a_removed_value_is_gone_and_its_versions_never_return,
            removing_what_has_changed_is_a_conflict,
            a_version_never_returns_when_other_keys_are_removed,
            keys_are_told_by_prefix_in_byte_order,
            any_key_and_value_within_bounds_is_kept,
            keys_and_values_out_of_bounds_are_invalid,
            sixteen_tasks_lose_no_swap,
            a_dropped_call_is_done_wholly_or_not_at_all,
        }
    };
}

/// One `#[tokio::test]` for each function of [`conformance::queue`](queue) and its neighbours.
#[macro_export]
macro_rules! queue_conformance {
    ($(#[$attribute:meta])* $open:path) => {
        $crate::conformance_tests! { [$(#[$attribute])*] $open, queue:
            an_empty_queue_has_nothing_to_tell,
            the_same_url_twice_is_one_url,
            a_url_is_handed_back_as_it_came,
            a_finished_url_is_counted_and_never_handed_out_again,
            the_first_end_of_a_url_stands,
            a_deferred_url_waits_for_its_instant_behind_the_others,
            a_retry_keeps_its_attempts_and_its_place,
            records_come_in_input_order_page_by_page,
            failed_urls_are_reopened_and_others_are_not,
            counts_are_kept_by_scope,
            small_values_are_kept_together,
        }
        $crate::conformance_tests! { [$(#[$attribute])*] $open, queue_lease:
            a_scope_has_one_worker_at_a_time,
            pages_follow_each_other_in_input_order,
            a_page_is_bounded_whatever_is_asked_for,
            scopes_come_up_in_the_order_of_their_instant,
            a_lease_ends_by_itself_and_its_urls_come_back,
            a_renewed_lease_goes_on,
            a_lost_lease_is_told_and_changes_nothing,
            a_parked_scope_counts_as_deferred_until_its_instant,
            a_url_added_to_a_leased_scope_is_handed_to_its_worker,
            urls_added_behind_deferred_ones_are_not_missed,
            taking_over_ends_the_leases_of_that_worker,
            a_dropped_call_leaves_no_lease_behind,
            sixteen_workers_finish_each_url_once,
        }
        $crate::conformance_tests! { [$(#[$attribute])*] $open, model:
            random_calls_are_answered_as_by_the_reference,
        }
    };
}

/// The tests behind the two macros above.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    ([$(#[$attribute:meta])*] $open:path, $suite:ident: $($name:ident,)+) => {
        $crate::conformance_tests! { @each [[$(#[$attribute])*]] $open, $suite: $($name,)+ }
    };
    (@each $attributes:tt $open:path, $suite:ident: $($name:ident,)+) => {
        $($crate::conformance_tests! { @one $attributes $open, $suite: $name })+
    };
    (@one [[$(#[$attribute:meta])*]] $open:path, $suite:ident: $name:ident) => {
            #[tokio::test]
            $(#[$attribute])*
            async fn $name() {
                let (store, _guard) = $open().await;
                $crate::conformance::$suite::$name(store).await;
            }
    };
}
