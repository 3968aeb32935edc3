// Writes core's answers as JSON in the form of the reference vectors: those of the scheduler and of
// the metadata builders.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "core/base/tensor_view.h"
#include "core/metadata/builder_metadata.h"
#include "core/metadata/gdn_builder.h"
#include "core/metadata/mamba_builder_config.h"
#include "sessions/conformance/vector_states.h"
#include "sessions/replay/scheduler_replay.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// {"error": message}.
nlohmann::json error_json(const Error& error);

// A flat list for a view of any dimensions.
nlohmann::json list_json(const TensorView<std::int32_t>& view);

// A list of rows.
nlohmann::json rows_json(const TensorView<std::int32_t>& view);

// The answers to the elements of an array, up to and including the first error: the state after an
// error is not part of the contract.
nlohmann::json answer_until_error(const JsonValue& array,
                                  const std::function<nlohmann::json(const JsonValue&)>& answer);

// {"results": ...} of a run that answers calls one after the other, or why it cannot begin.
template <class Run>
nlohmann::json answer_calls(Result<Run> run, const JsonValue& calls) {
  if (!run) return error_json(run.error());
  return {{"results", answer_until_error(
                          calls, [&](const JsonValue& call) { return run.value().answer(call); })}};
}

// Which list reports a resumed request: V1 the cached requests, V2 the new ones.
enum class ResumedRequests : std::uint8_t { cached, as_new };

// The result of a `schedule` call; `replay` is in its state right after the call.
nlohmann::json schedule_json(const ReplayedSchedule& schedule, const SchedulerReplay& replay,
                             ResumedRequests resumed_requests);

// The result of an `update_from_output` call.
nlohmann::json update_json(const SchedulerReplay& replay);

// The number of stored drafts per live request.
nlohmann::json draft_counts_json(const SchedulerReplay& replay);

// What the vectors of the three metadata builders share: settings, calls, and metadata as JSON.

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

// The arrays of one call of a builder; its metadata points into them.
struct BuilderCall {
  BuilderCall() = default;
  BuilderCall(VectorBatch batch_of_call, const JsonValue& call)
      : batch(std::move(batch_of_call)),
        num_accepted_tokens(read_optional_counts(call, "num_accepted_tokens")),
        num_decode_draft_tokens(read_optional_counts(call, "num_decode_draft_tokens")),
        flags(static_cast<std::size_t>(batch.num_reqs)) {}

  VectorBatch batch;
  OptionalCounts num_accepted_tokens;
  OptionalCounts num_decode_draft_tokens;
  std::vector<std::uint8_t> flags;  // [num_reqs]
};

Result<GdnMetadata> build_gdn(GdnMetadataBuilder& builder, const PolicySet& policies,
                              BuilderCall& call);

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
