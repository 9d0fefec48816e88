// SPDX-License-Identifier: MIT
// The reduction tree against sums by plain recursion, and its guarantee: the bits are the same for
// any distribution of the leaves.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/reduction_tree.h"

enum { MAX_SHARDS = 12, MAX_NODES = 2 * REDUCTION_TREE_MAX_DEPTH };

// Shapes that occur in training (single, aligned, uneven tails) and some that do not.
static const struct shape {
    int shards, groups[MAX_SHARDS];
} shapes[] = {
    {1, {1}},
    {1, {2}},
    {1, {4}},
    {1, {7}},
    {1, {16}},
    {1, {33}},
    {2, {1, 1}},
    {3, {1, 1, 1}},
    {4, {1, 1, 1, 1}},
    {4, {2, 2, 2, 1}},
    {4, {5, 5, 4, 4}},
    {5, {3, 0, 2, 0, 1}},
    {3, {0, 0, 6}},
    {12, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
    {12, {2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 0}},
    {7, {3, 3, 3, 3, 3, 3, 2}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void make_tree(reduction_tree *t, int shape) {
    error err;
    assert_int_equal(reduction_tree_init(t, shapes[shape].groups, shapes[shape].shards, &err),
                     STATUS_OK);
}

// `count` vectors of n floats whose sum depends on the order.
static float *make_terms(int count, size_t n) {
    const random_stream s = {.seed = 7, .purpose = RANDOM_SYNTHETIC};
    float *v = malloc((size_t)count * n * sizeof *v);
    assert_non_null(v);
    for (size_t i = 0; i < (size_t)count * n; i++)
        v[i] = (random_uniform(&s, i) - 0.5f) * (float)(1 << (i * 7 % 13));
    return v;
}

// ---- The definition, independently implemented ----

static int cut(int n) {
    int power = 1;
    while (power * 2 < n) power *= 2;
    return power;
}

static float sum_groups(const float *leaf, size_t stride, int n) {
    if (n == 1) return leaf[0];
    const float left = sum_groups(leaf, stride, cut(n));
    return left + sum_groups(leaf + (size_t)cut(n) * stride, stride, n - cut(n));
}

static float sum_shards(const float *leaf, size_t stride, const int *groups, int n) {
    if (n == 1) return sum_groups(leaf, stride, groups[0]);
    size_t skip = 0;
    for (int v = 0; v < cut(n); v++) skip += (size_t)groups[v];
    const float left = sum_shards(leaf, stride, groups, cut(n));
    return left + sum_shards(leaf + skip * stride, stride, groups + cut(n), n - cut(n));
}

static void define(const struct shape *s, const float *leaves, float *out, size_t n) {
    int filled[MAX_SHARDS], count = 0;
    for (int v = 0; v < s->shards; v++)
        if (s->groups[v]) filled[count++] = s->groups[v];
    for (size_t i = 0; i < n; i++) out[i] = sum_shards(leaves + i, n, filled, count);
}

// ---- Shape ----

static void nodes_are_in_post_order(void **state) {
    (void)state;
    for (int k = 0; k < SHAPES; k++) {
        reduction_tree t;
        make_tree(&t, k);
        assert_int_equal(t.count, 2 * t.leaves - 1);
        int leaves = 0;
        for (int i = 0; i < t.count; i++) {
            const tree_node *node = &t.nodes[i];
            if (node->left < 0) {
                assert_int_equal(node->first, leaves);
                assert_int_equal(t.leaf_node[leaves++], i);
                assert_int_equal(node->end, leaves);
                continue;
            }
            assert_int_equal(node->right, i - 1);
            assert_true(node->left < node->right);
            assert_int_equal(node->first, t.nodes[node->left].first);
            assert_int_equal(t.nodes[node->left].end, t.nodes[node->right].first);
            assert_int_equal(node->end, t.nodes[node->right].end);
        }
        assert_int_equal(leaves, t.leaves);
        assert_int_equal(t.nodes[t.count - 1].end, t.leaves);
        reduction_tree_release(&t);
    }
}

static void six_groups_match_the_drawing(void **state) {
    (void)state;
    reduction_tree t;
    error err;
    assert_int_equal(reduction_tree_init(&t, (int[]){6}, 1, &err), STATUS_OK);
    assert_int_equal(t.count, 11);
    assert_int_equal(t.depth, 4);
    int nodes[MAX_NODES];
    assert_int_equal(reduction_tree_cover(&t, 2, 6, nodes), 2);
    assert_int_equal(nodes[0], 5);
    assert_int_equal(nodes[1], 9);
    assert_int_equal(reduction_tree_cover(&t, 0, 6, nodes), 1);
    assert_int_equal(nodes[0], 10);
    assert_int_equal(reduction_tree_cover(&t, 1, 5, nodes), 3);
    assert_int_equal(reduction_tree_cover(&t, 3, 3, nodes), 0);
    reduction_tree_release(&t);
}

static void a_tree_without_leaves(void **state) {
    (void)state;
    reduction_tree t;
    error err;
    float out[3] = {1, 2, 3};
    const float zeros[3] = {0};
    assert_int_equal(reduction_tree_init(&t, (int[]){0, 0}, 2, &err), STATUS_OK);
    assert_int_equal(t.count, 0);
    assert_int_equal(t.depth, 0);
    assert_int_equal(reduction_tree_stack(&t), 0);
    reduction_tree_sum(&t, NULL, NULL, 0, out, 3);
    assert_memory_equal(out, zeros, sizeof out);
    reduction_tree_release(&t);
}

static void too_many_leaves_are_refused(void **state) {
    (void)state;
    reduction_tree t;
    error err;
    assert_int_equal(reduction_tree_init(&t, (int[]){1 << 30, 1}, 2, &err), STATUS_FAILED);
    assert_string_equal(err.message, "cannot make a reduction tree: more than 1073741824 leaves");
    assert_null(t.nodes);
}

// ---- The stack machine ----

// Runs it over leaves [first, end); returns the largest number of sums on the stack.
static int run_stack(const reduction_tree *t, int first, int end, int *stack, int *count) {
    int most = 0;
    *count = 0;
    for (int leaf = first; leaf < end; leaf++) {
        stack[(*count)++] = t->leaf_node[leaf];
        if (*count > most) most = *count;
        for (int m = reduction_tree_merges(t, first, end, leaf); m > 0; m--) {
            const int right = stack[--*count], parent = right + 1;
            assert_int_equal(t->nodes[parent].right, right);
            assert_int_equal(t->nodes[parent].left, stack[*count - 1]);
            stack[*count - 1] = parent;
        }
    }
    return most;
}

static void stack_machine_ends_with_the_cover(void **state) {
    (void)state;
    for (int k = 0; k < SHAPES; k++) {
        reduction_tree t;
        make_tree(&t, k);
        int most = 0;
        for (int first = 0; first < t.leaves; first++) {
            for (int end = first + 1; end <= t.leaves; end++) {
                int stack[MAX_NODES], cover[MAX_NODES], depth;
                const int high = run_stack(&t, first, end, stack, &depth);
                if (high > most) most = high;
                assert_int_equal(reduction_tree_cover(&t, first, end, cover), depth);
                assert_true(depth <= 2 * t.depth);
                assert_memory_equal(stack, cover, (size_t)depth * sizeof *cover);
            }
        }
        assert_int_equal(reduction_tree_stack(&t), most);
        reduction_tree_release(&t);
    }
}

// The owners' sums, pushed and merged, are merged along the same edges as the leaves.
static void merge_covers(const reduction_tree *t, const int *first, int owners) {
    int stack[4 * MAX_NODES], cover[4 * MAX_NODES], terms = 0, count = 0;
    for (int r = 0; r < owners; r++)
        terms += reduction_tree_cover(t, first[r], first[r + 1], cover + terms);
    for (int k = 0; k < terms; k++) {
        const tree_node *node = &t->nodes[cover[k]];
        const int merges = reduction_tree_node_merges(t, cover[k]);
        const int all = reduction_tree_merges(t, 0, t->leaves, node->end - 1);
        assert_int_equal(merges,
                         all - reduction_tree_merges(t, node->first, node->end, node->end - 1));
        stack[count++] = cover[k];
        for (int m = merges; m > 0; m--) {
            const int right = stack[--count], parent = right + 1;
            assert_int_equal(t->nodes[parent].right, right);
            assert_int_equal(t->nodes[parent].left, stack[count - 1]);
            stack[count - 1] = parent;
        }
    }
    assert_int_equal(count, 1);
    assert_int_equal(stack[0], t->count - 1);
}

static void covers_are_merged_like_leaves(void **state) {
    (void)state;
    for (int k = 0; k < SHAPES; k++) {
        reduction_tree t;
        make_tree(&t, k);
        for (int leaf = 0; leaf < t.leaves; leaf++)
            assert_int_equal(reduction_tree_node_merges(&t, t.leaf_node[leaf]),
                             reduction_tree_merges(&t, 0, t.leaves, leaf));
        for (int a = 0; a <= t.leaves; a++)
            for (int b = a; b <= t.leaves; b++) merge_covers(&t, (int[]){0, a, b, t.leaves}, 3);
        reduction_tree_release(&t);
    }
}

static void fewer_leaves_need_no_higher_stack(void **state) {
    (void)state;
    error err;
    for (int groups = 1; groups <= 9; groups++) {
        reduction_tree full, tail;
        const int most[4] = {groups, groups, groups, groups};
        assert_int_equal(reduction_tree_init(&full, most, 4, &err), STATUS_OK);
        for (int left = 1; left < 4 * groups; left++) { // a last step: distributed in turn
            int some[4];
            for (int v = 0; v < 4; v++) some[v] = left / 4 + (v < left % 4);
            assert_int_equal(reduction_tree_init(&tail, some, 4, &err), STATUS_OK);
            assert_true(reduction_tree_stack(&tail) <= reduction_tree_stack(&full));
            assert_true(tail.depth <= full.depth);
            reduction_tree_release(&tail);
        }
        reduction_tree_release(&full);
    }
}

// ---- Sums ----

static void sums_match_the_definition(void **state) {
    (void)state;
    const size_t lengths[] = {1, 3, 16, 1023, 1024, 1025, 2500};
    for (int k = 0; k < SHAPES; k++) {
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            reduction_tree t;
            make_tree(&t, k);
            const size_t n = lengths[l];
            float *leaves = make_terms(t.leaves, n), *expected = malloc(n * sizeof(float));
            float *out = malloc(n * sizeof *out);
            const float *term[64];
            for (int i = 0; i < t.leaves; i++) term[i] = leaves + (size_t)i * n;
            define(&shapes[k], leaves, expected, n);
            reduction_tree_sum(&t, t.leaf_node, term, t.leaves, out, n);
            assert_memory_equal(out, expected, n * sizeof *out);
            free(out), free(expected), free(leaves);
            reduction_tree_release(&t);
        }
    }
}

// Sums each owner's cover first, as ranks do, then all of them; `into` selects the destination: a
// term, or (-1) separate memory.
static void sum_by_owners(const reduction_tree *t, const float *leaves, size_t n, const int *first,
                          int owners, int into, float *out) {
    int cover[4 * MAX_NODES], terms = 0;
    for (int r = 0; r < owners; r++)
        terms += reduction_tree_cover(t, first[r], first[r + 1], cover + terms);
    float *sums = malloc((size_t)terms * n * sizeof *sums), *own = malloc(n * sizeof *own);
    const float *term[4 * MAX_NODES];
    for (int k = 0; k < terms; k++) {
        const tree_node *node = &t->nodes[cover[k]];
        const float *below[64];
        for (int i = node->first; i < node->end; i++) below[i - node->first] = leaves + i * (int)n;
        reduction_tree_sum_part(t, cover[k], t->leaf_node + node->first, below,
                                node->end - node->first, 0, sums + (size_t)k * n, n);
        term[k] = sums + (size_t)k * n;
    }
    float *to = into < 0 ? own : sums + (size_t)(into % terms) * n;
    reduction_tree_sum(t, cover, term, terms, to, n);
    memcpy(out, to, n * sizeof *out);
    free(own), free(sums);
}

static void bits_do_not_depend_on_the_owners(void **state) {
    (void)state;
    enum { N = 1100 };
    for (int k = 0; k < SHAPES; k++) {
        reduction_tree t;
        make_tree(&t, k);
        float *leaves = make_terms(t.leaves, N), expected[N], out[N];
        define(&shapes[k], leaves, expected, N);
        for (int a = 0; a <= t.leaves; a++) { // three owners, any of which may have no leaves
            for (int b = a; b <= t.leaves; b++) {
                const int first[] = {0, a, b, t.leaves};
                sum_by_owners(&t, leaves, N, first, 3, a % 4 - 1, out);
                assert_memory_equal(out, expected, sizeof out);
            }
        }
        free(leaves);
        reduction_tree_release(&t);
    }
}

static void all_partitions_of_seven_leaves(void **state) {
    (void)state;
    enum { N = 5, LEAVES = 7 };
    reduction_tree t;
    error err;
    const struct shape s = {3, {3, 2, 2}};
    assert_int_equal(reduction_tree_init(&t, s.groups, s.shards, &err), STATUS_OK);
    float *leaves = make_terms(LEAVES, N), expected[N], out[N];
    define(&s, leaves, expected, N);
    for (unsigned cuts = 0; cuts < 1u << (LEAVES - 1); cuts++) {
        int first[LEAVES + 1] = {0}, owners = 1;
        for (int i = 1; i < LEAVES; i++)
            if (cuts & 1u << (i - 1)) first[owners++] = i;
        first[owners] = LEAVES;
        sum_by_owners(&t, leaves, N, first, owners, -1, out);
        assert_memory_equal(out, expected, sizeof out);
    }
    free(leaves);
    reduction_tree_release(&t);
}

static void a_part_matches_the_whole(void **state) {
    (void)state;
    enum { N = 3000, FIRST = 77, LENGTH = 2100 };
    reduction_tree t;
    make_tree(&t, 10);
    float *leaves = make_terms(t.leaves, N), whole[N], part[LENGTH];
    const float *term[64];
    for (int i = 0; i < t.leaves; i++) term[i] = leaves + (size_t)i * N;
    reduction_tree_sum(&t, t.leaf_node, term, t.leaves, whole, N);
    reduction_tree_sum_part(&t, t.count - 1, t.leaf_node, term, t.leaves, FIRST, part, LENGTH);
    assert_memory_equal(part, whole + FIRST, sizeof part);
    free(leaves);
    reduction_tree_release(&t);
}

static void a_prefix_uses_nodes_of_the_full_tree(void **state) {
    (void)state;
    enum { LEAVES = 40 };
    error err;
    float *leaves = make_terms(LEAVES, 1);
    const float *term[LEAVES];
    for (int i = 0; i < LEAVES; i++) term[i] = leaves + i;
    reduction_tree full;
    assert_int_equal(reduction_tree_init(&full, (int[]){LEAVES}, 1, &err), STATUS_OK);
    for (int n = 1; n <= LEAVES; n++) {
        reduction_tree t;
        float expected, out;
        assert_int_equal(reduction_tree_init(&t, &n, 1, &err), STATUS_OK);
        reduction_tree_sum(&t, t.leaf_node, term, n, &expected, 1);
        // The nodes of the full tree that cover the prefix, added from the right, as the prefix's
        // path requires.
        int cover[MAX_NODES], count = reduction_tree_cover(&full, 0, n, cover);
        float sums[MAX_NODES];
        for (int k = 0; k < count; k++) {
            const tree_node *node = &full.nodes[cover[k]];
            reduction_tree_sum_part(&full, cover[k], full.leaf_node + node->first,
                                    term + node->first, node->end - node->first, 0, &sums[k], 1);
        }
        out = sums[count - 1];
        for (int k = count - 2; k >= 0; k--) out = sums[k] + out;
        assert_memory_equal(&out, &expected, sizeof out);
        reduction_tree_release(&t);
    }
    free(leaves);
    reduction_tree_release(&full);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_in_post_order),
        cmocka_unit_test(six_groups_match_the_drawing),
        cmocka_unit_test(a_tree_without_leaves),
        cmocka_unit_test(too_many_leaves_are_refused),
        cmocka_unit_test(stack_machine_ends_with_the_cover),
        cmocka_unit_test(covers_are_merged_like_leaves),
        cmocka_unit_test(fewer_leaves_need_no_higher_stack),
        cmocka_unit_test(sums_match_the_definition),
        cmocka_unit_test(bits_do_not_depend_on_the_owners),
        cmocka_unit_test(all_partitions_of_seven_leaves),
        cmocka_unit_test(a_part_matches_the_whole),
        cmocka_unit_test(a_prefix_uses_nodes_of_the_full_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
