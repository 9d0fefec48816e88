// augment.h - random crops, flips and affine maps of images, on bytes, before normalisation.
//
// What happens to a sample is a function of (seed, place in the list, epoch, sample id) alone: any
// number of loader workers, ranks and restarts gives the same pixels. Pixels that come from outside
// of the image are 0.
//
// Geometry is torchvision's, on PIL images: the same parameters give the same pixels. Source
// coordinates are integers (16.16 fixed point, as in Pillow), made once an image from a matrix in
// double; its sine and cosine come from sums and products alone, so that no C library matters.
#ifndef LOCKSTEP_DATA_AUGMENT_H
#define LOCKSTEP_DATA_AUGMENT_H

#include <stddef.h>
#include <stdint.h>

enum { AUGMENT_MAX = 16, AUGMENT_MAX_PADDING = 64 };

typedef enum augment_kind {
    AUGMENT_RANDOM_CROP,     // RandomCrop(size of the image, padding)
    AUGMENT_HORIZONTAL_FLIP, // RandomHorizontalFlip(p)
    AUGMENT_RANDOM_AFFINE,   // RandomAffine(degrees, translate, scale), nearest, about the centre
} augment_kind;

typedef struct augmentation {
    augment_kind kind;
    int padding;         // crop: 0 … AUGMENT_MAX_PADDING
    double p;            // flip: probability
    double degrees;      // affine: the angle is in [-degrees, degrees); 0 … 180
    double translate[2]; // affine: at most these parts of width and height, either way; 0 … 1
    double scale[2];     // affine: smallest, largest; above 0
} augmentation;

// Done in order, each on the result of the one before.
typedef struct augment_list {
    int count;
    augmentation items[AUGMENT_MAX];
} augment_list;

typedef struct image_size {
    int channels, height, width;
} image_size;

static inline size_t image_bytes(image_size size) {
    return (size_t)size.channels * (size_t)size.height * (size_t)size.width;
}

// ---- A sample ----

typedef struct augment_key {
    uint64_t seed;
    uint32_t epoch, id;
} augment_key;

// Writes sample `from` ([C][H][W]), augmented, to `to`; `scratch` has room for a second image. The
// three do not overlap. An empty list copies.
void augment_sample(const augment_list *list, const augment_key *key, image_size size,
                    const uint8_t *from, uint8_t *scratch, uint8_t *to);

// ---- What is chosen for a sample ----
//
// Elements of the stream (purpose, layer = place in the list, epoch, sample id): crop (RANDOM_CROP)
// row, column; flip (RANDOM_FLIP) one uniform number, compared with p; affine (RANDOM_AFFINE)
// angle, shift to the right, shift down, scale.

typedef struct crop_choice {
    int top, left; // in the padded image: 0 … 2·padding
} crop_choice;

typedef struct affine_choice {
    double angle; // degrees, clockwise
    int right, down;
    double scale;
} affine_choice;

crop_choice augment_choose_crop(const augmentation *a, const augment_key *key, int place);
int augment_choose_flip(const augmentation *a, const augment_key *key, int place); // 1: flip
affine_choice augment_choose_affine(const augmentation *a, const augment_key *key, int place,
                                    image_size size);

// ---- What is done to the pixels ----

// Rows and columns beginning at (top - padding, left - padding): as large as the image was.
void image_crop(image_size size, int padding, crop_choice c, const uint8_t *from, uint8_t *to);
void image_flip(image_size size, const uint8_t *from, uint8_t *to);
// torchvision.transforms.functional.affine(image, angle, (right, down), scale, shear=0, nearest).
void image_affine(image_size size, affine_choice c, const uint8_t *from, uint8_t *to);

#endif
