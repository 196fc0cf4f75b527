//! Several processes on one table: children are this test program again.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use curtsy_store::DynamoDbStore;
use curtsy_store::conformance::host_store::{count, count_up};

use crate::server::{DYNALITE, MOTO, Server};
use crate::state::open_new;

/// With how many tasks a child counts, and in which table.
const TABLE: &str = "CURTSY_STORE_TEST_DYNAMODB";

const PROCESSES: u64 = 4;
const SWAPS: u64 = 2;

#[tokio::test]
#[ignore = "needs dynalite: ./test installs it and runs this"]
async fn four_processes_of_sixteen_tasks_lose_no_swap_on_dynalite() {
    assert_no_swap_is_lost(&DYNALITE, 16).await;
}

#[tokio::test]
#[ignore = "needs moto: ./test installs it and runs this"]
async fn four_processes_of_four_tasks_lose_no_swap_on_moto() {
    // Which takes seconds to answer when it is asked for more at once.
    assert_no_swap_is_lost(&MOTO, 4).await;
}

/// Their endpoint, too, is that of their environment.
async fn assert_no_swap_is_lost(server: &Server, tasks: u64) {
    let (store, table) = open_new(server).await;
    let children: Vec<Child> = (0..PROCESSES)
        .map(|_| {
            let mut child = Command::new(std::env::current_exe().unwrap());
            child
                .args(["--ignored", "--exact", "--nocapture"])
                .arg("processes::child_counts")
                .envs(server.environment())
                .env(TABLE, format!("{tasks} {table}"))
                .stdout(Stdio::null());
            child.spawn().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let counted = count(&store, "scope:shared").await;
    assert_eq!(counted, PROCESSES * tasks * SWAPS);
}

#[tokio::test]
#[ignore = "a child of the two above"]
async fn child_counts() {
    // By itself it has nothing to do.
    let Ok(told) = std::env::var(TABLE) else {
        return;
    };
    let (tasks, table) = told.split_once(' ').unwrap();
    let store = DynamoDbStore::open(&table.parse().unwrap()).await;
    let store = Arc::new(store.unwrap());
    let tasks: Vec<_> = (0..tasks.parse::<u64>().unwrap())
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                for _ in 0..SWAPS {
                    count_up(&*store, "scope:shared").await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}
