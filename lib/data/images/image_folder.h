// image_folder.h - the files of a folder of class folders, in an order that does not depend on the
// file system: by class, then by name, in byte order.
//
//     FOLDER/CLASS/FILE.jpg                        one list
//     FOLDER/train/CLASS/FILE.jpg, FOLDER/test/…   two; `val` stands for `test` where that is
//     missing
//
// Files end in .jpg, .jpeg or .png, in capitals too. Names that begin with a dot are passed over,
// other files are counted. Symbolic links are followed.
#ifndef LOCKSTEP_DATA_IMAGES_IMAGE_FOLDER_H
#define LOCKSTEP_DATA_IMAGES_IMAGE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sha256.h"

typedef struct image_file {
    char *path;       // from the folder on: "cats/1.jpg", "train/cats/1.jpg"
    const char *name; // its last part
    int class;
} image_file;

typedef struct image_list {
    image_file *files;
    size_t count, capacity;
} image_list;

typedef struct image_folder {
    const char *path;
    char **classes; // names, sorted
    int class_count;
    bool is_split;       // lists[0]: to train with, lists[1]: to test with; else lists[0]: all
    image_list lists[2]; // every class has a file in every list in use
    size_t passed_over;  // files of other endings
    char *first_passed_over;
} image_folder;

// Lists the files; they are not opened. STATUS_INPUT, naming the folder, for: fewer than 2 classes
// or more than LABELS_MAX_CLASSES, names of classes that are no UTF-8 or have control characters, a
// class without a file, other classes to test with than to train with, folders in a class.
// image_folder_release whatever happens; `path` must outlive it.
status image_folder_list(const char *path, image_folder *f, error *err) MUST_CHECK;
void image_folder_release(image_folder *f);

// The SHA-256 of the names and contents of all files listed: their hash in a manifest. A
// file that cannot be read counts as an empty one.
status image_folder_hash(const image_folder *f, char text[SHA256_TEXT_BYTES],
                         error *err) MUST_CHECK;

#endif
