/* A wall clock that is ahead by CLOCK_AHEAD_S seconds, or behind: preloaded into a process as a library. Its
 * monotonic clock stays as it is, as on a machine whose time was set wrong. */

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time)
{
    int failed = syscall(SYS_clock_gettime, clock, time);
    const char *ahead = getenv("CLOCK_AHEAD_S");
    if (!failed && ahead && clock == CLOCK_REALTIME)
        time->tv_sec += atol(ahead);
    return failed;
}

int gettimeofday(struct timeval *time, void *zone)
{
    struct timespec now;
    int failed = clock_gettime(CLOCK_REALTIME, &now);
    (void)zone;
    if (!failed) {
        time->tv_sec = now.tv_sec;
        time->tv_usec = now.tv_nsec / 1000;
    }
    return failed;
}
