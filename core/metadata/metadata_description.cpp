#include "core/metadata/metadata_description.h"

#include <algorithm>
#include <numeric>

#include "core/base/ids.h"
#include "core/base/math.h"

namespace hybridscope {

std::int32_t BoundaryChunks::tokens_at(std::int32_t i) const {
  const std::int32_t chunk = first_chunk + i * stride;
  const bool is_own = chunk >= 0 && chunk < seq_idx.rows && chunk + 1 < cu_chunk_seqlen.rows &&
                      seq_idx.at(chunk) == sequence;
  return is_own ? cu_chunk_seqlen.at(chunk + 1) - first_token : -1;
}

std::int32_t StateAccess::block_at(std::int32_t column) const {
  const auto place = static_cast<std::size_t>(column);
  return column >= 0 && place < blocks.size() ? blocks[place] : kPadSlotId;
}

std::int32_t MetadataRows::batch_row(ArrayRows rows, std::int64_t index) const {
  const auto number = static_cast<std::int32_t>(index);
  const auto pick = [&](const std::vector<std::int32_t>& list) {
    const auto place = static_cast<std::size_t>(index);
    return place < list.size() ? list[place] : -1;
  };
  switch (rows) {
    case ArrayRows::none: return -1;
    case ArrayRows::batch:
    case ArrayRows::decodes: return number;
    case ArrayRows::prefills: return first_prefill_row + number;
    case ArrayRows::spec: return pick(spec);
    case ArrayRows::non_spec: return pick(non_spec);
  }
  return -1;
}

bool sums_up(std::span<const std::int32_t> lengths, std::int32_t tokens) {
  return std::accumulate(lengths.begin(), lengths.end(), 0) == tokens;
}

void set_query_tokens(const TensorView<std::int32_t>& starts, StateAccess& access) {
  const std::int32_t i = access.index;
  if (starts.present)
    access.num_query_tokens = i + 1 < starts.rows ? starts.at(i + 1) - starts.at(i) : 0;
  access.runs_as_padding = access.num_query_tokens > 0;
}

void mark_last_chunks(ChunkView& view) {
  for (ChunkView::Chunk& chunk : view.chunks) {
    const auto sequence = static_cast<std::size_t>(chunk.sequence);
    chunk.is_last = chunk.sequence >= 0 && sequence < view.sequences.size() &&
                    chunk.last == view.sequences[sequence].last;
  }
}

bool BatchMismatches::expect_row_starts(const PackedRows& rows, std::string_view detail) {
  const auto& [starts, first_row, count] = rows;
  if (!starts.present || starts.rows < count + 1) {
    add({MismatchKind::inconsistent, count + 1, starts.present ? starts.rows : 0, detail});
    return false;
  }
  if (starts.data == batch.common.query_start_loc.data() && first_row == 0) return true;
  for (std::int32_t i = 0; i <= count; ++i)
    if (!expect_equal(query_start(first_row + i) - query_start(first_row), starts.at(i), detail,
                      std::min(first_row + i, first_row + count - 1)))
      return false;
  return true;
}

bool BatchMismatches::expect_ascending(const TensorView<std::int32_t>& starts,
                                       std::string_view detail) {
  std::int32_t before = 0;
  for (std::int32_t i = 0; i < starts.rows; ++i) {
    const std::int32_t start = starts.at(i);
    if (start < before || start > batch.common.num_actual_tokens || (i == 0 && start != 0)) {
      add({MismatchKind::inconsistent, before, start, detail});
      return false;
    }
    before = start;
  }
  return starts.rows > 0;
}

void BatchMismatches::expect_row_count(std::int32_t row, std::int32_t count) {
  if (!batch.accepted_counts_given || row >= num_real_rows()) return;
  const std::int32_t accepted = batch.rows[static_cast<std::size_t>(row)].num_accepted_tokens;
  const std::int32_t limit = 1 + batch.num_spec;
  if (count < 1 || count > limit)
    add({MismatchKind::foreign_row, limit, count, "accepted count outside 1..1+K", row});
  else if (count != accepted)
    add({MismatchKind::foreign_row, accepted, count, "accepted count of another row", row});
}

void BatchMismatches::expect_conv_programs(const TensorView<std::int32_t>& starts,
                                           const CausalConv1dMetadata& conv1d) {
  if (!conv1d.present) return;
  std::int32_t program = 0;
  for (std::int32_t row = 0; row + 1 < starts.rows; ++row) {
    const std::int32_t count = cdiv(starts.at(row + 1) - starts.at(row), kCausalConv1dBlockM);
    if (row < conv1d.nums.rows &&
        !expect_equal(count, conv1d.nums.at(row), "nums_dict: conv1d programs of a row"))
      return;
    const std::int32_t held =
        std::clamp(std::min(conv1d.tot, conv1d.batch_ptr.rows) - program, 0, std::max(count, 0));
    for (std::int32_t chunk = 0; chunk < held; ++chunk) {
      const std::int32_t seen = conv1d.batch_ptr.at(program + chunk);
      if (seen != row)
        return add({MismatchKind::foreign_row, row, seen, "batch_ptr: row of a conv1d program"});
      if (!expect_equal(chunk, conv1d.token_chunk_offset_ptr.at(program + chunk),
                        "token_chunk_offset_ptr: token chunk of a conv1d program"))
        return;
    }
    program += std::max(count, 0);
  }
  expect_equal(program, conv1d.tot, "nums_dict: conv1d programs in all");
}

}  // namespace hybridscope
