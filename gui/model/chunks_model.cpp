#include "gui/model/chunks_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/metadata/builder_metadata.h"
#include "gui/model/command_table.h"
#include "gui/model/workbench.h"

namespace hybridscope {
namespace {

constexpr std::int64_t kMostValues = 200;

std::string values_of(const TensorView<std::int32_t>& view) {
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
    const auto num_rows = static_cast<std::int32_t>(view_.trace.rows.size());
    const ChunkView chunks = chunk_view(*trace_.metadata, num_rows);
    group_.chunk_size = chunks.chunk_size;
    group_.rule = chunks.rule;
    for (const ChunkView::Sequence& sequence : chunks.sequences) add_sequence(sequence);
    for (const ChunkView::Chunk& chunk : chunks.chunks)
      group_.logical.push_back({.number = static_cast<std::int32_t>(group_.logical.size()),
                                .sequence = chunk.sequence,
                                .first = chunk.first,
                                .last = chunk.last,
                                .is_last = chunk.is_last});
    for (const ChunkView::Array& array : chunks.arrays)
      group_.arrays.push_back({std::string(array.name), values_of(array.values)});
    for (std::int32_t token = 0; token < group_.num_tokens; token += group_.chunk_size)
      group_.physical.push_back(token);
    mark_boundaries();
    return std::move(group_);
  }

 private:
  void add_sequence(const ChunkView::Sequence& sequence) {
    const RowTrace& row = view_.trace.rows[static_cast<std::size_t>(sequence.row)];
    group_.sequences.push_back({.request = row.request,
                                .name = view_.names.request(row.request),
                                .number = static_cast<std::int32_t>(group_.sequences.size()),
                                .first = sequence.first,
                                .last = sequence.last,
                                .num_computed_tokens = row.num_computed_tokens});
    group_.num_tokens = std::max(group_.num_tokens, sequence.last);
    if (row.row_class != RowClass::prefill)
      group_.num_decode_tokens += sequence.last - sequence.first;
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
    has_chunks = has_chunks || chunk_view(*trace.metadata, 0).cuts_chunks;
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
    model.empty = "The builders of this model cut no chunks.";
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

namespace {

std::string letter(std::int32_t sequence) {
  return sequence < 0    ? "?"
         : sequence < 26 ? std::string(1, static_cast<char>('a' + sequence))
                         : fmt::format("{}", sequence);
}

std::vector<Click> select(const ChunkSequence& sequence) {
  return {{"select.request", quoted_word(sequence.name)}};
}

Strip sequences_strip(const ChunkGroup& group, RequestId selected) {
  Strip strip{.title = "Sequences",
              .help = "Rows that the scan works on, in the order of the batch",
              .num_tokens = group.num_tokens};
  for (const ChunkSequence& sequence : group.sequences) {
    const std::int32_t count = sequence.last - sequence.first;
    if (count == 0) continue;
    const std::string name = fmt::format("{}: {}", letter(sequence.number), sequence.name);
    const std::int32_t position = sequence.num_computed_tokens;
    strip.parts.push_back(
        {.first = sequence.first,
         .last = sequence.last,
         .words = fmt::format("{}, {} tokens from {}", name, count, position),
         .text = name,
         .series = sequence.number,
         .is_selected = sequence.request == selected,
         .facts = {{"request", sequence.name},
                   {"seq_idx", fmt::format("{}", sequence.number)},
                   {"packed tokens", fmt::format("{}..{}", sequence.first, sequence.last - 1)},
                   {"positions", fmt::format("{}..{}", position, position + count - 1)}},
         .clicks = select(sequence),
         .mark = "sequence " + sequence.name});
  }
  return strip;
}

Strip logical_strip(const ChunkGroup& group) {
  Strip strip{.title = "Logical",
              .help = "Chunks that the scan works on: cu_chunk_seqlen, seq_idx",
              .num_tokens = group.num_tokens,
              .marked = group.boundaries};
  for (const LogicalChunk& chunk : group.logical) {
    StripPart& part = strip.parts.emplace_back();
    part.first = chunk.first;
    part.last = chunk.last;
    part.words = fmt::format("{}{}", chunk.number, letter(chunk.sequence));
    part.series = std::max(chunk.sequence, 0);
    part.is_last = chunk.is_last;
    part.facts = describe_chunk(group, chunk);
    part.mark = fmt::format("chunk {}", chunk.number);
    const auto sequence = static_cast<std::size_t>(chunk.sequence);
    if (sequence < group.sequences.size()) part.clicks = select(group.sequences[sequence]);
  }
  return strip;
}

Strip physical_strip(const ChunkGroup& group) {
  Strip strip{.title = "Physical",
              .help = "The grid of chunk_size packed tokens, wherever sequences begin",
              .num_tokens = group.num_tokens};
  for (const std::int32_t first : group.physical) {
    const std::int32_t last = std::min(first + group.chunk_size, group.num_tokens);
    strip.parts.push_back({.first = first,
                           .last = last,
                           .words = fmt::format("{}..{}", first, last - 1),
                           .shape = StripPart::Shape::outline});
  }
  return strip;
}

Table group_table(const ChunkGroup& group, RequestId selected) {
  Table table{
      .title = group.title,
      .note = fmt::format("{}. {}", chunk_counts(group), group.rule),
      .headings = {"Array", ColumnWords{"Values", "", ColumnKind::wrapped}},
      .strips = {sequences_strip(group, selected), logical_strip(group), physical_strip(group)}};
  for (const ChunkArray& array : group.arrays)
    table.rows.push_back({words_cell(array.name), words_cell(array.values)});
  return table;
}

}  // namespace

Picture chunks_picture(Workbench& workbench) {
  const ChunksModel model = make_chunks_model(*workbench.run());
  if (!model.empty.empty()) return {.notes = {model.empty}};
  Picture picture{.is_page = true};
  bool has_boundaries = false;
  for (const ChunkGroup& group : model.groups) {
    picture.tables.push_back(group_table(group, workbench.selection().request));
    has_boundaries = has_boundaries || !group.boundaries.empty();
  }
  picture.notes.emplace_back(fmt::format(
      "Letters and colours are sequences (seq_idx). A thick right edge: the last chunk of its "
      "sequence{}.",
      has_boundaries ? "; triangles: a block is full and its state is stored (mode all)" : ""));
  return picture;
}

}  // namespace hybridscope
