# SPDX-License-Identifier: MIT
# Converts cuda_profile's output to lines of cuda-kernels.csv. With -v head=yes: the head of that
# file.
#
#     awk -f cuda-kernels.awk -v model=… -v batch=… -v shards=…
#
# limit_us: the time of the bytes at the device's measured bandwidth, or of the operations at its
# measured peak, whichever is longer. launch_us: the time of as many launches of an empty kernel.

function larger(a, b) { return a > b ? a : b }

BEGIN {
    FS = OFS = ","
    if (head) {
        print "model,batch,shards,operation,launches,us,bytes,host_bytes,flop,limit_us,percent_of_limit,launch_us"
        exit
    }
}
$1 == "limit" { limit[$2] = $3 }
$1 == "operation" {
    us = larger(larger($5 / limit["memory"], $6 / limit["host"]), $7 / limit["arithmetic"]) * 1e6
    print model, batch, shards, $2, $3, $4, $5, $6, $7, sprintf("%.4g", us), sprintf("%.4g", $4 > 0 ? 100 * us / $4 : 0),
        sprintf("%.4g", $3 * limit["launch"])
}
