# SPDX-License-Identifier: MIT
# Counts the floating-point operations of a training step, per sample, from a resolved experiment
# (--print-parameters).
#
# A convolution or linear layer has as many multiply-adds in its weight gradient, and in its input
# gradient, as in the forward pass; the first layer needs no input gradient. A multiply-add counts
# as two operations. Everything else (bias, batch norm, ReLU, pooling, loss, update) is left out: it
# is bound by memory, not by arithmetic. The operations are those of the direct form, even if a
# kernel needs fewer.

function value(line, key,    at) {
    at = match(line, "[{ ]" key ": [^,}]*")
    if (!at) return ""
    return substr(line, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
}

# Returns one integer: the side of a square.
function side(line, key,    v) {
    v = value(line, key)
    if (v !~ /^[0-9]+$/) complain("'" key "' is '" v "': only squares are counted")
    return v + 0
}

function complain(why) {
    print "flop.awk: line " NR ": " why > "/dev/stderr"
    failed = 1
    exit 1
}

function add(multiply_adds) {
    sum += (parametric++ ? 3 : 2) * multiply_adds
}

function shrink(line, kernel,    padding, stride) {
    padding = side(line, "padding")
    stride = side(line, "stride")
    height = int((height + 2 * padding - kernel) / stride) + 1
    width = int((width + 2 * padding - kernel) / stride) + 1
}

# Every layer continues with the shape of the one before it, or of the one that `from` names.
function restore(name,    size) {
    if (!name) return
    split(shapes[name], size)
    channels = size[1]; height = size[2]; width = size[3]
}
function keep(name) {
    if (name) shapes[name] = channels " " height " " width
}

/^  input: \[/ {
    gsub(/[^0-9 ]/, "")
    channels = $1; height = $2; width = $3
    keep("input")
}
/^ +- \{[a-z_]+: / { restore(value($0, "from")) }
/^ +- \{conv: / {
    kernel = side($0, "kernel")
    shrink($0, kernel)
    add(side($0, "out") * height * width * channels * kernel * kernel)
    channels = side($0, "out")
}
/^ +- \{(max|avg)_pool: / { shrink($0, side($0, "size")) }
/^ +- \{flatten: / { channels *= height * width }
/^ +- \{linear: / {
    add(side($0, "out") * channels)
    channels = side($0, "out")
}
/^ +- \{[a-z_]+: / { keep(value($0, "name")) }
END {
    if (failed) exit 1
    if (!sum) complain("no layers found")
    printf "%.0f\n", 2 * sum
}
