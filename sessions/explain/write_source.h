// The source block of a write to state: the block that a copy read, or the block from which a
// forward pass read its initial state.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/check/state_write.h"
#include "core/model/kv_cache_spec.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// The sources of all writes of a step, resolved once.
class WriteSources {
 public:
  // `trace`: the step that wrote, with metadata.
  WriteSources(const StepTrace& trace, MambaCacheMode mode);

  // Empty for keys and values that a row wrote (they depend on tokens alone), for a forward pass
  // without an initial state, and for a step without metadata.
  std::optional<std::int32_t> of(const StateWrite& write) const;

 private:
  struct Source {
    std::int32_t group = 0;
    std::int64_t target = 0;  // copy: block; forward pass: request
    std::int32_t temporal = 0;
    std::int32_t conv = 0;
  };
  // Sorted by group and target; of equal entries the last one counts.
  using Sources = std::vector<Source>;
  static void add_block_copies(const StepTrace& trace, Sources& sources);
  static void add_copies(const CopyLaunch& launch, Sources& sources);
  static void add_rows(const StepTrace& trace, MambaCacheMode mode, Sources& sources);
  static void sort(Sources& sources);
  static std::optional<std::int32_t> find(const Sources& sources, const StateWrite& write,
                                          std::int64_t target);

  Sources block_copies_;
  Sources pre_copies_;
  Sources post_copies_;
  Sources rows_;
};

}  // namespace hybridscope
