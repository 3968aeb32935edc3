#include "gui/model/chunks_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/metadata/chunk_metadata.h"
#include "core/metadata/metadata_builders.h"
#include "gui/model/gdn_rows.h"

namespace hybridscope {
namespace {

constexpr std::int64_t kMostValues = 200;

template <class T>
std::string values_of(const TensorView<T>& view) {
  std::string text;
  const std::int64_t size = view.present ? view.size() : 0;
  for (std::int64_t i = 0; i < std::min(size, kMostValues); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : " ", view.data[i]);
  if (size > kMostValues) text += fmt::format(" ({} more)", size - kMostValues);
  return text;
}

class GroupMaker {
 public:
  GroupMaker(const StepView& view, const GroupTrace& trace) : view_(view), trace_(trace) {
    group_.group = trace.group;
    group_.title = view.names.group(trace.group);
  }

  // Without chunks the group has no sequences.
  ChunkGroup make() {
    if (const auto* mamba2 = std::get_if<Mamba2Metadata>(&*trace_.metadata))
      cut(*mamba2);
    else if (const auto* gdn = std::get_if<GdnMetadata>(&*trace_.metadata))
      cut(*gdn);
    for (std::int32_t token = 0; token < group_.num_tokens; token += group_.chunk_size)
      group_.physical.push_back(token);
    mark_last();
    mark_boundaries();
    return std::move(group_);
  }

 private:
  void add_sequence(std::int32_t batch_row, std::int32_t first, std::int32_t last) {
    if (batch_row < 0 || static_cast<std::size_t>(batch_row) >= view_.trace.rows.size()) return;
    const RowTrace& row = view_.trace.rows[static_cast<std::size_t>(batch_row)];
    group_.sequences.push_back({.request = row.request,
                                .name = view_.names.request(row.request),
                                .number = static_cast<std::int32_t>(group_.sequences.size()),
                                .first = first,
                                .last = last,
                                .num_computed_tokens = row.num_computed_tokens});
    group_.num_tokens = std::max(group_.num_tokens, last);
    if (row.row_class != RowClass::prefill) group_.num_decode_tokens += last - first;
  }

  void cut(const Mamba2Metadata& metadata) {
    const MambaMetadata& base = metadata.base;
    if (!metadata.cu_chunk_seqlen_p.present || !base.query_start_loc_p.present) return;
    group_.chunk_size = std::max(metadata.chunk_size, 1);
    group_.rule =
        "A logical chunk ends with its sequence and where the sequence's own position is a "
        "multiple of chunk_size (_compute_chunk_metadata), not on the grid of packed tokens.";
    const TensorView<std::int32_t>& starts = base.query_start_loc_p;
    for (std::int32_t i = 0; i + 1 < starts.rows && i < base.num_prefills; ++i)
      add_sequence(base.num_decodes + i, starts.at(i), starts.at(i + 1));
    const auto& ends = metadata.cu_chunk_seqlen_p;
    for (std::int32_t c = 0; c + 1 < ends.rows; ++c)
      group_.logical.push_back(
          {.number = c,
           .sequence = metadata.seq_idx_p.present && c < metadata.seq_idx_p.rows
                           ? metadata.seq_idx_p.at(c)
                           : -1,
           .first = ends.at(c),
           .last = ends.at(c + 1)});
    group_.arrays = {{"cu_chunk_seqlen_p", values_of(ends)},
                     {"seq_idx_p", values_of(metadata.seq_idx_p)},
                     {"last_chunk_indices_p", values_of(metadata.last_chunk_indices_p)}};
  }

  void cut(const GdnMetadata& metadata) {
    const TensorView<std::int32_t>& starts = metadata.non_spec_query_start_loc;
    if (!metadata.chunk_indices.present || !starts.present) return;
    group_.chunk_size = kFlaChunkSize;
    group_.rule =
        "Every sequence is cut into chunks of 64 tokens from its first token of the step on "
        "(prepare_chunk_indices).";
    const std::vector<std::int32_t> rows =
        gdn_rows(metadata, static_cast<std::int32_t>(view_.trace.rows.size())).non_spec;
    for (std::int32_t i = 0; i + 1 < starts.rows && static_cast<std::size_t>(i) < rows.size(); ++i)
      add_sequence(rows[static_cast<std::size_t>(i)], starts.at(i), starts.at(i + 1));
    // chunk_indices counts sequences that have a chunk.
    std::vector<std::int32_t> with_chunks;
    for (const ChunkSequence& sequence : group_.sequences)
      if (sequence.last > sequence.first) with_chunks.push_back(sequence.number);
    for (std::int32_t c = 0; c < metadata.chunk_indices.rows; ++c) {
      const auto nth = static_cast<std::size_t>(metadata.chunk_indices.at(c, 0));
      if (nth >= with_chunks.size()) continue;
      const ChunkSequence& sequence = group_.sequences[static_cast<std::size_t>(with_chunks[nth])];
      const std::int32_t first = sequence.first + metadata.chunk_indices.at(c, 1) * kFlaChunkSize;
      group_.logical.push_back({.number = c,
                                .sequence = sequence.number,
                                .first = first,
                                .last = std::min(first + kFlaChunkSize, sequence.last)});
    }
    group_.arrays = {{"chunk_indices", values_of(metadata.chunk_indices)},
                     {"chunk_offsets", values_of(metadata.chunk_offsets)}};
  }

  void mark_last() {
    const auto* mamba2 = std::get_if<Mamba2Metadata>(&*trace_.metadata);
    for (const ChunkSequence& sequence : group_.sequences) {
      if (mamba2 != nullptr && mamba2->last_chunk_indices_p.present) {
        if (sequence.number >= mamba2->last_chunk_indices_p.rows) continue;
        const std::int32_t last = mamba2->last_chunk_indices_p.at(sequence.number);
        if (last >= 0 && static_cast<std::size_t>(last) < group_.logical.size())
          group_.logical[static_cast<std::size_t>(last)].is_last = true;
        continue;
      }
      for (LogicalChunk& chunk : group_.logical)
        if (chunk.sequence == sequence.number && chunk.last == sequence.last) chunk.is_last = true;
    }
  }

  void mark_boundaries() {
    if (view_.config.mamba_cache_mode != MambaCacheMode::all || trace_.block_size < 1) return;
    for (const ChunkSequence& sequence : group_.sequences)
      for (std::int32_t token = sequence.first + 1; token <= sequence.last; ++token)
        if ((sequence.num_computed_tokens + token - sequence.first) % trace_.block_size == 0)
          group_.boundaries.push_back(token);
  }

  const StepView& view_;
  const GroupTrace& trace_;
  ChunkGroup group_;
};

bool same_chunks(const ChunkGroup& a, const ChunkGroup& b) {
  const auto cut = [](const LogicalChunk& chunk) { return std::pair(chunk.first, chunk.last); };
  return a.chunk_size == b.chunk_size && a.num_tokens == b.num_tokens &&
         a.boundaries == b.boundaries && std::ranges::equal(a.logical, b.logical, {}, cut, cut);
}

}  // namespace

ChunksModel make_chunks_model(const ShownRun& run) {
  ChunksModel model;
  const StepView view = run.view();
  bool has_metadata = false;
  bool has_chunks = false;
  for (const GroupTrace& trace : view.trace.groups) {
    if (!trace.metadata) continue;
    has_metadata = true;
    has_chunks = has_chunks || !std::holds_alternative<MambaMetadata>(*trace.metadata);
    ChunkGroup group = GroupMaker(view, trace).make();
    if (group.logical.empty()) continue;
    const auto same = std::ranges::find_if(
        model.groups, [&](const ChunkGroup& other) { return same_chunks(other, group); });
    if (same != model.groups.end())
      same->title += ", " + group.title;
    else
      model.groups.push_back(std::move(group));
  }
  if (!model.groups.empty()) return model;
  if (run.level() != RecordLevel::full)
    model.empty = "This session was recorded without metadata: that needs level full.";
  else if (!has_metadata)
    model.empty = "No builder made metadata in this step.";
  else if (!has_chunks)
    model.empty = "The builders of this model cut no chunks: Mamba2, GatedDeltaNet and KDA do.";
  else
    model.empty = "No prefill in this step: chunks are cut for prefill rows only.";
  return model;
}

std::string chunk_counts(const ChunkGroup& group) {
  const std::string decodes = group.num_decode_tokens > 0
                                  ? fmt::format(" ({} of decode rows)", group.num_decode_tokens)
                                  : std::string();
  return fmt::format("packed tokens {}{}, sequences {}, logical chunks {}, chunk_size {}",
                     group.num_tokens, decodes, group.sequences.size(), group.logical.size(),
                     group.chunk_size);
}

std::vector<Fact> describe_chunk(const ChunkGroup& group, const LogicalChunk& chunk) {
  std::vector<Fact> facts{{"chunk", fmt::format("{}{}", chunk.number,
                                                chunk.is_last ? ", the last of its sequence" : "")},
                          {"packed tokens", fmt::format("{}..{} ({})", chunk.first, chunk.last - 1,
                                                        chunk.last - chunk.first)}};
  if (chunk.sequence < 0 || static_cast<std::size_t>(chunk.sequence) >= group.sequences.size())
    return facts;
  const ChunkSequence& sequence = group.sequences[static_cast<std::size_t>(chunk.sequence)];
  const std::int32_t from = sequence.num_computed_tokens + chunk.first - sequence.first;
  facts.push_back({"request", fmt::format("{} (seq_idx {})", sequence.name, sequence.number)});
  facts.push_back({"positions", fmt::format("{}..{}", from, from + chunk.last - chunk.first - 1)});
  return facts;
}

}  // namespace hybridscope
