#include "core/metadata/builder_metadata.h"

#include <utility>

namespace hybridscope {
namespace {

template <std::size_t... kKinds>
std::vector<BuilderMetadata> one_of_each(std::index_sequence<kKinds...>) {
  return {BuilderMetadata(std::in_place_index<kKinds>)...};
}

struct ConvSetter {
  void operator()(const MetadataField&, CausalConv1dMetadata& conv1d) const {
    conv1d.present = true;
  }
  template <class T>
  void operator()(const MetadataField&, T&) const {}
};

}  // namespace

std::vector<BuilderMetadata> every_kind_of_metadata() {
  return one_of_each(std::make_index_sequence<std::variant_size_v<BuilderMetadata>>());
}

void set_conv1d_present(BuilderMetadata& metadata) { for_each_field(metadata, ConvSetter{}); }

void swap_gathered_tokens(BuilderMetadata& metadata, std::vector<std::int32_t>& storage) {
  std::visit(
      [&](auto& own) {
        if constexpr (requires { swap_gathered_tokens(own, storage); })
          swap_gathered_tokens(own, storage);
      },
      metadata);
}

void append_needed_arrays(const BuilderMetadata& metadata, const ForwardContext& context,
                          std::vector<NeededArray>& out) {
  std::visit([&](const auto& own) { append_needed_arrays(own, context, out); }, metadata);
}

void append_state_accesses(const BuilderMetadata& metadata, const ForwardContext& context,
                           std::vector<StateAccess>& out) {
  std::visit([&](const auto& own) { append_state_accesses(own, context, out); }, metadata);
}

void append_mismatches(const BuilderMetadata& metadata, const MetadataBatch& batch,
                       std::vector<MetadataMismatch>& out) {
  std::visit([&](const auto& own) { append_mismatches(own, batch, out); }, metadata);
}

bool refreshes_persistent_buffers(const BuilderMetadata& metadata, std::int32_t num_spec) {
  return std::visit([&](const auto& own) { return refreshes_persistent_buffers(own, num_spec); },
                    metadata);
}

MetadataRows metadata_rows(const BuilderMetadata& metadata, std::int32_t num_rows) {
  return std::visit([&](const auto& own) { return metadata_rows(own, num_rows); }, metadata);
}

ChunkView chunk_view(const BuilderMetadata& metadata, std::int32_t num_rows) {
  return std::visit([&](const auto& own) { return chunk_view(own, num_rows); }, metadata);
}

}  // namespace hybridscope
