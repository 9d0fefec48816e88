// SPDX-License-Identifier: MIT
#include "data/source/download.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/redact.h"

// A modem of 1991 is faster than LEAST_SPEED (bytes per second).
enum { CONNECT_SECONDS = 30, STALL_SECONDS = 60, LEAST_SPEED = 1000 };
enum { MAX_REDIRECTS = 10, MAX_RETRY_AFTER = 60 };

typedef struct transfer {
    CURL *curl;
    const char *url;
    char *shown; // `url` as shown in messages
    int fd, write_error, tries;
    bool too_large, begun;     // of this try; begun: the body has begun
    uint64_t bytes, max_bytes; // bytes in the file, and their limit
    uint64_t kept;             // bytes in the file from earlier tries
    char validator[256];       // identifies the server's version of the file; empty: none
    progress progress;
    char reason[CURL_ERROR_SIZE];
} transfer;

bool download_is_url(const char *text) {
    size_t scheme =
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
    return scheme > 0 && strncmp(text + scheme, "://", 3) == 0;
}

// Opens a nameless file, which disappears when it is closed.
static status open_temporary(int *fd, error *err) {
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder) folder = "/tmp";
    *fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd >= 0) return STATUS_OK;
    char *path = memory_format("%s/lockstep-XXXXXX", folder);
    status rc = STATUS_OK;
    *fd = mkostemp(path, O_CLOEXEC);
    if (*fd < 0)
        rc = error_system(err, STATUS_FAILED, errno, "cannot create a temporary file in '%s'",
                          folder);
    else
        (void)unlink(path);
    free(path);
    return rc;
}

// ---- One try ----

static const char *header(transfer *t, const char *name) {
    struct curl_header *found;
    return curl_easy_header(t->curl, name, 0, CURLH_HEADER, -1, &found) == CURLHE_OK ? found->value
                                                                                     : NULL;
}

// Stores a validator for If-Range: a strong ETag, else a date.
static void keep_validator(transfer *t) {
    const char *value = header(t, "ETag");
    if (!value || strncmp(value, "W/", 2) == 0) value = header(t, "Last-Modified");
    const int length = snprintf(t->validator, sizeof t->validator, "%s", value ? value : "");
    if (length >= (int)sizeof t->validator) t->validator[0] = 0;
}

static bool start_over(transfer *t) {
    t->bytes = t->kept = 0;
    t->validator[0] = 0;
    if (ftruncate(t->fd, 0) == 0 && lseek(t->fd, 0, SEEK_SET) == 0) return true;
    t->write_error = errno;
    return false;
}

// The body is the requested rest of the file (206), or the whole file although the rest was asked
// for.
static bool begin_body(transfer *t) {
    long answer = 0;
    t->begun = true;
    (void)curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &answer);
    if (answer == 206) {
        const char *range = header(t, "Content-Range");
        unsigned long long from = 0;
        if (range && sscanf(range, "bytes %llu-", &from) == 1 && from == t->kept) return true;
        (void)start_over(t);
        return false;
    }
    if (!start_over(t)) return false;
    keep_validator(t);
    return true;
}

// libcurl's write callback: returning fewer bytes than were passed ends the transfer.
static size_t take(char *data, size_t size, size_t count, void *context) {
    transfer *t = context;
    size_t bytes = size * count, at = 0;
    if (!t->begun && !begin_body(t)) return 0;
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
    progress_show(&t->progress, t->kept + (uint64_t)now, total ? t->kept + (uint64_t)total : 0);
    return 0;
}

// Reads a number of seconds from the environment, for tests.
static double seconds_of(const char *name, double usual, double most) {
    const char *text = getenv(name);
    char *end = NULL;
    const double seconds = text ? strtod(text, &end) : usual;
    return !text || (end != text && !*end && seconds >= 0 && seconds <= most) ? seconds : usual;
}

#define SET(option, value) \
    if (!bad) bad = curl_easy_setopt(t->curl, CURLOPT_##option, value)

static CURLcode configure(transfer *t) {
    CURLcode bad = CURLE_OK;
    SET(URL, t->url);
    SET(PROTOCOLS_STR, "https,http,file");
    SET(REDIR_PROTOCOLS_STR, "https");
    SET(FOLLOWLOCATION, 1L);
    SET(MAXREDIRS, (long)MAX_REDIRECTS);
    SET(FAILONERROR, 1L);
    SET(NOSIGNAL, 1L);
    SET(CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    SET(LOW_SPEED_LIMIT, (long)LEAST_SPEED);
    SET(LOW_SPEED_TIME, (long)seconds_of("LOCKSTEP_STALL_SECONDS", STALL_SECONDS, STALL_SECONDS));
    SET(MAXFILESIZE_LARGE, (curl_off_t)t->max_bytes);
    SET(USERAGENT, "lockstep");
    SET(ERRORBUFFER, t->reason);
    SET(WRITEFUNCTION, take);
    SET(WRITEDATA, t);
    SET(XFERINFOFUNCTION, show);
    SET(XFERINFODATA, t);
    SET(NOPROGRESS, 0L);
    return bad;
}

// Asks for the rest of an earlier try's file if the server can identify its version.
static CURLcode try_once(transfer *t) {
    CURLcode bad = CURLE_OK;
    struct curl_slist *headers = NULL;
    char range[32], condition[sizeof t->validator + 16];
    t->begun = false;
    t->reason[0] = 0;
    t->tries++;
    if (t->bytes && !t->validator[0] && !start_over(t)) return CURLE_WRITE_ERROR;
    t->kept = t->bytes;
    if (t->kept) {
        snprintf(range, sizeof range, "%llu-", (unsigned long long)t->kept);
        snprintf(condition, sizeof condition, "If-Range: %s", t->validator);
        headers = curl_slist_append(NULL, condition);
        if (!headers) return CURLE_OUT_OF_MEMORY;
    }
    SET(RANGE, t->kept ? range : NULL);
    SET(HTTPHEADER, headers);
    if (!bad) bad = curl_easy_perform(t->curl);
    curl_slist_free_all(headers);
    return bad;
}
#undef SET

// ---- Several tries ----

static long answer_of(const transfer *t) {
    long answer = 0;
    (void)curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &answer);
    return answer;
}

static bool is_transient(const transfer *t, CURLcode code) {
    switch ((int)code) { // the few of curl's many
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: return true;
    case CURLE_WRITE_ERROR: return !t->too_large && !t->write_error; // not the requested part
    case CURLE_HTTP_RETURNED_ERROR: break;
    default: return false;
    }
    switch (answer_of(t)) {
    case 408:
    case 416: // the file has become shorter than the part that was kept
    case 429:
    case 500:
    case 502:
    case 503:
    case 504: return true;
    default: return false;
    }
}

// Returns between a half and the whole of first * 2^(tries - 1); longer if the server says so.
static double pause_seconds(const transfer *t) {
    const double first = seconds_of("LOCKSTEP_RETRY_SECONDS", 1, MAX_RETRY_AFTER);
    uint32_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0) random = (uint32_t)clock_now();
    double seconds = first * (1 << (t->tries - 1)) * (1 - 0.5 * random / UINT32_MAX);
    curl_off_t wanted = 0;
    (void)curl_easy_getinfo(t->curl, CURLINFO_RETRY_AFTER, &wanted);
    if (wanted > MAX_RETRY_AFTER) wanted = MAX_RETRY_AFTER;
    return (double)wanted > seconds ? (double)wanted : seconds;
}

static void wait_and_say(transfer *t, const logger *log, CURLcode code) {
    const double seconds = pause_seconds(t);
    struct timespec left = {.tv_sec = (time_t)seconds};
    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    progress_end(&t->progress);
    log_info(log, "%s: %s; trying again in %.1f s, from byte %llu", t->shown,
             t->reason[0] ? t->reason : curl_easy_strerror(code), seconds,
             (unsigned long long)(t->validator[0] ? t->bytes : 0));
    while (nanosleep(&left, &left) && errno == EINTR) {
    }
    progress_begin(&t->progress, log, "downloading", NULL);
}

static CURLcode perform(transfer *t, const logger *log) {
    CURLcode code = configure(t);
    if (code != CURLE_OK) return code;
    for (;;) {
        code = try_once(t);
        if (code == CURLE_OK || t->tries == DOWNLOAD_TRIES || !is_transient(t, code)) return code;
        if (code == CURLE_HTTP_RETURNED_ERROR && answer_of(t) == 416 && !start_over(t))
            return CURLE_WRITE_ERROR;
        wait_and_say(t, log, code);
    }
}

// ---- The outcome ----

static bool is_unreachable(CURLcode code) {
    return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY ||
           code == CURLE_COULDNT_CONNECT || code == CURLE_OPERATION_TIMEDOUT;
}

static status explain(const transfer *t, CURLcode code, const char *hint, error *err) {
    if (code == CURLE_OK) return STATUS_OK;
    if (code == CURLE_FILESIZE_EXCEEDED || t->too_large)
        return error_set(err, STATUS_INPUT, "cannot download: '%s': larger than %llu bytes",
                         t->shown, (unsigned long long)t->max_bytes);
    if (t->write_error)
        return error_system(err, STATUS_FAILED, t->write_error,
                            "cannot download: '%s': cannot write to a temporary file (TMPDIR)",
                            t->shown);
    char tries[32] = "";
    if (t->tries > 1) snprintf(tries, sizeof tries, " (tried %d times)", t->tries);
    if (code == CURLE_HTTP_RETURNED_ERROR)
        return error_set(err, STATUS_FAILED, "cannot download: '%s': the server answered %ld%s",
                         t->shown, answer_of(t), tries);
    char *reason = redact_urls(t->reason[0] ? t->reason : curl_easy_strerror(code));
    status kind = code == CURLE_FILE_COULDNT_READ_FILE ? STATUS_INPUT : STATUS_FAILED;
    if (!is_unreachable(code)) hint = NULL;
    error_set(err, kind, "cannot download: '%s': %s%s%s%s", t->shown, reason, tries,
              hint ? "; without a network: " : "", hint ? hint : "");
    free(reason);
    return kind;
}

status download_file(const char *url, uint64_t max_bytes, const char *hint, const logger *log,
                     int *fd, error *err) {
    transfer t = {.url = url, .fd = -1, .max_bytes = max_bytes};
    *fd = -1;
    t.shown = redact_urls(url);
    status rc = open_temporary(&t.fd, err);
    TRY(rc);
    t.curl = curl_easy_init();
    if (!t.curl)
        TRY(error_set(err, STATUS_FAILED, "cannot download: '%s': libcurl cannot be initialised",
                      t.shown));
    progress_begin(&t.progress, log, "downloading", NULL);
    CURLcode code = perform(&t, log);
    progress_end(&t.progress);
    TRY(explain(&t, code, hint, err));
    if (lseek(t.fd, 0, SEEK_SET) < 0)
        TRY(error_system(err, STATUS_FAILED, errno, "cannot read a temporary file"));
    *fd = t.fd;
out:
    curl_easy_cleanup(t.curl);
    free(t.shown);
    if (rc != STATUS_OK && t.fd >= 0) close(t.fd);
    return rc;
}
