#include "sessions/judge/foreign_slots.h"

namespace hybridscope {

ForeignSlots::ForeignSlots(std::int32_t max_num_seqs)
    : owners_(static_cast<std::size_t>(max_num_seqs)) {}

void ForeignSlots::free(RequestId request) {
  const auto id = static_cast<std::size_t>(request.value);
  if (id >= slot_of_.size() || slot_of_[id] < 0) return;
  RequestId& owner = owners_[static_cast<std::size_t>(slot_of_[id])];
  if (owner == request) owner = {};
  slot_of_[id] = -1;
}

RequestId ForeignSlots::use(RequestId request, std::int32_t slot, bool admitted) {
  const auto id = static_cast<std::size_t>(request.value);
  if (id >= slot_of_.size()) slot_of_.resize(id + 1, -1);
  RequestId& owner = owners_[static_cast<std::size_t>(slot)];
  // A trace may tell slots from some step on only.
  if (!admitted && slot_of_[id] >= 0) return owner;
  const RequestId former = owner;
  owner = request;
  slot_of_[id] = slot;
  return former == RequestId{} ? request : former;
}

}  // namespace hybridscope
