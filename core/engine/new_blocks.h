// Block ids the scheduler reports to a worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hybridscope {

// Block ids the scheduler reports for one step: admitted requests their full lists, running ones
// what is new.
struct NewBlocks {
  std::vector<std::int32_t> ids;
  std::vector<std::size_t> starts;  // [scheduled * groups + 1], by request, then by group
  std::span<const std::int32_t> of(std::size_t scheduled, std::size_t groups,
                                   std::size_t group) const {
    const std::size_t i = scheduled * groups + group;
    return std::span(ids).subspan(starts[i], starts[i + 1] - starts[i]);
  }
};

}  // namespace hybridscope
