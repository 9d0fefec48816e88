#include "report/drawing.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/plot.h"

// How gnuplot writes DRAWING_HATCH.
static const char hatch_fill[] = "'rgb(  1,   2,   3)'";

// ---- Running gnuplot ----

// A file in memory that holds `script`, ready to be read; -1 on failure.
static int memory_file(const char *script, size_t length) {
    int fd = memfd_create("lockstep-plot", MFD_CLOEXEC);
    if (fd < 0) return -1;
    for (size_t done = 0; done < length;) {
        ssize_t n = write(fd, script + done, length - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            close(fd);
            return -1;
        }
        done += (size_t)n;
    }
    if (lseek(fd, 0, SEEK_SET) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool read_back(int fd, text *out) {
    char buffer[1 << 14];
    if (lseek(fd, 0, SEEK_SET) < 0) return false;
    for (;;) {
        ssize_t n = read(fd, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        if (n == 0) return true;
        text_bytes(out, buffer, (size_t)n);
    }
}

// Starts a program with files in memory for its input and output: no pipe that could block or
// break. Dates in what it writes are those of the epoch. Returns 0 or an errno value.
static int spawn(char *const *arguments, int in, int out, pid_t *child) {
    const char *path = getenv("PATH");
    char path_entry[4096];
    snprintf(path_entry, sizeof path_entry, "PATH=%s", path ? path : "/usr/bin:/bin");
    char locale[] = "LC_ALL=C.UTF-8", date[] = "SOURCE_DATE_EPOCH=0";
    char *environment[] = {path_entry, locale, date, NULL};
    posix_spawn_file_actions_t actions;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure) return failure;
    failure = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    if (!failure) failure = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (!failure)
        failure =
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!failure)
        failure = posix_spawnp(child, arguments[0], &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
}

// Puts what a program makes of `input` into `output`; else says why not.
static void filter(char *const *arguments, const text *input, text *output, char why[128]) {
    int in = memory_file(text_string(input), input->length), out = memory_file("", 0);
    pid_t child = -1;
    int failure = in < 0 || out < 0 ? errno : spawn(arguments, in, out, &child), state = 0;
    *why = 0;
    if (failure == ENOENT) {
        snprintf(why, 128, "%s was not found", arguments[0]);
    } else if (failure) {
        snprintf(why, 128, "%s could not be started (error %d)", arguments[0], failure);
    } else {
        while (waitpid(child, &state, 0) < 0 && errno == EINTR) continue;
        if (!WIFEXITED(state) || WEXITSTATUS(state) != 0 || !read_back(out, output))
            snprintf(why, 128, "%s failed", arguments[0]);
    }
    if (in >= 0) close(in);
    if (out >= 0) close(out);
}

static void run_gnuplot(const text *script, text *svg, char why[128]) {
    char program[] = "gnuplot", defaults[] = "-d", dash[] = "-";
    char *arguments[] = {program, defaults, dash, NULL};
    filter(arguments, script, svg, why);
    if (!*why && !strstr(text_string(svg), "<svg"))
        snprintf(why, 128, "gnuplot wrote no drawing: does it have the svg terminal?");
}

bool plot_to_pdf(const text *svg, text *pdf) {
    char program[] = "rsvg-convert", format[] = "--format=pdf", why[128];
    char *arguments[] = {program, format, NULL};
    filter(arguments, svg, pdf, why);
    return !*why && pdf->length > 0;
}

// ---- Cleaning its SVG ----

// Removes every piece from `open` to the next `close`, both included.
static void remove_between(text *t, const char *open, const char *close) {
    text result;
    text_init(&result, t->err);
    const char *rest = text_string(t);
    for (const char *start, *end; (start = strstr(rest, open)); rest = end + strlen(close)) {
        end = strstr(start + strlen(open), close);
        if (!end) break;
        text_bytes(&result, rest, (size_t)(start - rest));
    }
    text_append(&result, rest);
    text_release(t);
    *t = result;
}

// gnuplot opens a group for each change of pen; most stay empty.
static void remove_empty_groups(text *t) {
    static const char end[] = "\">\n</g>\n";
    text result;
    text_init(&result, t->err);
    const char *rest = text_string(t);
    for (const char *hit; (hit = strstr(rest, end)); rest = hit + sizeof end - 1) {
        const char *start = hit;
        while (start > rest && *start != '<') start--;
        bool group = strncmp(start, "<g ", 3) == 0;
        text_bytes(&result, rest, (size_t)((group ? start : hit + sizeof end - 1) - rest));
    }
    text_append(&result, rest);
    text_release(t);
    *t = result;
}

static void escape_attribute(text *out, const char *string) {
    for (; *string; string++) {
        if (*string == '&')
            text_append(out, "&amp;");
        else if (*string == '<')
            text_append(out, "&lt;");
        else if (*string == '"')
            text_append(out, "&quot;");
        else
            text_bytes(out, string, 1);
    }
}

// Text inherits font and colour from the page, nothing has an id that another drawing may have, and
// the size is a viewBox alone.
static void clean(text *svg, const char *id, const char *title, int height) {
    remove_between(svg, "<?xml", "?>");
    remove_between(svg, "<svg", ">");
    remove_between(svg, "<title>", "</title>");
    remove_between(svg, "<desc>", "</desc>");
    remove_between(svg, "<defs>", "</defs>");
    remove_between(svg, "<rect x=\"0\" y=\"0\"", "/>"); // the background
    remove_between(svg, " font-family=\"", "\"");
    remove_between(svg, " id=\"", "\"");
    remove_between(svg, " color=\"", "\"");
    remove_between(svg, "<use xlink:href='#gpDot'", "/>"); // of whiskers, and of no size
    remove_empty_groups(svg);
    char own[64];
    snprintf(own, sizeof own, "href='#%s-dot'", id);
    text_replace(svg, "xlink:href='#gpPt6'", own); // the only symbol that scripts here use
    snprintf(own, sizeof own, "'url(#%s-hatch)'", id);
    text_replace(svg, hatch_fill, own);
    text_replace(svg, "' color='", "' fill='");
    text_replace(svg, "=\"black\"", "=\"currentColor\"");
    text_replace(svg, "='black'", "='currentColor'");
    text_replace(svg, "<tspan >", "<tspan>");
    text_replace(svg, "\n\n", "\n");
    text page;
    text_init(&page, svg->err);
    text_format(&page, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"%s-title\" ",
                DRAWING_WIDTH, height, id);
    text_format(&page, "xmlns=\"http://www.w3.org/2000/svg\">\n<title id=\"%s-title\">", id);
    escape_attribute(&page, title);
    text_format(&page, "</title>\n<defs><circle id=\"%s-dot\" r=\"1\" stroke=\"none\"/>", id);
    text_format(&page, "<pattern id=\"%s-hatch\" width=\"6\" height=\"6\" ", id);
    text_append(&page, "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><path "
                       "d=\"M1.5 0V6\" stroke=\"#fff\" stroke-width=\"2.6\" "
                       "stroke-opacity=\".7\"/></pattern></defs>");
    text_append(&page, text_string(svg));
    text_release(svg);
    *svg = page;
}

status drawing_make(const text *script, const char *id, const char *title, int height, char **svg,
                    char why[128], error *err) {
    text drawing;
    text_init(&drawing, err);
    *svg = NULL;
    *why = 0;
    status rc = text_status(script);
    if (rc == STATUS_OK) run_gnuplot(script, &drawing, why);
    if (rc == STATUS_OK && !*why) {
        clean(&drawing, id, title, height);
        *svg = text_take(&drawing);
        if (!*svg) rc = STATUS_FAILED;
    }
    text_release(&drawing);
    return rc;
}
