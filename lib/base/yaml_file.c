// SPDX-License-Identifier: MIT
// yaml_file.c - reads YAML files, each once.
//
// A pipeline asks for the same manifests and experiments many times, on many floors. The trees of
// files that it has read are kept, and serve as long as stat(2) shows the same file: the same inode
// with the same size and times.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/memory.h"
#include "base/yaml_tree.h"

typedef struct kept_file {
    char *path;
    struct stat info;
    yaml_node *root;
} kept_file;

// Files beyond so many bytes are not kept.
enum { MOST_KEPT_BYTES = 1 << 24 };

static struct {
    pthread_mutex_t lock;
    kept_file *items;
    size_t count, capacity;
    uint64_t bytes;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool same_time(struct timespec a, struct timespec b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           same_time(a->st_ctim, b->st_ctim) && same_time(a->st_mtim, b->st_mtim);
}

// A file may change again in the tick of the clock in which it was last changed, unseen by stat.
static bool has_settled(const struct stat *info) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return info->st_ctim.tv_sec + 1 < now.tv_sec;
}

static kept_file *find(const char *path) {
    for (size_t i = 0; i < kept.count; i++)
        if (strcmp(kept.items[i].path, path) == 0) return &kept.items[i];
    return NULL;
}

// Returns a copy; NULL: the file is not kept, or has changed.
static yaml_node *recall(const char *path) {
    struct stat info;
    yaml_node *root = NULL;
    if (stat(path, &info) != 0) return NULL;
    pthread_mutex_lock(&kept.lock);
    const kept_file *f = find(path);
    if (f && same_file(&f->info, &info)) root = yaml_copy(f->root);
    pthread_mutex_unlock(&kept.lock);
    return root;
}

static void keep(const char *path, const struct stat *info, const yaml_node *root) {
    pthread_mutex_lock(&kept.lock);
    kept_file *f = find(path);
    if (!f && kept.bytes + (uint64_t)info->st_size <= MOST_KEPT_BYTES) {
        void *items = kept.items;
        memory_grow(&items, &kept.capacity, kept.count + 1, sizeof *kept.items);
        kept.items = items;
        f = &kept.items[kept.count++];
        *f = (kept_file){.path = memory_string(path)};
        kept.bytes += (uint64_t)info->st_size;
    }
    if (f) {
        yaml_free(f->root);
        f->info = *info;
        f->root = yaml_copy(root);
    }
    pthread_mutex_unlock(&kept.lock);
}

status yaml_read_file(const char *path, yaml_node **root, error *err) {
    struct stat info;
    *root = recall(path);
    if (*root) return STATUS_OK;
    status rc = STATUS_FAILED;
    char *string = NULL;
    FILE *file = fopen(path, "rbe");
    if (!file) return error_system(err, STATUS_INPUT, errno, "cannot read YAML file: '%s'", path);
    const bool known = fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode);
    string = memory_new(YAML_MAX_BYTES + 1, 1);
    size_t bytes = fread(string, 1, YAML_MAX_BYTES + 1, file);
    if (ferror(file)) {
        rc = error_system(err, STATUS_INPUT, errno, "cannot read YAML file: '%s'", path);
        goto out;
    }
    rc = yaml_read_text(string, bytes, path, root, err);
    if (rc == STATUS_OK && known && has_settled(&info)) keep(path, &info, *root);
out:
    free(string);
    fclose(file);
    return rc;
}
