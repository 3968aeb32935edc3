// Metadata that another engine's builder made, laid over what ours would be: told fields replace
// ours, None included; fields that were not told stay.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/metadata/builder_metadata.h"
#include "sessions/judge/foreign_trace.h"

namespace hybridscope {

// Owns what cannot be a view of the step: booleans are integers there.
class ForeignMetadataOverlay {
 public:
  // Views in `metadata` stay valid until the next call and while the step lives. Errors, with the
  // field's name: a number where an array belongs or the other way round, an array with another
  // number of columns than the field has, a chunk size below 1.
  Status lay_over(const ForeignStep& step, const ForeignMetadata& told, BuilderMetadata& metadata);

  // Were all fields told that ours has?
  bool told_all() const { return told_all_; }

 private:
  std::vector<std::vector<std::uint8_t>> flags_;
  bool told_all_ = true;
};

}  // namespace hybridscope
