// Lays another engine's metadata over ours: fields in the trace replace ours, None included; the
// other fields stay.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/metadata/builder_metadata.h"
#include "core/model/kv_cache_spec.h"
#include "sessions/judge/foreign_trace.h"

namespace hybridscope {

// May an engine's block table have so many columns where ours has `ours`? Tables may be padded on
// the right, with the null block; in mode all ours has a column behind max_model_len, which not
// every engine has.
bool is_table_width(std::int64_t columns, std::int64_t ours, MambaCacheMode mode);

// Owns the values that cannot be views into the step: booleans, which the step holds as integers.
class ForeignMetadataOverlay {
 public:
  // Views in `metadata` stay valid until the next call and while the step lives. Errors, with the
  // field's name: a number instead of an array or vice versa, an array whose number of columns
  // differs from the field's (of block tables: is_table_width), a chunk size below 1.
  Status lay_over(const ForeignStep& step, const ForeignMetadata& traced, MambaCacheMode mode,
                  BuilderMetadata& metadata);

  // Did the trace have every field that ours has?
  bool traced_all() const { return left_out_.empty(); }
  // The fields that ours has and the trace has not.
  std::span<const std::string_view> left_out() const { return left_out_; }

 private:
  std::vector<std::vector<std::uint8_t>> flags_;
  std::vector<std::string_view> left_out_;
};

}  // namespace hybridscope
