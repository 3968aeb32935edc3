// What the three builder files share: settings, calls, and metadata as the vectors write them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "core/metadata/mamba_builder_config.h"
#include "core/metadata/named_arrays.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/vector_batch.h"
#include "sessions/conformance/vector_value.h"

namespace hybridscope {

// Whose persistent arrays are meant: mamba has a row a request and in mode all a column a block,
// gdn a row a token of a verify window.
enum class BuilderFamily { mamba, gdn };

// `config` of the vectors of a builder. Throws for persistent arrays beyond kMaxPersistentElements.
MambaBuilderConfig read_builder_config(const VectorValue& config, BuilderFamily family);

// A production size, 1024 requests of a million tokens in blocks of 16, is just allowed.
inline constexpr std::int64_t kMaxPersistentElements = std::int64_t{1} << 26;

// A list of counts, or empty where it is null or absent.
struct OptionalCounts {
  std::optional<std::vector<std::int32_t>> counts;

  TensorView<std::int32_t> view() const;
};
OptionalCounts read_optional_counts(const VectorValue& call, std::string_view name);

// The batch of a build or capture. Throws when its tokens would make the answer too long.
VectorBatch read_builder_batch(const VectorValue& call);

// {"metadata": {...}} with every field of the reference's class.
nlohmann::json metadata_json(const std::vector<NamedArray>& arrays);

}  // namespace hybridscope
