#include <algorithm>
#include <map>

#include "sessions/breakpoint/break_kinds.h"
#include "sessions/record/step_fields.h"

namespace hybridscope::break_kinds_of {
namespace {

// What happened to one block in the step.
struct TouchedBlock {
  std::int32_t block = 0;
  bool written = false;
  bool allocated = false;
  bool freed = false;
  bool touched = false;
  bool registered = false;
  bool evicted = false;
  bool copied_to = false;
  bool copied_from = false;
};

template <class T, class Visit>
void visit_block(T& block, Visit&& visit) {
  visit("block", block.block);
  visit("written", block.written);
  visit("allocated", block.allocated);
  visit("freed", block.freed);
  visit("touched", block.touched);
  visit("registered", block.registered);
  visit("evicted", block.evicted);
  visit("copied_to", block.copied_to);
  visit("copied_from", block.copied_from);
}

using TouchedBlocks = std::map<std::int32_t, TouchedBlock>;

void add_event(const CacheEvent& event, TouchedBlocks& blocks) {
  TouchedBlock& block = blocks[event.block];
  block.allocated = block.allocated || event.kind == CacheEventKind::allocated;
  block.freed = block.freed || event.kind == CacheEventKind::freed;
  block.touched = block.touched || event.kind == CacheEventKind::touched;
  block.registered = block.registered || event.kind == CacheEventKind::registered;
  block.evicted = block.evicted || event.kind == CacheEventKind::evicted;
}

TouchedBlocks touched_blocks(const BreakStep& step) {
  TouchedBlocks blocks;
  for (const auto* events : {&step.trace.cache_events, &step.trace.commit_events})
    for (const CacheEvent& event : *events) add_event(event, blocks);
  for (const CopyLaunch* launch : {&step.trace.pre_copies, &step.trace.post_copies})
    for (const StateCopyTrace& copy : launch->copies) {
      blocks[copy.dst_block].copied_to = true;
      blocks[copy.temporal_src_block].copied_from = true;
      blocks[copy.conv_src_block].copied_from = true;
    }
  for (const StateWrite& write : step.writes) blocks[write.block].written = true;
  return blocks;
}

// One column of a request's row in the worker's block table.
struct TableColumn {
  RequestId request{};
  std::int32_t row = 0;
  std::int32_t group = 0;
  std::int32_t column = 0;
  std::int32_t block = 0;
};

template <class T, class Visit>
void visit_table_column(T& entry, Visit&& visit) {
  visit("request", entry.request);
  visit("row", entry.row);
  visit("group", entry.group);
  visit("col", entry.column);
  visit("block", entry.block);
}

// `request`: the request whose decision the copy carries out. Also visits where it was decided.
template <class T, class Visit>
void visit_state_copy(T& copy, RequestId request, std::int32_t launch, Visit&& visit) {
  visit("request", request);
  visit("launch", launch);
  for_each_copy_field(copy, visit);
}

// One element of a metadata array of a group.
struct ArrayElement {
  std::int32_t name = 0;  // index into the names
  std::int32_t group = 0;
  std::int32_t i = 0;
  std::int32_t j = 0;
  std::int64_t value = 0;
};

template <class T, class Visit>
void visit_array_element(T& element, Visit&& visit) {
  visit("name", element.name);
  visit("group", element.group);
  visit("i", element.i);
  visit("j", element.j);
  visit("value", element.value);
}

// The names of the arrays of all builders, each once.
std::vector<std::string_view> array_names() {
  StepTrace trace;
  const std::int32_t none = 0;
  for (const bool with_conv1d : {false, true}) {
    for (BuilderMetadata& metadata : every_kind_of_metadata()) {
      if (with_conv1d) set_conv1d_present(metadata);
      GroupTrace& group = trace.groups.emplace_back();
      group.metadata = metadata;
      group.temporal_source_column = vector_view(&none, 0);
      group.conv_source_column = vector_view(&none, 0);
    }
  }
  std::vector<std::string_view> names;
  for_each_array(trace, [&](std::int32_t, std::string_view name, const auto&, ArrayDtype) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  });
  return names;
}

// Adds the elements of the arrays it visits.
struct ElementAdder {
  const std::vector<std::string_view>& names;
  Collector& out;

  template <class T>
  void operator()(std::int32_t group, std::string_view name, const TensorView<T>& view,
                  ArrayDtype) {
    if (!view.present) return;
    for (std::int32_t i = 0; i < view.rows; ++i)
      for (std::int32_t j = 0; j < view.cols; ++j)
        add(name,
            {.group = group, .i = i, .j = j, .value = static_cast<std::int64_t>(view.at(i, j))});
  }
  void operator()(std::int32_t group, std::string_view name, std::int32_t value, ArrayDtype) {
    add(name, {.group = group, .value = value});
  }

  void add(std::string_view name, ArrayElement element) {
    const auto place = std::find(names.begin(), names.end(), name);
    element.name = static_cast<std::int32_t>(place - names.begin());
    out.add(RequestId{}, out.count(), [&](auto visit) { visit_array_element(element, visit); });
  }
};

}  // namespace

BreakKind block_kind() {
  BreakKind kind = make_kind(
      "", "a block that something happened to",
      [](auto visit) { visit_block(kSample<TouchedBlock>, visit); },
      [](const BreakStep& step, Collector& out) {
        for (auto& [id, block] : touched_blocks(step)) {
          block.block = id;
          out.add(RequestId{}, static_cast<std::size_t>(id),
                  [&block = block](auto visit) { visit_block(block, visit); });
        }
      });
  kind.is_bare = true;
  kind.reads_writes = true;
  return kind;
}

BreakKind write_kind() {
  BreakKind kind = make_kind(
      "write", "a write to the state of a block, as the checker carried it out",
      [](auto visit) { for_each_write_field(kSample<StateWrite>, visit); },
      [](const BreakStep& step, Collector& out) {
        for (std::size_t i = 0; i < step.writes.size(); ++i)
          out.add(step.writes[i].event.request, i,
                  [&](auto visit) { for_each_write_field(step.writes[i], visit); });
      });
  kind.reads_writes = true;
  return kind;
}

BreakKind table_kind() {
  return make_kind(
      "table", "a column of a row in the worker's block table",
      [](auto visit) { visit_table_column(kSample<TableColumn>, visit); },
      [](const BreakStep& step, Collector& out) {
        for (const GroupTrace& group : step.trace.groups)
          for (std::size_t r = 0; group.block_table.present && r < step.trace.rows.size(); ++r)
            for (std::int32_t c = 0; c < group.block_table.cols; ++c) {
              const auto row = static_cast<std::int32_t>(r);
              const TableColumn entry{.request = step.trace.rows[r].request,
                                      .row = row,
                                      .group = group.group,
                                      .column = c,
                                      .block = group.block_table.at(row, c)};
              out.add(entry.request, out.count(),
                      [&](auto visit) { visit_table_column(entry, visit); });
            }
      });
}

BreakKind state_copy_kind() {
  return make_kind(
      "state_copy", "a copy decision as it is carried out in one group, with block ids",
      [](auto visit) { visit_state_copy(kSample<StateCopyTrace>, RequestId{}, 0, visit); },
      [](const BreakStep& step, Collector& out) {
        std::int32_t launch = 0;
        for (const CopyLaunch* copies : {&step.trace.pre_copies, &step.trace.post_copies}) {
          for (std::size_t i = 0; i < copies->copies.size(); ++i) {
            const StateCopyTrace& copy = copies->copies[i];
            const RequestId request =
                copies->decisions[static_cast<std::size_t>(copy.decision)].request;
            out.add(request, i,
                    [&](auto visit) { visit_state_copy(copy, request, launch, visit); });
          }
          ++launch;
        }
      });
}

BreakKind metadata_kind() {
  const std::vector<std::string_view> names = array_names();
  BreakKind kind = make_kind(
      "metadata", "an element [i] or [i, j] of what layers are given; group -1: of the batch",
      [](auto visit) { visit_array_element(kSample<ArrayElement>, visit); },
      [names](const BreakStep& step, Collector& out) {
        for_each_array(step.trace, ElementAdder{names, out});
      });
  kind.fields.front().type = BreakType::word;
  kind.fields.front().words = names;
  return kind;
}

}  // namespace hybridscope::break_kinds_of
