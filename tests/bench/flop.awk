# SPDX-License-Identifier: MIT
# Counts the floating-point operations of a training step, per sample, from a resolved experiment
# (--print-parameters). Prints two numbers: those of the direct form, and those that are executed.
# With -v only=NAME: of one pass of the convolution or linear layer of that name.
#
# A convolution or linear layer has as many multiply-adds in its weight gradient, and in its input
# gradient, as in the forward pass; the first layer needs no input gradient. A multiply-add counts
# as two operations. Everything else (bias, batch norm, ReLU, pooling, loss, update) is left out: it
# is bound by memory, not by arithmetic. Where Winograd's algorithm computes a convolution
# (lib/compute/layer_sums.h), 36 multiply-adds are executed for a tile of 4×4 outputs, in which the
# direct form has 144, and fewer for a tile at an edge with fewer rows or columns
# (lib/compute/cpu/kernels/winograd.h); its transforms are left out.

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

function add(multiply_adds, done,    passes) {
    passes = only ? value($0, "name") == only : parametric++ ? 3 : 2
    sum += passes * multiply_adds
    executed += passes * done
}

# Returns the points of Winograd's algorithm along one axis: six a tile, five if it is short.
function points(outputs) {
    return 6 * int(outputs / 4) + (outputs % 4 ? 5 : 0)
}

# Returns the multiply-adds that are executed for a pair of channels.
function convolution(out, kernel, padding, stride,    tiles) {
    tiles = int((height + 3) / 4) * int((width + 3) / 4)
    if (kernel != 3 || stride != 1 || padding > 2 || channels < 16 || out < 16 || 2 * height * width < 16 * tiles)
        return kernel * kernel * height * width
    return points(height) * points(width)
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
    groups = value($0, "groups")
    if (!groups) groups = 1
    pairs = side($0, "out") * channels / groups
    direct = kernel * kernel * height * width
    done = groups > 1 ? direct : convolution(side($0, "out"), kernel, side($0, "padding"), side($0, "stride"))
    add(pairs * direct, pairs * done)
    channels = side($0, "out")
}
/^ +- \{(max|avg)_pool: / { shrink($0, side($0, "size")) }
/^ +- \{flatten: / { channels *= height * width }
/^ +- \{linear: / {
    add(side($0, "out") * channels, side($0, "out") * channels)
    channels = side($0, "out")
}
/^ +- \{[a-z_]+: / { keep(value($0, "name")) }
END {
    if (failed) exit 1
    if (!sum) complain("no layers found")
    printf "%.0f %.0f\n", 2 * sum, 2 * executed
}
