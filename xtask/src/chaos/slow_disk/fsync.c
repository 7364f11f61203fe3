// Loaded before the C library: every fsync and fdatasync takes as many milliseconds more as SLOW_FSYNC_MS says, and leaves a
// byte in the file SLOW_FSYNC_LOG.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int slowly(const char *name, int file) {
    const char *wait = getenv("SLOW_FSYNC_MS"), *log = getenv("SLOW_FSYNC_LOG");
    long ms = wait ? atol(wait) : 0;
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
    int seen = log ? open(log, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (seen >= 0) {
        if (write(seen, ".", 1) < 0) { /* only the count is one short */ }
        close(seen);
    }
    return ((int (*)(int))dlsym(RTLD_NEXT, name))(file);
}

int fsync(int file) { return slowly("fsync", file); }
int fdatasync(int file) { return slowly("fdatasync", file); }
