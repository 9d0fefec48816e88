// SPDX-License-Identifier: MIT
#include "data/images/image_folder.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/paths.h"
#include "base/printable.h"
#include "base/spelling.h"
#include "base/text.h"
#include "data/images/image_tree.h"
#include "data/labels.h"
#include "data/source/archive.h"

#define CONVERT "convert them: mogrify -format png FILES"

// In image_entry.list: the folder of a class that was not chosen, and one without class folders.
enum { UNCHOSEN = -2, UNSORTED = -3 };

static const char BLANKS[] = " \t";

// ---- The tree ----

static const char *name_at(const image_folder *f, size_t at) {
    return paths_name(f->tree.entries[at].path);
}

// Hidden files and folders are always left out.
static bool is_folder(const image_folder *f, size_t at) {
    const image_entry *e = &f->tree.entries[at];
    return e->folder && !e->hidden;
}

static bool is_picture(const image_folder *f, size_t at) {
    const image_entry *e = &f->tree.entries[at];
    return !e->folder && !e->hidden && image_ending_of(e->path) == ENDING_READ;
}

typedef struct content {
    bool folders;      // in the folder itself
    size_t own, inner; // pictures of any format: in it, and in its folders
} folder_content;

static folder_content content_of(const image_folder *f, size_t at) {
    folder_content c = {0};
    for (size_t k = at + 1, end = image_tree_end(&f->tree, at); k < end; k++) {
        const image_entry *e = &f->tree.entries[k];
        const bool directly = e->depth == f->tree.entries[at].depth + 1;
        const bool picture = !e->folder && !e->hidden && image_ending_of(e->path) != ENDING_NONE;
        c.folders |= directly && is_folder(f, k);
        c.own += directly && picture;
        c.inner += !directly && picture;
    }
    return c;
}

// Does it look like a folder of class folders? A class may have folders, too, but mostly beside
// pictures of its own.
static bool is_nested(const image_folder *f, size_t at) {
    const folder_content c = content_of(f, at);
    return c.folders && c.inner >= c.own;
}

// Returns the next folder in folder `at`, after its entry `k`; its end if there is none.
static size_t next_folder(const image_folder *f, size_t at, size_t k) {
    const size_t end = image_tree_end(&f->tree, at);
    k = k == at ? at + 1 : image_tree_end(&f->tree, k);
    while (k < end && !is_folder(f, k)) k = image_tree_end(&f->tree, k);
    return k;
}

// Are its pictures in folders that no class is called, such as `images`? Their classes are then in
// a file.
static bool is_unsorted(const image_folder *f, size_t at) {
    const size_t end = image_tree_end(&f->tree, at), first = next_folder(f, at, at);
    for (size_t k = first; k < end; k = next_folder(f, at, k))
        if (image_role_of(name_at(f, k)) != IMAGE_ROLE_CONTENT) return false;
    return first < end;
}

// Is it a folder that holds something else about the pictures, such as labels in files?
static bool is_beside(const image_folder *f, size_t at) {
    const folder_content c = content_of(f, at);
    return image_role_of(name_at(f, at)) == IMAGE_ROLE_CONTENT && c.own + c.inner == 0;
}

// ---- What is left out ----

static image_left describe(const image_folder *f, size_t at) {
    const image_entry *e = &f->tree.entries[at];
    const image_ending ending = image_ending_of(e->path);
    if (e->hidden)
        return (image_left){LEFT_HIDDEN, e->path, 1, ending != ENDING_NONE,
                            "names that begin with a dot"};
    if (ending == ENDING_READ)
        return (image_left){LEFT_STRAY, e->path, 1, 1, "pictures that are in no class folder"};
    if (ending == ENDING_OTHER)
        return (image_left){LEFT_FORMAT, e->path, 1, 1,
                            "pictures that are neither JPEG nor PNG: " CONVERT};
    return (image_left){LEFT_OTHER, e->path, 1, 0, "files that are no pictures"};
}

static image_left describe_folder(const image_folder *f, size_t at) {
    const image_entry *e = &f->tree.entries[at];
    image_left left = {.kind = LEFT_FOLDER, .path = e->path};
    left.why = e->hidden ? "its name begins with a dot" : "neither training nor test pictures";
    if (e->list == UNSORTED)
        left.why = "no class folders are in it, and labels in files are not read";
    if (e->list == UNCHOSEN) {
        left.kind = LEFT_UNCHOSEN;
        left.why = "of classes that were not chosen";
    }
    for (size_t k = at + 1, end = image_tree_end(&f->tree, at); k < end; k++) {
        const image_entry *inner = &f->tree.entries[k];
        left.files += !inner->folder;
        left.pictures += !inner->folder && image_ending_of(inner->path) != ENDING_NONE;
    }
    return left;
}

static void leave(image_folder *f, image_left left) {
    for (size_t i = 0; i < f->left_count; i++) {
        image_left *same = &f->left[i];
        if (same->kind != left.kind || left.kind == LEFT_FOLDER) continue;
        same->files += left.files;
        same->pictures += left.pictures;
        return;
    }
    if (!left.files) return;
    f->left = memory_grow(f->left, &f->left_capacity, f->left_count + 1, sizeof *f->left);
    f->left[f->left_count++] = left;
}

// Whatever is in no list is left out, by this one loop: nothing can be forgotten.
static void leave_others(image_folder *f) {
    for (size_t at = 0, next; at < f->tree.count; at = next) {
        const image_entry *e = &f->tree.entries[at];
        next = at + 1;
        if (e->list >= 0) continue;
        if (e->folder) next = image_tree_end(&f->tree, at);
        leave(f, e->folder ? describe_folder(f, at) : describe(f, at));
    }
}

size_t image_folder_left(const image_folder *f) {
    size_t all = 0;
    for (size_t i = 0; i < f->left_count; i++) all += f->left[i].files;
    return all;
}

// ---- Classes ----

// Adds the picture `at` of the class folder `of`.
static void add_file(image_folder *f, int list, size_t of, size_t at, int class) {
    image_list *l = &f->lists[list];
    image_entry *e = &f->tree.entries[at];
    const char *name = e->path + strlen(f->tree.entries[of].path) + 1;
    if (strchr(name, '/') && !f->inner++) f->first_inner = e->path;
    l->files = memory_grow(l->files, &l->capacity, l->count + 1, sizeof *l->files);
    e->list = list;
    e->place = l->count;
    l->files[l->count++] = (image_file){e->path, name, class};
}

static status no_picture(const image_folder *f, size_t at, error *err) {
    const char *class = f->tree.entries[at].path;
    size_t other = 0;
    bool pictures = false;
    for (size_t k = at + 1, end = image_tree_end(&f->tree, at); k < end && !pictures; k++) {
        const image_entry *e = &f->tree.entries[k];
        pictures = image_ending_of(e->path) == ENDING_OTHER;
        if (pictures || (!other && !e->folder && !e->hidden)) other = k;
    }
    return error_set(err, STATUS_INPUT,
                     "cannot import '%s': class '%s' has no .jpg, .jpeg or .png%s%s%s%s", f->path,
                     class, other ? ", but '" : "", other ? f->tree.entries[other].path : "",
                     other ? "' and the like: " : "",
                     pictures ? CONVERT
                     : other  ? "if it is no class, move it out of the way; files with other "
                                "endings are not read"
                              : "");
}

// A split inside a class comes in the wrong order; other folders in a class are a part of it.
static status check_no_split(const image_folder *f, size_t at, error *err) {
    const size_t end = image_tree_end(&f->tree, at);
    for (size_t k = next_folder(f, at, at); k < end; k = next_folder(f, at, k))
        if (image_role_of(name_at(f, k)) < IMAGE_ROLE_CONTENT)
            return error_set(err, STATUS_INPUT,
                             "cannot import '%s': '%s' is a folder inside a class folder: move its "
                             "pictures into '%s/%s', since the split comes first",
                             f->path, f->tree.entries[k].path, name_at(f, k), name_at(f, at));
    return STATUS_OK;
}

// Lists the pictures below a class folder, as ImageFolder of torchvision does.
static status list_class(image_folder *f, int list, size_t at, int class, error *err) {
    const size_t before = f->lists[list].count, end = image_tree_end(&f->tree, at);
    f->tree.entries[at].list = list;
    for (size_t k = at + 1, next; k < end; k = next) {
        next = k + 1;
        if (is_picture(f, k)) add_file(f, list, at, k, class);
        if (is_folder(f, k)) f->tree.entries[k].list = list;
        if (f->tree.entries[k].folder && f->tree.entries[k].hidden)
            next = image_tree_end(&f->tree, k);
    }
    return f->lists[list].count == before ? no_picture(f, at, err) : STATUS_OK;
}

static status check_class_name(const image_folder *f, const char *name, error *err) {
    const bool utf8 = printable_is_utf8(name);
    bool plain = utf8;
    for (const char *c = name; *c && plain; c++) plain = (unsigned char)*c >= 0x20 && *c != 0x7f;
    if (plain) return STATUS_OK;
    char *shown = text_escaped(name);
    error_set(err, STATUS_INPUT, "cannot import '%s': the class name '%s' %s", f->path, shown,
              utf8            ? "contains control characters: rename the folder"
              : f->is_archive ? "is not UTF-8: if it is in GBK, unpack it with unzip -O GBK, and "
                                "import the folder"
                              : "is not UTF-8: rename the folder; if the names are in GBK, with "
                                "convmv -f GBK -t UTF-8 -r --notest");
    free(shown);
    return STATUS_INPUT;
}

// Returns how many bytes of the names are the same word: "cars_" of cars_train and cars_test.
static size_t shared_word(const image_folder *f, const size_t *folders, size_t count) {
    const char *first = name_at(f, folders[0]);
    size_t shared = strlen(first);
    for (size_t k = 1; k < count; k++) {
        const char *name = name_at(f, folders[k]);
        size_t same = 0;
        while (same < shared && name[same] == first[same]) same++;
        shared = same;
    }
    while (shared && !strchr("_- ", first[shared - 1])) shared--;
    return count > 1 ? shared : 0;
}

// Folders are no classes if all have names of parts of a data set, or one is for training and one
// for testing: the classes are then in a file beside the pictures.
static status check_no_parts(const image_folder *f, const size_t *folders, size_t count,
                             error *err) {
    size_t named[2] = {0}, parts = 0, of[IMAGE_ROLES] = {0};
    const size_t shared = count ? shared_word(f, folders, count) : 0;
    for (size_t k = 0; k < count; k++) {
        const image_role role = image_role_of(name_at(f, folders[k]) + shared);
        of[role]++;
        if (role != IMAGE_ROLE_NONE && parts++ < 2) named[parts - 1] = folders[k];
    }
    const bool split = of[IMAGE_ROLE_TRAIN] && (of[IMAGE_ROLE_TEST] || of[IMAGE_ROLE_VALIDATION]);
    if (!parts || (parts < count && !split)) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot import '%s': '%s'%s%s%s, not of %s: sort the pictures into a folder "
                     "for each class; labels in .csv and other files are not read%s",
                     f->path, f->tree.entries[named[0]].path, parts > 1 ? " and '" : "",
                     parts > 1 ? f->tree.entries[named[1]].path : "",
                     parts > 1 ? "' are names of parts of a data set"
                               : " is the name of a part of a data set",
                     parts > 1 ? "classes" : "a class",
                     count > 1 ? ". If they are classes, name all with --classes" : "");
}

// The number of classes is impossible: perhaps they are still packed.
static status refuse_count(const image_folder *f, size_t count, error *err) {
    const char *packed = NULL;
    for (size_t k = 0; k < f->tree.count && count < 2 && !packed; k++) {
        const image_entry *e = &f->tree.entries[k];
        if (!e->folder && !e->hidden && archive_ending(e->path, strlen(e->path))) packed = e->path;
    }
    return error_set(err, STATUS_INPUT,
                     "cannot import '%s': %zu folder%s in it, expected one for each of 2 to %d "
                     "classes, with its pictures in it%s%s%s",
                     f->path, count, count == 1 ? "" : "s", LABELS_MAX_CLASSES,
                     packed ? ": unpack '" : "", packed ? packed : "",
                     packed ? "' and the like" : "");
}

static status take_classes(image_folder *f, const size_t *folders, size_t count, error *err) {
    if (count < 2 || count > LABELS_MAX_CLASSES) return refuse_count(f, count, err);
    f->classes = memory_new(count, sizeof *f->classes);
    f->class_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        f->classes[i] = name_at(f, folders[i]);
        NEED(check_class_name(f, f->classes[i], err));
        for (size_t k = 0; k < i && !f->alike[0]; k++)
            if (spelling_alike(f->classes[k], f->classes[i], BLANKS)) {
                f->alike[0] = f->classes[k];
                f->alike[1] = f->classes[i];
            }
    }
    return STATUS_OK;
}

// Class `one` is in part `in` only. Does the other part have it in another spelling?
static status refuse_class(const image_folder *f, const char *one, int in, const size_t *folders,
                           size_t count, error *err) {
    const size_t others = in ? (size_t)f->class_count : count;
    for (size_t i = 0; i < others; i++) {
        const char *other = in ? f->classes[i] : name_at(f, folders[i]);
        if (spelling_alike(one, other, BLANKS))
            return error_set(err, STATUS_INPUT,
                             "cannot import '%s': class '%s' in '%s' and '%s' in '%s' differ in "
                             "case or blanks alone: rename one folder",
                             f->path, one, f->parts[in], other, f->parts[!in]);
    }
    return error_set(err, STATUS_INPUT, "cannot import '%s': class '%s' is in '%s' only", f->path,
                     one, f->parts[in]);
}

static status check_same_classes(const image_folder *f, const size_t *folders, size_t count,
                                 error *err) {
    for (int k = 0; k < f->class_count || k < (int)count; k++) {
        const char *first = k < f->class_count ? f->classes[k] : NULL;
        const char *second = k < (int)count ? name_at(f, folders[k]) : NULL;
        if (first && second && strcmp(first, second) == 0) continue;
        const bool lacks = first && (!second || strcmp(first, second) < 0);
        return refuse_class(f, lacks ? first : second, !lacks, folders, count, err);
    }
    return STATUS_OK;
}

// ---- Splits ----

// Keeps the folders of the classes wanted, in that order.
static status choose(image_folder *f, const yaml_node *wanted, size_t *folders, size_t *count,
                     error *err) {
    size_t *chosen = memory_new(wanted->count, sizeof *chosen);
    const char **names = memory_new(*count, sizeof *names);
    status rc = STATUS_OK;
    for (size_t k = 0; k < *count; k++) {
        names[k] = name_at(f, folders[k]);
        f->tree.entries[folders[k]].list = UNCHOSEN;
    }
    TRY(labels_choose(wanted, names, *count, chosen, err));
    for (size_t i = 0; i < wanted->count; i++) chosen[i] = folders[chosen[i]];
    memcpy(folders, chosen, wanted->count * sizeof *folders);
    *count = wanted->count;
out:
    free(chosen);
    free(names);
    return rc;
}

// Fills one list from the class folders in folder `at`.
static status list_part(image_folder *f, int list, size_t at, const yaml_node *wanted, error *err) {
    size_t *folders = NULL, count = 0, capacity = 0;
    status rc = STATUS_OK;
    f->tree.entries[at].list = list;
    for (size_t k = next_folder(f, at, at), end = image_tree_end(&f->tree, at); k < end;
         k = next_folder(f, at, k)) {
        folders = memory_grow(folders, &capacity, count + 1, sizeof *folders);
        folders[count++] = k;
    }
    TRY(wanted ? choose(f, wanted, folders, &count, err) : check_no_parts(f, folders, count, err));
    TRY(list ? check_same_classes(f, folders, count, err) : take_classes(f, folders, count, err));
    for (size_t k = 0; k < count && !wanted; k++) TRY(check_no_split(f, folders[k], err));
    for (size_t k = 0; k < count; k++) TRY(list_class(f, list, folders[k], (int)k, err));
out:
    free(folders);
    return rc;
}

static status no_test(const image_folder *f, size_t train, size_t other, error *err) {
    const char *path = f->tree.entries[train].path;
    return error_set(err, STATUS_INPUT,
                     "cannot import '%s': '%s' holds class folders, and beside it is '%s', but no "
                     "folder of class folders called 'test' or 'val': name the one with the test "
                     "pictures so, or import '%s' alone%s%s%s%s",
                     f->path, path, f->tree.entries[other].path, path,
                     f->is_archive ? "" : ": --from ", f->is_archive ? "" : f->path,
                     f->is_archive ? ", unpacked" : "/", f->is_archive ? "" : path);
}

// Is there a folder of that name in folder `at`?
static bool has_folder(const image_folder *f, size_t at, const char *name) {
    const size_t end = image_tree_end(&f->tree, at);
    for (size_t k = next_folder(f, at, at); k < end; k = next_folder(f, at, k))
        if (strcmp(name_at(f, k), name) == 0) return true;
    return false;
}

// Counts the folders in folder `one` that all folders in folder `top` have. Two and more are
// classes, rather than parts of every class.
static size_t count_common(const image_folder *f, size_t top, size_t one) {
    const size_t end = image_tree_end(&f->tree, one), last = image_tree_end(&f->tree, top);
    size_t common = 0;
    for (size_t k = next_folder(f, one, one); k < end; k = next_folder(f, one, k)) {
        bool all = image_role_of(name_at(f, k)) != IMAGE_ROLE_CONTENT;
        for (size_t other = next_folder(f, top, top); all && other < last;
             other = next_folder(f, top, other))
            all = has_folder(f, other, name_at(f, k));
        common += all;
    }
    return common;
}

// Is there a folder of a split, with class folders, in folder `at`?
static bool holds_split(const image_folder *f, size_t at) {
    const size_t end = image_tree_end(&f->tree, at);
    for (size_t k = next_folder(f, at, at); k < end; k = next_folder(f, at, k))
        if (image_role_of(name_at(f, k)) < IMAGE_ROLE_CONTENT && is_nested(f, k)) return true;
    return false;
}

// Refuses folders that may be parts of a data set by other names: none has a picture of its own,
// and the same class folders are in each, or folders of a split.
static status check_known_parts(const image_folder *f, size_t top, size_t one, size_t other,
                                error *err) {
    const size_t end = image_tree_end(&f->tree, top);
    bool split = false;
    for (size_t k = one; k < end && !split; k = next_folder(f, top, k)) split = holds_split(f, k);
    if (!split && count_common(f, top, one) < 2) return STATUS_OK;
    return error_set(err, STATUS_INPUT,
                     "cannot import '%s': '%s' and '%s' hold folders instead of pictures: if they "
                     "are training and test pictures, name them 'train' and 'test'; if they are "
                     "classes, name all with --classes; else put the class folders side by side",
                     f->path, f->tree.entries[one].path, f->tree.entries[other].path);
}

static status same_role(const image_folder *f, size_t one, size_t other, error *err) {
    return error_set(err, STATUS_INPUT,
                     "cannot import '%s': '%s' and '%s' have the names of one split: rename one, "
                     "or move it away",
                     f->path, f->tree.entries[one].path, f->tree.entries[other].path);
}

// The only folder in a folder is entered, if it holds folders: archives often have one.
static size_t find_top(image_folder *f) {
    for (size_t top = 0;;) {
        size_t folders = 0, inner = 0;
        for (size_t k = top + 1, end = image_tree_end(&f->tree, top); k < end;
             k = image_tree_end(&f->tree, k))
            if (is_folder(f, k) && !is_beside(f, k)) folders++, inner = k;
        f->tree.entries[top].list = 0;
        if (folders != 1 || !is_nested(f, inner)) return top;
        top = inner;
    }
}

// Takes a part away whose pictures lie in no class folders.
static void drop_unsorted(image_folder *f, size_t *part, size_t *dropped) {
    if (!*part || !is_unsorted(f, *part)) return;
    f->tree.entries[*part].list = UNSORTED;
    *part = 0;
    ++*dropped;
}

// What the folders in a folder are.
typedef struct folder_parts {
    size_t found[IMAGE_ROLES]; // those of class folders, by their role
    size_t first[2], count;    // all
    size_t bare;               // those without pictures of their own
} folder_parts;

static status look_at_parts(const image_folder *f, size_t top, folder_parts *p, error *err) {
    const size_t end = image_tree_end(&f->tree, top);
    *p = (folder_parts){0};
    for (size_t k = next_folder(f, top, top); k < end; k = next_folder(f, top, k)) {
        const folder_content c = content_of(f, k);
        if (p->count < 2) p->first[p->count] = k;
        p->count++;
        p->bare += c.folders && c.own == 0;
        if (!is_nested(f, k)) continue; // a class may be called 'train'
        const image_role role = image_role_of(name_at(f, k));
        if (role < IMAGE_ROLE_CONTENT && p->found[role])
            return same_role(f, p->found[role], k, err);
        p->found[role] = k;
    }
    return STATUS_OK;
}

// Finds the folder of all pictures, or those of training and test pictures, in folder `top`.
static status find_parts(image_folder *f, size_t top, bool chosen, size_t parts[2], error *err) {
    folder_parts p;
    size_t dropped = 0;
    NEED(look_at_parts(f, top, &p, err));
    const size_t train = p.found[IMAGE_ROLE_TRAIN];
    if (train && !is_unsorted(f, train)) {
        drop_unsorted(f, &p.found[IMAGE_ROLE_TEST], &dropped);
        drop_unsorted(f, &p.found[IMAGE_ROLE_VALIDATION], &dropped);
    }
    parts[0] = train ? train : top;
    parts[1] = p.found[IMAGE_ROLE_TEST] ? p.found[IMAGE_ROLE_TEST] : p.found[IMAGE_ROLE_VALIDATION];
    if (!train) parts[1] = 0;
    if (train && !parts[1] && dropped + 1 < p.count)
        return no_test(f, train, p.first[p.first[0] == train], err);
    if (!train && !chosen && p.count > 1 && p.bare == p.count)
        return check_known_parts(f, top, p.first[0], p.first[1], err);
    return STATUS_OK;
}

status image_folder_list(const char *path, bool is_archive, image_tree *t, const yaml_node *wanted,
                         image_folder *f, error *err) {
    size_t parts[2] = {0};
    *f = (image_folder){.path = path, .is_archive = is_archive, .tree = *t};
    *t = (image_tree){0};
    const size_t top = find_top(f);
    NEED(find_parts(f, top, wanted != NULL, parts, err));
    f->is_split = parts[1] != 0;
    for (int k = 0; k < 1 + f->is_split; k++) f->parts[k] = f->tree.entries[parts[k]].path;
    for (int k = 0; k < 1 + f->is_split; k++) NEED(list_part(f, k, parts[k], wanted, err));
    leave_others(f);
    return STATUS_OK;
}

void image_folder_release(image_folder *f) {
    free(f->classes);
    for (int k = 0; k < 2; k++) free(f->lists[k].files);
    free(f->left);
    image_tree_release(&f->tree);
    *f = (image_folder){0};
}

static void hash_one(const image_folder *f, const image_file *file, sha256 *all) {
    char content[SHA256_TEXT_BYTES] = "";
    struct stat st;
    char *path = memory_format("%s/%s", f->path, file->path);
    // Opening a pipe would block until it has a writer.
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
        sha256_file(path, content, NULL) != STATUS_OK)
        content[0] = '\0';
    sha256_update(all, file->path, strlen(file->path) + 1);
    sha256_update(all, content, strlen(content) + 1);
    free(path);
}

void image_folder_hash(const image_folder *f, char hash[SHA256_TEXT_BYTES]) {
    sha256 *all = sha256_new();
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < f->lists[k].count; i++) hash_one(f, &f->lists[k].files[i], all);
    sha256_finish(all, hash);
    sha256_free(all);
}
