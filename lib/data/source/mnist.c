// SPDX-License-Identifier: MIT
#include "data/source/mnist.h"

#include <string.h>

#include "base/memory.h"
#include "data/source/idx.h"

enum { SIDE = 28, CLASSES = 10, MEMBERS = 4 };

typedef struct mnist_kind {
    member_set set; // first: the part that other files see
    const char *const *class_names;
} mnist_kind;

// clang-format off
// Both in the order: training images, training labels, test images, test labels.
static const member mnist_files[MEMBERS] = {
    {.name = "train-images-idx3-ubyte", .bytes = 47040016,
     .sha256 = "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
    {.name = "train-labels-idx1-ubyte", .bytes = 60008,
     .sha256 = "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
    {.name = "t10k-images-idx3-ubyte", .bytes = 7840016,
     .sha256 = "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
    {.name = "t10k-labels-idx1-ubyte", .bytes = 10008,
     .sha256 = "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
};

static const member fashion_files[MEMBERS] = {
    {.name = "train-images-idx3-ubyte", .bytes = 47040016,
     .packed_sha256 = "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
    {.name = "train-labels-idx1-ubyte", .bytes = 60008,
     .packed_sha256 = "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
    {.name = "t10k-images-idx3-ubyte", .bytes = 7840016,
     .packed_sha256 = "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
    {.name = "t10k-labels-idx1-ubyte", .bytes = 10008,
     .packed_sha256 = "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"},
};

static const char *const mnist_classes[CLASSES] = {
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9",
};

static const char *const fashion_classes[CLASSES] = {
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
    "Ankle boot",
};

// clang-format on

static const mnist_kind kinds[2]; // each set names the other

static const mnist_kind kinds[2] = {
    {.set = {.dataset = "mnist",
             .setting = "MNIST_FROM",
             .members = mnist_files,
             .count = MEMBERS,
             .folders = {"raw", "MNIST/raw"},
             .url = "https://ossci-datasets.s3.amazonaws.com/mnist/",
             .alike = &kinds[1].set},
     .class_names = mnist_classes},
    {.set = {.dataset = "fashion-mnist",
             .setting = "FASHION_MNIST_FROM",
             .members = fashion_files,
             .count = MEMBERS,
             .folders = {"raw", "FashionMNIST/raw"},
             .url = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
             .alike = &kinds[0].set},
     .class_names = fashion_classes},
};

const member_set *mnist_find(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].set.dataset, name) == 0) return &kinds[i].set;
    return NULL;
}

const char *const *mnist_class_names(const member_set *set, size_t *count) {
    *count = CLASSES;
    return ((const mnist_kind *)set)->class_names; // mnist_find returns no others
}

// A member_sink: keeps each file whole. context: uint8_t *[MEMBERS].
static status take(void *context, size_t which, uint64_t offset, const uint8_t *data, size_t bytes,
                   error *err) {
    (void)err;
    uint8_t *const *files = context;
    memcpy(files[which] + offset, data, bytes);
    return STATUS_OK;
}

// The images and labels of a split stay in their files' buffers, after the headers.
static status parse_split(const mnist_kind *kind, raw_split *s, int first, error *err) {
    const member *files = &kind->set.members[first];
    idx images, labels;
    status rc;
    TRY(idx_parse(s->owned[0], files[0].bytes, files[0].name, 3, &images, err));
    TRY(idx_parse(s->owned[1], files[1].bytes, files[1].name, 1, &labels, err));
    if (images.shape[1] != SIDE || images.shape[2] != SIDE || images.shape[0] != labels.shape[0])
        return error_set(err, STATUS_INPUT,
                         "cannot use '%s': %u images of %u x %u and %u labels, expected %d x %d "
                         "and as many labels as images",
                         files[0].name, images.shape[0], images.shape[1], images.shape[2],
                         labels.shape[0], SIDE, SIDE);
    s->samples = images.shape[0];
    s->images = images.data;
    s->labels = memory_try_new(labels.shape[0], sizeof *s->labels, err);
    s->owned[2] = s->labels;
    if (!s->labels) return STATUS_FAILED;
    for (uint32_t i = 0; i < labels.shape[0]; i++) s->labels[i] = labels.data[i];
out:
    return rc;
}

status mnist_read(const member_set *set, const char *const *sources, size_t source_count,
                  const logger *log, raw_dataset *r, member_origin *origin, error *err) {
    const mnist_kind *kind = (const mnist_kind *)set; // mnist_find returns no others
    *r = (raw_dataset){.name = kind->set.dataset,
                       .channels = 1,
                       .height = SIDE,
                       .width = SIDE,
                       .classes = CLASSES,
                       .class_names = kind->class_names};
    uint8_t *files[MEMBERS];
    status rc = STATUS_FAILED;
    for (int i = 0; i < MEMBERS; i++) {
        files[i] = memory_try_new(kind->set.members[i].bytes, 1, err);
        r->splits[i / 2].owned[i % 2] = files[i];
        if (!files[i]) goto out;
    }
    TRY(members_read(&kind->set, sources, source_count, log, take, files, origin, err));
    for (int i = 0; i < RAW_SPLITS; i++) TRY(parse_split(kind, &r->splits[i], 2 * i, err));
    TRY(raw_dataset_check_labels(r, err));
out:
    return rc;
}
