// mamba_builder and mamba2_builder: all calls of a case on one builder.
#include <list>
#include <string>

#include "core/metadata/mamba2_builder.h"
#include "core/metadata/mamba_builder.h"
#include "sessions/conformance/builder_json.h"
#include "sessions/conformance/recompute.h"

namespace hybridscope {
namespace {

using nlohmann::json;

const MambaMetadataBuilder& base_of(const MambaMetadataBuilder& builder) { return builder; }
const MambaMetadataBuilder& base_of(const Mamba2MetadataBuilder& builder) { return builder.base(); }

// Arrays of one call; metadata points into them as long as it is in use.
struct Call {
  VectorBatch batch;
  OptionalCounts num_accepted_tokens;
  VectorTable block_table;
};

template <class Builder, class Metadata>
class Calls {
 public:
  explicit Calls(Builder& builder) : builder_(builder) {}

  Result<Metadata> run(const VectorValue& call, std::size_t index) {
    Call& kept = kept_.emplace_back();
    auto metadata = dispatch(call, index, kept);
    if (metadata) latest_ = metadata.value();
    return metadata;
  }

 private:
  Result<Metadata> dispatch(const VectorValue& call, std::size_t index, Call& kept) {
    switch (call["op"].one_of({"build", "build_for_cudagraph_capture", "update_block_table"})) {
      case 0:
        kept.batch = read_builder_batch(call);
        kept.num_accepted_tokens = read_optional_counts(call, "num_accepted_tokens");
        return build(kept);
      case 1:
        kept.batch = read_builder_batch(call);
        return builder_.build_for_cudagraph_capture(kept.batch.view());
      default:
        return update(call, index, kept);
    }
  }

  Result<Metadata> build(const Call& call) {
    const auto counts = call.num_accepted_tokens.view();
    const auto split = split_mamba_batch_by_shape(
        call.batch.view(), base_of(builder_).reorder_batch_threshold(), counts);
    if (!split) return split.error();
    return builder_.build(
        {.common = call.batch.view(), .split = split.value(), .num_accepted_tokens = counts});
  }

  // Only the latest metadata is still what its call returned: older ones share its arrays.
  Result<Metadata> update(const VectorValue& call, std::size_t index, Call& kept) {
    const VectorValue from = call["metadata_from_call"];
    if (index == 0 || from.int64() != static_cast<std::int64_t>(index) - 1)
      from.fail("expected the number of the call before, " + std::to_string(index) +
                " - 1, found " + from.json().dump());
    kept.block_table = call["block_table"].table(call["block_table_shape"]);
    return builder_.update_block_table(latest_, kept.block_table.view());
  }

  Builder& builder_;
  std::list<Call> kept_;
  Metadata latest_;
};

json init_json(const MambaMetadataBuilder& builder) {
  const auto table = builder.persistent_views().state_indices_tensor_d;
  return {{"decode_cudagraph_max_bs", builder.decode_cudagraph_max_bs()},
          {"reorder_batch_threshold", builder.reorder_batch_threshold()},
          {"supports_update_block_table", builder.supports_update_block_table()},
          {"state_indices_tensor_d_shape", {table.rows, table.cols}}};
}

template <class Builder, class Metadata>
json recompute(const VectorCase& vector) {
  auto created = Builder::create(read_builder_config(vector.config, BuilderFamily::mamba));
  json results = json::array();
  if (!created) return {{"init", error_json(created.error())}, {"results", results}};
  Builder& builder = created.value();
  Calls<Builder, Metadata> calls(builder);
  for (std::size_t i = 0; i < vector.input.size(); ++i) {
    const auto metadata = calls.run(vector.input[i], i);
    results.push_back(metadata ? metadata_json(named_arrays(metadata.value()))
                               : error_json(metadata.error()));
    if (!metadata) break;  // the state after an exception is not part of the contract
  }
  return {{"init", init_json(base_of(builder))}, {"results", results}};
}

}  // namespace

json recompute_mamba_builder(const VectorCase& vector, ExecuteCopies) {
  return recompute<MambaMetadataBuilder, MambaMetadata>(vector);
}

json recompute_mamba2_builder(const VectorCase& vector, ExecuteCopies) {
  return recompute<Mamba2MetadataBuilder, Mamba2Metadata>(vector);
}

}  // namespace hybridscope
