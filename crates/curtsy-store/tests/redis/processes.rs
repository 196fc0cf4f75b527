//! Several processes on one Redis: children are this test program again.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use curtsy_store::RedisStore;
use curtsy_store::conformance::host_store::{count, count_up};

use crate::server::Server;
use crate::state::open;

/// Where a child finds its Redis.
pub(crate) const URL: &str = "CURTSY_STORE_TEST_REDIS";

const PROCESSES: u64 = 4;
const TASKS: u64 = 16;
const SWAPS: u64 = 25;

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn four_processes_of_sixteen_tasks_lose_no_swap() {
    let server = Server::start(&[]);
    let children: Vec<Child> = (0..PROCESSES)
        .map(|_| spawn("processes::child_counts", &server))
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let counted = count(&open(&server).await, "scope:shared").await;
    assert_eq!(counted, PROCESSES * TASKS * SWAPS);
}

#[tokio::test]
#[ignore = "a child of four_processes_of_sixteen_tasks_lose_no_swap"]
async fn child_counts() {
    // By itself it has nothing to do.
    let Ok(url) = std::env::var(URL) else { return };
    let store = Arc::new(RedisStore::open(&url.parse().unwrap()).await.unwrap());
    let tasks: Vec<_> = (0..TASKS)
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

fn spawn(name: &str, server: &Server) -> Child {
    child(name).env(URL, server.url()).spawn().unwrap()
}

/// This program again, for this test alone.
pub(crate) fn child(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--ignored", "--exact", "--nocapture", name])
        .stdout(Stdio::null());
    command
}
