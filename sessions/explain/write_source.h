// Where a write to state got what it wrote from: the block that a copy copied, or that a forward
// pass read the state from which it went on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/check/state_write.h"
#include "core/model/kv_cache_spec.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// The sources of a step's writes, resolved once for all of them.
class WriteSources {
 public:
  // `trace`: of the step that wrote, with metadata.
  WriteSources(const StepTrace& trace, MambaCacheMode mode);

  // Empty: keys and values, which come from tokens alone; a forward pass without an initial state;
  // a step whose metadata is not known.
  std::optional<std::int32_t> of(const StateWrite& write) const;

 private:
  struct Source {
    std::int32_t group = 0;
    std::int64_t target = 0;  // block of a copy, request of a forward pass
    std::int32_t temporal = 0;
    std::int32_t conv = 0;
  };
  using Sources = std::vector<Source>;  // sorted by group and target; of equals the last one counts
  static void add_copies(const CopyLaunch& launch, Sources& sources);
  static void add_rows(const StepTrace& trace, MambaCacheMode mode, Sources& sources);
  static void sort(Sources& sources);
  static std::optional<std::int32_t> find(const Sources& sources, const StateWrite& write,
                                          std::int64_t target);

  Sources pre_copies_;
  Sources post_copies_;
  Sources rows_;
};

}  // namespace hybridscope
