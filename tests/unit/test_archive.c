// SPDX-License-Identifier: MIT
// The archive reader: the members that it yields, and those that it refuses. Archives are made in
// memory with libarchive's writer.
#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "data/source/archive.h"

enum { ROOM = 1 << 20 };

typedef struct maker {
    struct archive *archive;
    char *buffer;
    size_t used;
} maker;

static void begin(maker *m) {
    *m = (maker){archive_write_new(), malloc(ROOM), 0};
    archive_write_set_format_pax_restricted(m->archive);
    archive_write_add_filter_gzip(m->archive);
    assert_int_equal(archive_write_open_memory(m->archive, m->buffer, ROOM, &m->used), ARCHIVE_OK);
}

static void add(maker *m, const char *name, unsigned type, const char *link, const char *data) {
    struct archive_entry *e = archive_entry_new();
    archive_entry_set_pathname(e, name);
    archive_entry_set_perm(e, 0644);
    archive_entry_set_filetype(e, type);
    if (link && type == AE_IFLNK) archive_entry_set_symlink(e, link);
    if (link && type == AE_IFREG) archive_entry_set_hardlink(e, link);
    if (data) archive_entry_set_size(e, (la_int64_t)strlen(data));
    assert_int_equal(archive_write_header(m->archive, e), ARCHIVE_OK);
    if (data) archive_write_data(m->archive, data, strlen(data));
    archive_entry_free(e);
}

// Writes the finished archive to a file, cut to `part` of its bytes (1: all).
static int finish(maker *m, double part) {
    assert_int_equal(archive_write_close(m->archive), ARCHIVE_OK);
    archive_write_free(m->archive);
    int fd = memfd_create("archive", MFD_CLOEXEC);
    size_t bytes = (size_t)((double)m->used * part);
    assert_int_equal(write(fd, m->buffer, bytes), bytes);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    free(m->buffer);
    return fd;
}

static void yields_plain_files(void **state) {
    (void)state;
    maker m;
    begin(&m);
    add(&m, "folder", AE_IFDIR, NULL, NULL);
    add(&m, "folder/one", AE_IFREG, NULL, "first");
    add(&m, "./two..three", AE_IFREG, NULL, "second"); // two dots inside a name are allowed
    int fd = finish(&m, 1);
    archive_reader *r;
    const char *member;
    char data[16];
    size_t got;
    assert_int_equal(archive_reader_open(fd, "a.tar", ARCHIVE_MEMBERS, &r, NULL), STATUS_OK);
    assert_int_equal(archive_reader_next(r, &member, NULL), STATUS_OK);
    assert_string_equal(member, "folder/one");
    assert_int_equal(archive_reader_read(r, data, 3, &got, NULL), STATUS_OK);
    assert_int_equal(got, 3); // the rest is skipped
    assert_int_equal(archive_reader_next(r, &member, NULL), STATUS_OK);
    assert_string_equal(member, "./two..three");
    assert_int_equal(archive_reader_read(r, data, sizeof data, &got, NULL), STATUS_OK);
    assert_memory_equal(data, "second", 6);
    assert_int_equal(archive_reader_read(r, data, sizeof data, &got, NULL), STATUS_OK);
    assert_int_equal(got, 0);
    assert_int_equal(archive_reader_next(r, &member, NULL), STATUS_OK);
    assert_null(member);
    archive_reader_free(r);
    close(fd);
}

// Reads to the end; returns the first failure, or STATUS_OK.
static status read_all(int fd, error *err) {
    archive_reader *r;
    const char *member = "";
    status rc = archive_reader_open(fd, "bad.tar", ARCHIVE_MEMBERS, &r, err);
    while (rc == STATUS_OK && member) rc = archive_reader_next(r, &member, err);
    archive_reader_free(r);
    close(fd);
    return rc;
}

static void refuses_unsafe_members(void **state) {
    (void)state;
    static const struct {
        const char *name;
        unsigned type;
        const char *link, *why;
    } cases[] = {
        {"../up", AE_IFREG, NULL, "'..'"},
        {"a/../../up", AE_IFREG, NULL, "'..'"},
        {"a/..", AE_IFDIR, NULL, "'..'"},
        {"a\\..\\up", AE_IFREG, NULL, "'..'"},
        {"/etc/passwd", AE_IFREG, NULL, "absolute"},
        {"soft", AE_IFLNK, "/etc/passwd", "symbolic link"},
        {"hard", AE_IFREG, "good", "hard link"},
        {"device", AE_IFCHR, NULL, "not a regular file"},
        {"pipe", AE_IFIFO, NULL, "not a regular file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        maker m;
        begin(&m);
        add(&m, "good", AE_IFREG, NULL, "data");
        add(&m, cases[i].name, cases[i].type, cases[i].link, NULL);
        error err = {0};
        assert_int_equal(read_all(finish(&m, 1), &err), STATUS_INPUT);
        if (!strstr(err.message, cases[i].name) || !strstr(err.message, cases[i].why))
            fail_msg("'%s' lacks '%s', for '%s'", err.message, cases[i].why, cases[i].name);
    }
}

static void refuses_a_truncated_archive(void **state) {
    (void)state;
    char *noise = calloc(1, 100001);
    for (unsigned i = 0, x = 1; i < 100000; i++) {
        x = x * 1664525u + 1013904223u;
        noise[i] = (char)('a' + (x >> 28));
    }
    maker m;
    begin(&m);
    add(&m, "noise", AE_IFREG, NULL, noise);
    free(noise);
    error err = {0};
    assert_int_equal(read_all(finish(&m, 0.6), &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "'bad.tar'"));
}

static void refuses_files_that_are_not_archives(void **state) {
    (void)state;
    int fd = memfd_create("text", MFD_CLOEXEC);
    assert_int_equal(write(fd, "hello, world\n", 13), 13);
    lseek(fd, 0, SEEK_SET);
    error err = {0};
    assert_int_equal(read_all(fd, &err), STATUS_INPUT);
    assert_non_null(strstr(err.message, "'bad.tar'"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yields_plain_files),
        cmocka_unit_test(refuses_unsafe_members),
        cmocka_unit_test(refuses_a_truncated_archive),
        cmocka_unit_test(refuses_files_that_are_not_archives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
