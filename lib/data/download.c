#include "data/download.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/progress.h"

enum { CONNECT_SECONDS = 30, STALL_SECONDS = 60, MAX_REDIRECTS = 10 };

typedef struct transfer {
    const char *url;
    int fd, write_error;
    bool too_large;
    uint64_t bytes, max_bytes;
    progress progress;
    char reason[CURL_ERROR_SIZE];
} transfer;

bool download_is_url(const char *text) {
    size_t scheme =
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
    return scheme > 0 && strncmp(text + scheme, "://", 3) == 0;
}

// A file that is gone when it is closed, whatever happens.
static status open_temporary(int *fd, error *err) {
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder) folder = "/tmp";
    *fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd >= 0) return STATUS_OK;
    char *path = memory_format(err, "%s/lockstep-XXXXXX", folder);
    if (!path) return STATUS_FAILED;
    status rc = STATUS_OK;
    *fd = mkostemp(path, O_CLOEXEC);
    if (*fd < 0)
        rc =
            error_system(err, STATUS_FAILED, errno, "cannot make a temporary file in '%s'", folder);
    else
        (void)unlink(path);
    free(path);
    return rc;
}

// libcurl's write callback: returning less than it got ends the transfer.
static size_t take(char *data, size_t size, size_t count, void *context) {
    transfer *t = context;
    size_t bytes = size * count, at = 0;
    if (bytes > t->max_bytes - t->bytes) {
        t->too_large = true;
        return 0;
    }
    while (at < bytes) {
        ssize_t n = write(t->fd, data + at, bytes - at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            t->write_error = n < 0 ? errno : ENOSPC;
            return 0;
        }
        at += (size_t)n;
    }
    t->bytes += bytes;
    return bytes;
}

static int show(void *context, curl_off_t total, curl_off_t now, curl_off_t up_total,
                curl_off_t up_now) {
    (void)up_total, (void)up_now;
    transfer *t = context;
    progress_show(&t->progress, (uint64_t)now, (uint64_t)total);
    return 0;
}

static CURLcode configure(CURL *curl, transfer *t) {
    CURLcode bad = CURLE_OK;
#define SET(option, value) \
    if (!bad) bad = curl_easy_setopt(curl, CURLOPT_##option, value)
    SET(URL, t->url);
    SET(PROTOCOLS_STR, "https,http,file");
    SET(REDIR_PROTOCOLS_STR, "https");
    SET(FOLLOWLOCATION, 1L);
    SET(MAXREDIRS, (long)MAX_REDIRECTS);
    SET(FAILONERROR, 1L);
    SET(NOSIGNAL, 1L);
    SET(CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    SET(LOW_SPEED_LIMIT, 1L);
    SET(LOW_SPEED_TIME, (long)STALL_SECONDS);
    SET(MAXFILESIZE_LARGE, (curl_off_t)t->max_bytes);
    SET(USERAGENT, "lockstep");
    SET(ERRORBUFFER, t->reason);
    SET(WRITEFUNCTION, take);
    SET(WRITEDATA, t);
    SET(XFERINFOFUNCTION, show);
    SET(XFERINFODATA, t);
    SET(NOPROGRESS, 0L);
#undef SET
    return bad;
}

static status explain(CURL *curl, const transfer *t, CURLcode code, error *err) {
    if (code == CURLE_OK) return STATUS_OK;
    if (code == CURLE_FILESIZE_EXCEEDED || t->too_large)
        return error_set(err, STATUS_INPUT, "cannot download: '%s': larger than %llu bytes", t->url,
                         (unsigned long long)t->max_bytes);
    if (t->write_error)
        return error_system(err, STATUS_FAILED, t->write_error,
                            "cannot download: '%s': cannot write to a temporary file (TMPDIR)",
                            t->url);
    long http = 0;
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &http);
    if (code == CURLE_HTTP_RETURNED_ERROR)
        return error_set(err, STATUS_FAILED, "cannot download: '%s': the server answers %ld",
                         t->url, http);
    status kind = code == CURLE_FILE_COULDNT_READ_FILE ? STATUS_INPUT : STATUS_FAILED;
    return error_set(err, kind, "cannot download: '%s': %s", t->url,
                     t->reason[0] ? t->reason : curl_easy_strerror(code));
}

status download_file(const char *url, uint64_t max_bytes, const logger *log, int *fd, error *err) {
    transfer t = {.url = url, .fd = -1, .max_bytes = max_bytes};
    *fd = -1;
    status rc = open_temporary(&t.fd, err);
    if (rc != STATUS_OK) return rc;
    CURL *curl = curl_easy_init();
    if (!curl) {
        close(t.fd);
        return error_set(err, STATUS_FAILED, "cannot download: '%s': libcurl does not start", url);
    }
    progress_begin(&t.progress, log, "downloading", NULL);
    CURLcode code = configure(curl, &t);
    if (code == CURLE_OK) code = curl_easy_perform(curl);
    progress_end(&t.progress);
    rc = explain(curl, &t, code, err);
    curl_easy_cleanup(curl);
    if (rc == STATUS_OK && lseek(t.fd, 0, SEEK_SET) < 0)
        rc = error_system(err, STATUS_FAILED, errno, "cannot read a temporary file");
    if (rc == STATUS_OK)
        *fd = t.fd;
    else
        close(t.fd);
    return rc;
}
