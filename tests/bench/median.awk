# SPDX-License-Identifier: MIT
# The median of numbers, for the scripts that run together with this one: awk -f median.awk -f
# OTHER.awk

# Sorts v[1 … n] and returns its median; nothing when n is 0.
function middle(v, n,    i, j, kept) {
    for (i = 2; i <= n; i++) {
        kept = v[i]
        for (j = i; j > 1 && v[j - 1] > kept; j--) v[j] = v[j - 1]
        v[j] = kept
    }
    if (!n) return ""
    return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
}
