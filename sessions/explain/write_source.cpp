#include "sessions/explain/write_source.h"

#include <algorithm>
#include <utility>

#include "sessions/explain/forward_rows.h"

namespace hybridscope {

void WriteSources::add_block_copies(const StepTrace& trace, Sources& sources) {
  for (const BlockCopy& copy : block_copies_of(trace.cache_events))
    sources.push_back({.group = copy.group,
                       .target = copy.block,
                       .temporal = copy.source_block,
                       .conv = copy.source_block});
}

void WriteSources::add_copies(const CopyLaunch& launch, Sources& sources) {
  for (const auto& copy : launch.copies)
    sources.push_back({.group = copy.group,
                       .target = copy.dst_block,
                       .temporal = copy.temporal_src_block,
                       .conv = copy.conv_src_block});
}

void WriteSources::add_rows(const StepTrace& trace, MambaCacheMode mode, Sources& sources) {
  for (const GroupTrace& group : trace.groups)
    for (const ForwardPlaces& row : forward_rows(trace, group, mode)) {
      if (!row.has_initial_state) continue;
      const RequestId request = trace.rows[static_cast<std::size_t>(row.row)].request;
      sources.push_back({.group = group.group,
                         .target = request.value,
                         .temporal = row.temporal_source.block,
                         .conv = row.conv_source.block});
    }
}

void WriteSources::sort(Sources& sources) {
  std::stable_sort(sources.begin(), sources.end(), [](const Source& a, const Source& b) {
    return std::pair(a.group, a.target) < std::pair(b.group, b.target);
  });
}

WriteSources::WriteSources(const StepTrace& trace, MambaCacheMode mode) {
  add_block_copies(trace, block_copies_);
  add_copies(trace.pre_copies, pre_copies_);
  add_copies(trace.post_copies, post_copies_);
  add_rows(trace, mode, rows_);
  for (Sources* sources : {&block_copies_, &pre_copies_, &post_copies_, &rows_}) sort(*sources);
}

std::optional<std::int32_t> WriteSources::find(const Sources& sources, const StateWrite& write,
                                               std::int64_t target) {
  const auto behind =
      std::upper_bound(sources.begin(), sources.end(), std::pair(write.group, target),
                       [](const auto& wanted, const Source& source) {
                         return wanted < std::pair(source.group, source.target);
                       });
  if (behind == sources.begin()) return std::nullopt;
  const Source& found = *(behind - 1);
  if (found.group != write.group || found.target != target) return std::nullopt;
  return write.content == ContentKind::conv ? found.conv : found.temporal;
}

std::optional<std::int32_t> WriteSources::of(const StateWrite& write) const {
  switch (write.event.kind) {
    case WriteKind::pre_copy:
      return find(pre_copies_, write, write.block);
    case WriteKind::post_copy:
      return find(post_copies_, write, write.block);
    case WriteKind::prefill:
    case WriteKind::decode:
      return find(rows_, write, write.event.request.value);
    case WriteKind::block_copy:
      return find(block_copies_, write, write.block);
    case WriteKind::never:
    case WriteKind::attention:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace hybridscope
