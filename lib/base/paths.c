// SPDX-License-Identifier: MIT
#include "base/paths.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

const char *paths_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *paths_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return memory_string(".");
    return memory_format("%.*s", slash == path ? 1 : (int)(slash - path), path);
}

size_t paths_stem(const char *path) {
    static const char ending[] = ".yaml";
    const size_t length = strlen(path), own = sizeof ending - 1;
    return length > own && strcmp(path + length - own, ending) == 0 ? length - own : length;
}

bool paths_is_litter(const char *name, size_t length) {
    static const char *const names[] = {".DS_Store", "__MACOSX", "Thumbs.db", "desktop.ini"};
    if (length >= 2 && strncmp(name, "._", 2) == 0) return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && strncasecmp(name, names[i], length) == 0) return true;
    return false;
}

bool paths_has_litter(const char *path) {
    for (const char *part = path; *part; part += strspn(part, "/")) {
        const size_t length = strcspn(part, "/");
        if (paths_is_litter(part, length)) return true;
        part += length;
    }
    return false;
}

bool paths_same(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool paths_is_yaml(const char *name) {
    return *name != '.' && name[paths_stem(name)];
}

bool paths_is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool paths_allow(int how, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *path = memory_format_list(format, args);
    const bool allowed = access(path, how) == 0;
    va_end(args);
    free(path);
    return allowed;
}

char *paths_in(const char *folder, const char *path) {
    return *path == '/' ? memory_string(path) : memory_format("%s/%s", folder, path);
}

bool paths_list(const char *folder, bool (*chosen)(const char *name), bool by_number,
                strvec *names) {
    struct dirent **found = NULL;
    const int count = scandir(folder, &found, NULL, by_number ? versionsort : alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = found[i]->d_name;
        if (chosen ? chosen(name) : *name != '.') strvec_add(names, name);
        free(found[i]);
    }
    free(found);
    return count >= 0;
}

void paths_real_folder(const char *path, char folder[PATH_MAX + 1]) {
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    *folder = 0;
    if (!slash)
        snprintf(parent, sizeof parent, ".");
    else if (snprintf(parent, sizeof parent, "%.*s", (int)(slash - path) + 1, path) >= PATH_MAX)
        return;
    if (!realpath(parent, folder)) {
        *folder = 0;
        return;
    }
    size_t length = strlen(folder);
    if (folder[length - 1] != '/') memcpy(folder + length, "/", 2);
}

char *paths_relative(const char *path, const char *folder) {
    char own[PATH_MAX + 1], ups[PATH_MAX] = "";
    const char *name = paths_name(path);
    paths_real_folder(path, own);
    if (!*own || !*folder || !strcmp(path, "-")) return memory_string(path);
    size_t same = 0;
    for (size_t i = 0; own[i] && own[i] == folder[i]; i++)
        if (own[i] == '/') same = i + 1;
    size_t used = 0;
    for (const char *p = folder + same; *p; p++) {
        if (*p != '/') continue;
        if (used + 3 >= sizeof ups) return memory_string(path);
        memcpy(ups + used, "../", 4);
        used += 3;
    }
    return memory_format("%s%s%s", ups, own + same, name);
}

bool paths_is_plain_name(const char *name) {
    static const char accepted[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const size_t length = strspn(name, accepted);
    return length && !name[length] && *name != '.' && *name != '-';
}
