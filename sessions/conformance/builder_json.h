// What the vectors of the three metadata builders share: settings, calls, and metadata as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "core/base/policy_set.h"
#include "core/metadata/builder_metadata.h"
#include "core/metadata/mamba_builder_config.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/vector_table.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// Decides the size of the persistent arrays: mamba has one row per request (mode all: one column
// per block), gdn one row per token of a verify window.
enum class BuilderFamily { mamba, gdn };

// Reads `config` of a builder's vectors. Throws when the persistent arrays exceed
// kMaxPersistentElements.
MambaBuilderConfig read_builder_config(const JsonValue& config, BuilderFamily family);

// Reads the settings of a builder of a release, which is given further ones.
MambaBuilderConfig read_release_builder_config(const JsonValue& config, const PolicySet& policies);

// Just holds a production size: 1024 requests of a million tokens in blocks of 16.
inline constexpr std::int64_t kMaxPersistentElements = std::int64_t{1} << 26;

// A list of counts; empty when it is null or absent.
struct OptionalCounts {
  std::optional<std::vector<std::int32_t>> counts;

  TensorView<std::int32_t> view() const;
};
OptionalCounts read_optional_counts(const JsonValue& call, std::string_view name);

// The batch of a build or capture. Throws when its number of tokens would make the answer too long.
VectorBatch read_builder_batch(const JsonValue& call);

// Reads the batch of a call of a release's builder.
VectorBatch read_release_builder_batch(const JsonValue& call);

// {"metadata": {...}} with every field of the reference's metadata class.
nlohmann::json metadata_json(const std::vector<NamedArray>& arrays);

// {"metadata": {...}} with the fields that are not None, as the vectors of releases have them:
// arrays are lists, flags are 0 and 1, and the programs of the conv kernel are left out.
nlohmann::json release_metadata_json(const std::vector<NamedArray>& arrays);

}  // namespace hybridscope
