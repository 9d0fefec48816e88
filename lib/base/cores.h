// SPDX-License-Identifier: MIT
// cores.h - how many processors this process may use.
//
// A container may be confined to some processors (affinity), or to a part of the processor time of
// all of them (a quota of its control group, cpu.max): with more threads than that, all of them
// stop together for the rest of each period. Processors that are siblings share the arithmetic
// units of one core.
#ifndef LOCKSTEP_BASE_CORES_H
#define LOCKSTEP_BASE_CORES_H

// Returns the number of processors in the affinity of this process, but no more than its quota,
// rounded up. At least 1.
int cores_usable(void);

// Returns the same with siblings counted once.
int cores_separate(void);

// For tests: the quota, in processors, of the control groups in the file system below `root` (that
// of the process: ""); 0: none.
double cores_quota(const char *root);
// Likewise, the number of the processors [0, count) that are not a sibling of a lower one.
int cores_without_siblings(const char *root, int count);

#endif
