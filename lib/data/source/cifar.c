// SPDX-License-Identifier: MIT
#include "data/source/cifar.h"

#include <string.h>

#include "data/source/cifar_python.h"

enum { SIDE = 32, CHANNELS = 3, PIXEL_BYTES = CIFAR_PIXEL_BYTES };

typedef struct cifar_kind {
    member_set set;         // first: the part that other files see
    int label_bytes, label; // bytes before the pixels, and the label's index in them
    int classes;
    const char *const *class_names;
    uint32_t samples[RAW_SPLITS];
    struct {
        int split;
        uint32_t first; // its first record is this sample of the split
    } places[MEMBERS_MAX];
} cifar_kind;

// clang-format off
static const member cifar10_members[] = {
    {.name = "data_batch_1.bin", .alias = "data_batch_1", .bytes = 30730000,
     .sha256 = "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"},
    {.name = "data_batch_2.bin", .alias = "data_batch_2", .bytes = 30730000,
     .sha256 = "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"},
    {.name = "data_batch_3.bin", .alias = "data_batch_3", .bytes = 30730000,
     .sha256 = "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"},
    {.name = "data_batch_4.bin", .alias = "data_batch_4", .bytes = 30730000,
     .sha256 = "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"},
    {.name = "data_batch_5.bin", .alias = "data_batch_5", .bytes = 30730000,
     .sha256 = "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"},
    {.name = "test_batch.bin", .alias = "test_batch", .bytes = 30730000,
     .sha256 = "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"},
    // The class names. They are built in, so a mirror may lack the file, but not alter it.
    {.name = "batches.meta.txt", .bytes = 61, .optional = true,
     .sha256 = "558e74b5e208382e186da55784b4bac2cd52e558448e1b5800990fdb28ed8033"},
};

static const member cifar100_members[] = {
    {.name = "train.bin", .alias = "train", .bytes = 153700000,
     .sha256 = "f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29"},
    {.name = "test.bin", .alias = "test", .bytes = 30740000,
     .sha256 = "d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a"},
};

static const char *const cifar10_classes[] = {
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
};

static const char *const cifar100_classes[] = {
    "apple", "aquarium_fish", "baby", "bear", "beaver", "bed", "bee", "beetle", "bicycle",
    "bottle", "bowl", "boy", "bridge", "bus", "butterfly", "camel", "can", "castle", "caterpillar",
    "cattle", "chair", "chimpanzee", "clock", "cloud", "cockroach", "couch", "crab", "crocodile",
    "cup", "dinosaur", "dolphin", "elephant", "flatfish", "forest", "fox", "girl", "hamster",
    "house", "kangaroo", "keyboard", "lamp", "lawn_mower", "leopard", "lion", "lizard", "lobster",
    "man", "maple_tree", "motorcycle", "mountain", "mouse", "mushroom", "oak_tree", "orange",
    "orchid", "otter", "palm_tree", "pear", "pickup_truck", "pine_tree", "plain", "plate", "poppy",
    "porcupine", "possum", "rabbit", "raccoon", "ray", "road", "rocket", "rose", "sea", "seal",
    "shark", "shrew", "skunk", "skyscraper", "snail", "snake", "spider", "squirrel", "streetcar",
    "sunflower", "sweet_pepper", "table", "tank", "telephone", "television", "tiger", "tractor",
    "train", "trout", "tulip", "turtle", "wardrobe", "whale", "willow_tree", "wolf", "woman",
    "worm",
};
// clang-format on

#define COUNT(array) (sizeof(array) / sizeof *(array))
_Static_assert(COUNT(cifar10_classes) == 10 && COUNT(cifar100_classes) == 100, "class names");

static const cifar_kind kinds[2]; // each set names the other

static const cifar_kind kinds[2] = {
    {
        .set = {.dataset = "cifar10",
                .setting = "CIFAR10_FROM",
                .members = cifar10_members,
                .count = COUNT(cifar10_members),
                .archive = true,
                .folders = {"cifar-10-batches-bin", "cifar-10-batches-py"},
                .convert = cifar_python_convert,
                .url = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                .alike = &kinds[1].set},
        .label_bytes = 1,
        .label = 0,
        .classes = COUNT(cifar10_classes),
        .class_names = cifar10_classes,
        .samples = {50000, 10000},
        .places = {{RAW_TRAIN, 0},
                   {RAW_TRAIN, 10000},
                   {RAW_TRAIN, 20000},
                   {RAW_TRAIN, 30000},
                   {RAW_TRAIN, 40000},
                   {RAW_TEST, 0},
                   {-1, 0}},
    },
    {
        .set = {.dataset = "cifar100",
                .setting = "CIFAR100_FROM",
                .members = cifar100_members,
                .count = COUNT(cifar100_members),
                .archive = true,
                .folders = {"cifar-100-binary", "cifar-100-python"},
                .convert = cifar_python_convert,
                .url = "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
                .alike = &kinds[0].set},
        .label_bytes = 2,
        .label = 1,
        .classes = COUNT(cifar100_classes),
        .class_names = cifar100_classes,
        .samples = {50000, 10000},
        .places = {{RAW_TRAIN, 0}, {RAW_TEST, 0}},
    },
};

const member_set *cifar_find(const char *name) {
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (strcmp(kinds[i].set.dataset, name) == 0) return &kinds[i].set;
    return NULL;
}

const char *const *cifar_class_names(const member_set *set, size_t *count) {
    const cifar_kind *kind = (const cifar_kind *)set; // cifar_find returns no others
    *count = (size_t)kind->classes;
    return kind->class_names;
}

typedef struct taking {
    const cifar_kind *kind;
    raw_dataset *dataset;
} taking;

// A member_sink. Chunks do not end at record boundaries, so each byte's place follows from its
// offset.
static status take(void *context, size_t which, uint64_t offset, const uint8_t *data, size_t bytes,
                   error *err) {
    (void)err;
    const taking *t = context;
    const cifar_kind *k = t->kind;
    if (k->places[which].split < 0) return STATUS_OK;
    const raw_split *s = &t->dataset->splits[k->places[which].split];
    const size_t record = (size_t)k->label_bytes + PIXEL_BYTES, labels = (size_t)k->label_bytes;
    for (size_t at = 0; at < bytes;) {
        size_t sample = k->places[which].first + (size_t)((offset + at) / record);
        size_t inside = (size_t)((offset + at) % record), run = 1;
        if (inside < labels) {
            if (inside == (size_t)k->label) s->labels[sample] = data[at];
        } else {
            run = record - inside < bytes - at ? record - inside : bytes - at;
            memcpy(s->images + sample * PIXEL_BYTES + (inside - labels), data + at, run);
        }
        at += run;
    }
    return STATUS_OK;
}

status cifar_read(const member_set *set, const char *const *sources, size_t source_count,
                  const logger *log, raw_dataset *r, member_origin *origin, error *err) {
    const cifar_kind *kind = (const cifar_kind *)set; // cifar_find returns no others
    *r = (raw_dataset){.name = kind->set.dataset,
                       .channels = CHANNELS,
                       .height = SIDE,
                       .width = SIDE,
                       .classes = kind->classes,
                       .class_names = kind->class_names};
    taking t = {kind, r};
    status rc = STATUS_OK;
    for (int i = 0; i < RAW_SPLITS; i++) {
        r->splits[i].samples = kind->samples[i];
        TRY(raw_dataset_allocate(r, i, err));
    }
    TRY(members_read(&kind->set, sources, source_count, log, take, &t, origin, err));
    TRY(raw_dataset_check_labels(r, err));
out:
    return rc;
}
