// SPDX-License-Identifier: MIT
// ipc.h - events that processes share; ipc.cc shares their memory, too.
#ifndef LOCKSTEP_EMULATION_IPC_H
#define LOCKSTEP_EMULATION_IPC_H

#include <atomic>
#include <cstdint>
#include <memory>

#include "emulation.h"

namespace emulation {

// In a file that all of them map: how often the event was recorded, and which of these records was
// reached.
struct shared_event {
    std::atomic<uint64_t> recorded, reached;
    std::atomic<int> file; // in the process that made it
};

std::shared_ptr<shared_event> new_shared_event();
cudaError_t name_event(const shared_event &event, cudaIpcEventHandle_t *handle);
cudaError_t find_event(const cudaIpcEventHandle_t &handle, std::shared_ptr<shared_event> *event);

} // namespace emulation

#endif
