/* Loaded in front of the C library: reads of one file fail as on a broken disk, once so many of them have gone well. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long reads;

static int fails(int file) {
    const char *name = getenv("FAILING_FILE"), *sound = getenv("SOUND_READS");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (!name || !sound || length < 0)
        return 0;
    path[length] = 0;
    return strcmp(path, name) == 0 && atomic_fetch_add(&reads, 1) >= atol(sound);
}

ssize_t pread64(int file, void *buffer, size_t count, off64_t offset) {
    static ssize_t (*real)(int, void *, size_t, off64_t);
    if (!real)
        real = dlsym(RTLD_NEXT, "pread64");
    if (fails(file)) {
        errno = EIO;
        return -1;
    }
    return real(file, buffer, count, offset);
}
