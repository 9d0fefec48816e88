// SPDX-License-Identifier: MIT
#include "base/foreign_file.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/printable.h"

enum { END_BYTES = 1 << 16, WHAT_BYTES = 100, WAY_BYTES = 800 };

// The ends of a file, which overlap if it is short. A zip archive lists its members at its end.
typedef struct ends {
    const char *path;
    unsigned char *head, *tail;
    size_t head_bytes, tail_bytes;
} ends;

// ---- Signatures ----

// A way that stands for: this is what is wanted.
static const char WANTED[] = "";

#define UNPACK   "unpack it first"
#define PICTURES "pass a folder that has a folder of pictures for each class"
#define PICKLE                                                                    \
    {                                                                             \
        "load it in Python, and save its tensors with safetensors",               \
            "load it in Python, and save numpy.savez(FILE, x=..., y=...)", WANTED \
    }

// clang-format off
static const struct {
    size_t at; // offset
    const char *bytes;
    size_t count;
    const char *what;
    const char *ways[WANTED_KINDS]; // NULL: the usual one
} signatures[] = {
#define BYTES(text) text, sizeof text - 1
    {0, BYTES("version https://git-lfs.github.com/spec/"), "a pointer of Git LFS, not the file itself",
     {"run git lfs pull", "run git lfs pull", "run git lfs pull"}},
    {0, BYTES("\x89HDF\r\n\x1a\n"), "an HDF5 file (.h5 of Keras)",
     {"read it with h5py, and save its arrays with safetensors.numpy.save_file, in PyTorch's names and "
      "layouts (docs/formats.md)",
      "read it with h5py, and save numpy.savez(FILE, x=..., y=...)", NULL}},
    {0, BYTES("MATLAB "), "a MATLAB file",
     {NULL, "read it with scipy.io.loadmat, and save numpy.savez(FILE, x=..., y=...)", NULL}},
    {0, BYTES("PAR1"), "a Parquet file",
     {NULL, "read it with pandas, and save numpy.savez(FILE, x=..., y=...)", NULL}},
    {0, BYTES("\x80\2"), "a pickle", PICKLE},
    {0, BYTES("\x80\3"), "a pickle", PICKLE},
    {0, BYTES("\x80\4"), "a pickle", PICKLE},
    {0, BYTES("\x80\5"), "a pickle", PICKLE},
    {0, BYTES("\x1f\x8b"), "compressed by gzip", {UNPACK, UNPACK, WANTED}},
    {0, BYTES("BZh"), "compressed by bzip2", {UNPACK, UNPACK, WANTED}},
    {0, BYTES("\xfd""7zXZ"), "compressed by xz", {UNPACK, UNPACK, WANTED}},
    {0, BYTES("\x28\xb5\x2f\xfd"), "compressed by zstd", {WANTED, UNPACK, WANTED}},
    {0, BYTES("7z\xbc\xaf\x27\x1c"), "a 7z archive", {UNPACK, UNPACK, UNPACK}},
    {0, BYTES("Rar!\x1a\7"), "a RAR archive", {UNPACK, UNPACK, UNPACK}},
    {257, BYTES("ustar"), "a tar archive", {UNPACK, UNPACK, WANTED}},
    {0, BYTES("\x93NUMPY"), "one NumPy array",
     {"tensor import --format npy makes a tensor file of it",
      "save numpy.savez(FILE, x=..., y=...)", NULL}},
    {8, BYTES("{\""), "a safetensors file", {WANTED, NULL, NULL}},
    {0, BYTES("\x89PNG"), "a picture", {NULL, PICTURES, NULL}},
    {0, BYTES("\xff\xd8\xff"), "a picture", {NULL, PICTURES, NULL}},
    {0, BYTES("%PDF-"), "a PDF document", {NULL}},
#undef BYTES
};
// clang-format on

static const char *const usual_ways[WANTED_KINDS] = {
    [WANTED_TENSORS] = "pass a tensor file: .st.zst or .safetensors",
    [WANTED_ARRAYS] = "pass arrays that NumPy saved: .npz or .npy",
    [WANTED_FILES] = "pass the published files, or an archive of them",
    [WANTED_CLAIM] = ("pass a claim: YAML that begins with 'schema: lockstep.claim/1' and has the "
                      "figures as rows, like experiments/R001/claim.yaml"),
};

// ---- Files of PyTorch, ONNX and Keras ----

static bool has(const ends *e, const char *text) {
    const size_t length = strlen(text);
    return memmem(e->head, e->head_bytes, text, length) ||
           memmem(e->tail, e->tail_bytes, text, length);
}

// The line of Python that writes the tensors of a checkpoint to a safetensors file: a dictionary of
// tensors, or the largest in a dictionary, and of equal ones the first, since averaged weights come
// after the weights. Copies, because safetensors refuses shared memory.
static void torch_way(const ends *e, bool script, char way[WAY_BYTES]) {
    const bool plain = strlen(e->path) < 150 && !strpbrk(e->path, "'\"\\$`!");
    const char *path = plain ? e->path : "FILE";
    snprintf(way, WAY_BYTES,
             "convert it: python3 -c \"import torch, safetensors.torch as s; %s('%s', 'cpu')%s"
             "s.save_file({k: v.contiguous().clone() for k, v in d.items()}, '%s.safetensors')\"",
             script ? "d = torch.jit.load" : "d = torch.load", path,
             script ? ".state_dict(); "
                    : "; t = lambda v: isinstance(v, dict) and v and "
                      "all(map(torch.is_tensor, v.values())); "
                      "d = max(filter(t, [d, *d.values()]), key=len); ",
             path);
}

static bool is_torch(const ends *e, foreign_wanted wanted, char what[WHAT_BYTES],
                     char way[WAY_BYTES]) {
    static const char old[] = "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
    const bool zip = e->head_bytes >= 4 && memcmp(e->head, "PK\3\4", 4) == 0;
    const bool legacy =
        e->head_bytes >= sizeof old - 1 && memcmp(e->head, old, sizeof old - 1) == 0;
    const bool script = zip && (has(e, "/constants.pkl") || has(e, "/code/"));
    if (!legacy && !(zip && has(e, "/data.pkl"))) return false;
    snprintf(what, WHAT_BYTES, "%s",
             legacy   ? "a checkpoint of torch.save before PyTorch 1.6"
             : script ? "a TorchScript archive"
                      : "a checkpoint of torch.save");
    if (wanted == WANTED_TENSORS) torch_way(e, script, way);
    return true;
}

// Returns what a zip archive holds, or NULL if that is wanted.
static const char *zip_content(const ends *e, foreign_wanted wanted) {
    if (has(e, "model.weights.h5")) return "a Keras archive (.keras), whose weights are HDF5";
    if (!has(e, ".npy"))
        return wanted == WANTED_FILES    ? NULL
               : wanted == WANTED_ARRAYS ? "a zip archive without arrays and pictures"
                                         : "a zip archive";
    return wanted == WANTED_TENSORS ? "an archive of NumPy arrays (.npz), for import-images" : NULL;
}

// A ModelProto: field 1, the version of the format, and another of its fields.
static bool is_onnx(const ends *e) {
    const unsigned char *b = e->head;
    return e->head_bytes > 16 && b[0] == 0x08 && b[1] && b[1] < 0x20 && b[3] &&
           (b[2] == 0x12 || b[2] == 0x1a || b[2] == 0x22 || b[2] == 0x3a) && b[7];
}

// ---- Text ----

static bool is_page(const char *text) {
    text += strspn(text, " \t\r\n");
    return strncasecmp(text, "<!doctype html", 14) == 0 || strncasecmp(text, "<html", 5) == 0 ||
           strncasecmp(text, "<?xml", 5) == 0;
}

// A web page, or the first line of other text: servers answer in words, too.
static bool is_text(const ends *e, char what[WHAT_BYTES], char way[WAY_BYTES]) {
    enum { LOOKED_AT = 512, SHOWN = 60 };
    char text[LOOKED_AT + 1] = "";
    const size_t count = e->head_bytes < LOOKED_AT ? e->head_bytes : LOOKED_AT;
    for (size_t i = 0; i < count; i++)
        if (e->head[i] < 0x20 && !isspace(e->head[i])) return false;
    memcpy(text, e->head, count);
    if (is_page(text)) {
        snprintf(what, WHAT_BYTES, "a web page");
        snprintf(way, WAY_BYTES, "its download failed, or needs a login: fetch the file itself");
        return true;
    }
    if (count == LOOKED_AT) text[LOOKED_AT - 4] = '\0'; // perhaps inside a character
    if (!printable_is_utf8(text)) return false;
    char *line = text + strspn(text, " \t\r\n");
    line[strcspn(line, "\r\n")] = '\0';
    if (strlen(line) > SHOWN) line[SHOWN] = '\0';
    printable(line, true);
    snprintf(what, WHAT_BYTES, "text that begins with '%s'", line);
    return true;
}

// ---- Any file ----

typedef enum verdict { UNKNOWN, AS_WANTED, FOREIGN } verdict;

static verdict by_signature(const ends *e, foreign_wanted wanted, char what[WHAT_BYTES],
                            char way[WAY_BYTES]) {
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        const char *one = signatures[i].ways[wanted];
        if (signatures[i].at + signatures[i].count > e->head_bytes ||
            memcmp(e->head + signatures[i].at, signatures[i].bytes, signatures[i].count) != 0)
            continue;
        if (one == WANTED) return AS_WANTED;
        snprintf(what, WHAT_BYTES, "%s", signatures[i].what);
        if (one) snprintf(way, WAY_BYTES, "%s", one);
        return FOREIGN;
    }
    return UNKNOWN;
}

static bool recognise(const ends *e, foreign_wanted wanted, char what[WHAT_BYTES],
                      char way[WAY_BYTES]) {
    snprintf(way, WAY_BYTES, "%s", usual_ways[wanted]);
    if (e->head_bytes == 0) {
        snprintf(what, WHAT_BYTES, "empty");
        snprintf(way, WAY_BYTES, "it was not written or fetched completely");
        return true;
    }
    if (wanted == WANTED_CLAIM && has(e, "lockstep.claim/")) return false;
    if (is_torch(e, wanted, what, way)) return true;
    if (e->head_bytes >= 4 && memcmp(e->head, "PK\3\4", 4) == 0) {
        const char *content = zip_content(e, wanted);
        if (content) snprintf(what, WHAT_BYTES, "%s", content);
        return content != NULL;
    }
    const verdict known = by_signature(e, wanted, what, way);
    if (known != UNKNOWN) return known == FOREIGN;
    if (is_onnx(e)) {
        snprintf(what, WHAT_BYTES, "an ONNX model");
        if (wanted == WANTED_TENSORS)
            snprintf(way, WAY_BYTES,
                     "save the state_dict of the PyTorch model that it was made from, with "
                     "safetensors");
        return true;
    }
    return is_text(e, what, way);
}

static size_t read_end(int fd, unsigned char *to, off_t from) {
    const ssize_t got = pread(fd, to, END_BYTES, from);
    return got > 0 ? (size_t)got : 0;
}

status foreign_open_file(const char *doing, int fd, const char *path, foreign_wanted wanted,
                         error *err) {
    struct stat st;
    char what[WHAT_BYTES] = "", way[WAY_BYTES];
    unsigned char *bytes = NULL;
    if (!err) return STATUS_INPUT;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) bytes = memory_new(2, END_BYTES);
    if (!bytes) return err->code;
    ends e = {.path = path, .head = bytes, .tail = bytes + END_BYTES};
    e.head_bytes = read_end(fd, e.head, 0);
    e.tail_bytes = read_end(fd, e.tail, st.st_size > END_BYTES ? st.st_size - END_BYTES : 0);
    if (recognise(&e, wanted, what, way))
        error_set(err, err->code, "%s '%s': it is %s: %s", doing, path, what, way);
    free(bytes);
    return err->code;
}

// Names the file of a folder that is wanted.
static status refuse_folder(const char *doing, const char *path, foreign_wanted wanted,
                            error *err) {
    static const char *const names[WANTED_KINDS][3] = {
        [WANTED_TENSORS] = {"model.st.zst", "train/model.st.zst", "model.safetensors"},
        [WANTED_CLAIM] = {"claim.yaml"},
    };
    for (int i = 0; i < 3 && names[wanted][i]; i++) {
        char *inside = memory_format("%s/%s", path, names[wanted][i]);
        const bool there = access(inside, F_OK) == 0;
        if (there)
            error_set(err, err->code, "%s '%s': it is a folder: pass '%s'", doing, path, inside);
        free(inside);
        if (there) return err->code;
    }
    return error_set(err, err->code, "%s '%s': it is a folder: %s", doing, path,
                     usual_ways[wanted]);
}

status foreign_file(const char *doing, const char *path, foreign_wanted wanted, error *err) {
    struct stat st;
    if (!err) return STATUS_INPUT;
    if (stat(path, &st) != 0) return err->code;
    if (S_ISDIR(st.st_mode)) return refuse_folder(doing, path, wanted, err);
    if (!S_ISREG(st.st_mode)) return err->code;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return err->code;
    foreign_open_file(doing, fd, path, wanted, err);
    close(fd);
    return err->code;
}
