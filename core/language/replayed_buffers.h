// What the persistent arrays of a captured graph hold after each step's build: a full graph that is
// replayed reads them, not the metadata of its step (semantics: mamba-persistent-buffers,
// gdn-persistent-buffers). Where the step's build has written them, both are the same.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/trace/step_trace.h"

namespace hybridscope {

// The arrays of one group.
class ReplayedBuffers {
 public:
  // Takes over what the step's build wrote. Returns what the step's graph reads in place of the
  // group's metadata; absent: the metadata is what it reads, or no full graph is replayed. Its
  // views are valid until the next call.
  std::optional<BuilderMetadata> read(const StepTrace& trace, const GroupTrace& group);

 private:
  // One persistent array [rows, cols].
  struct Buffer {
    std::vector<std::int32_t> values = {};
    std::int32_t cols = 1;

    void write(const TensorView<std::int32_t>& head);
    // The first `rows`; those that no build has written are `otherwise`.
    TensorView<std::int32_t> head(std::int32_t rows, std::int32_t otherwise);
  };
  // Rows and tokens of a graph.
  struct Size {
    std::int32_t rows = 0;
    std::int32_t tokens = 0;
  };

  // `only_states`: of a group that took over another one's metadata.
  void write(const MambaMetadata& metadata, bool only_states);
  void write(const GdnMetadata& metadata, bool only_states);
  void replay(const StepTrace& trace, const GroupTrace& group, Size size, MambaMetadata& metadata);
  void replay(const GroupTrace& group, Size size, GdnMetadata& metadata);

  Buffer states_, accepted_;
  Buffer last_scheduled_, last_computed_;     // Mamba, mode all
  Buffer spec_starts_;                        // GDN
  Buffer non_spec_states_, non_spec_starts_;  // GDN
};

}  // namespace hybridscope
