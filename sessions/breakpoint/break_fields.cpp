#include "sessions/breakpoint/break_fields.h"

#include <algorithm>
#include <map>
#include <type_traits>
#include <utility>

#include "sessions/record/enum_codes.h"
#include "sessions/record/step_fields.h"
#include "sessions/record/value_names.h"

namespace hybridscope {
namespace {

// Fields that it is shown, as names and types.
struct FieldLister {
  std::vector<BreakField>& fields;

  template <class T>
  void operator()(std::string_view name, const T&) {
    BreakField field{.name = std::string(name), .type = BreakType::number, .words = {}};
    if constexpr (std::is_same_v<T, bool>) {
      field.type = BreakType::flag;
    } else if constexpr (std::is_same_v<T, RequestId>) {
      field.type = BreakType::request;
    } else if constexpr (std::is_same_v<T, Rule>) {
      field.type = BreakType::word;
      for (const RuleInfo& rule : rule_table()) field.words.push_back(rule.slug);
    } else if constexpr (std::is_enum_v<T>) {
      field.type = BreakType::word;
      for (std::int32_t code = 0; code < num_codes<T>(); ++code)
        field.words.push_back(value_names::name(static_cast<T>(code)));
    }
    if constexpr (!std::is_same_v<T, std::string_view>) fields.push_back(std::move(field));
  }
};

// The values of the same fields.
struct ValueReader {
  std::vector<std::int64_t>& values;

  template <class T>
  void operator()(std::string_view, const T& value) {
    if constexpr (std::is_same_v<T, RequestId>)
      values.push_back(value.value);
    else if constexpr (!std::is_same_v<T, std::string_view>)
      values.push_back(static_cast<std::int64_t>(value));
  }
};

// Elements are added one by one into storage that is there.
class Collector {
 public:
  explicit Collector(std::vector<BreakElement>& elements) : elements_(elements) {}

  // fields(visit) shows the element's fields to visit(name, value).
  template <class Fields>
  void add(RequestId request, std::size_t index, Fields&& fields) {
    if (count_ == elements_.size()) elements_.emplace_back();
    BreakElement& element = elements_[count_++];
    element.request = request;
    element.index = static_cast<std::int32_t>(index);
    element.values.clear();
    fields(ValueReader{element.values});
  }
  std::size_t count() const { return count_; }

 private:
  std::vector<BreakElement>& elements_;
  std::size_t count_ = 0;
};

// Shows the fields of a type.
template <class T>
const T kSample{};

// A kind whose elements are shown by each(step, show(request, index, fields)).
template <class Sample, class Each>
BreakKind make_kind(std::string_view name, std::string_view meaning, Sample&& sample, Each each) {
  BreakKind kind{.name = name, .meaning = meaning, .fields = {}, .collect = {}};
  sample(FieldLister{kind.fields});
  kind.collect = [each](const BreakStep& step, std::vector<BreakElement>& elements) {
    Collector collector(elements);
    each(step, collector);
    return collector.count();
  };
  return kind;
}

template <class Visit>
void visit_step(const BreakStep& step, Visit&& visit) {
  const StepTrace& trace = step.trace;
  visit("step", trace.step);
  for_each_step_field(trace, visit);
  for_each_graph_field(trace, visit);
  visit("num_reqs", trace.rows.size());
  visit("num_preempted", trace.preempted.size());
  visit("num_skipped", trace.skipped.size());
  visit("num_copies", trace.pre_copies.copies.size() + trace.post_copies.copies.size());
  visit("num_findings", step.findings.size());
}

BreakKind step_kind() {
  const StepTrace trace;
  BreakKind kind = make_kind(
      "", "the step itself",
      [&](auto visit) {
        visit_step({trace, {}, {}}, visit);
      },
      [](const BreakStep& step, Collector& out) {
        out.add(RequestId{}, 0, [&](auto visit) { visit_step(step, visit); });
      });
  kind.is_bare = true;
  return kind;
}

template <class T, class Visit>
void visit_copy(T& decided, std::int32_t launch, Visit&& visit) {
  const bool copies = decided.decision.copies();
  visit("launch", launch);
  visit("row", decided.row);
  visit("copies", copies);
  for_each_decision_field(decided, visit);
}

BreakKind copy_kind() {
  return make_kind(
      "copy", "a row's copy decision; launch 0 is before the forward, 1 after sampling",
      [](auto visit) { visit_copy(kSample<CopyDecisionTrace>, 0, visit); },
      [](const BreakStep& step, Collector& out) {
        std::int32_t launch = 0;
        for (const CopyLaunch* copies : {&step.trace.pre_copies, &step.trace.post_copies}) {
          for (std::size_t i = 0; i < copies->decisions.size(); ++i)
            out.add(copies->decisions[i].request, i,
                    [&](auto visit) { visit_copy(copies->decisions[i], launch, visit); });
          ++launch;
        }
      });
}

BreakKind row_kind() {
  return make_kind(
      "row", "a request's row of the batch",
      [](auto visit) {
        for_each_scheduled_field(kSample<ScheduledTrace>, visit);
        visit("row", std::int32_t{0});
        for_each_row_field(kSample<RowTrace>, visit);
        for_each_layout_field(kSample<RowTrace>, visit);
      },
      [](const BreakStep& step, Collector& out) {
        for (std::size_t i = 0; i < step.trace.rows.size(); ++i) {
          const RowTrace& row = step.trace.rows[i];
          out.add(row.request, i, [&](auto visit) {
            for_each_scheduled_field(step.trace.scheduled_of(row), visit);
            visit("row", i);
            for_each_row_field(row, visit);
            for_each_layout_field(row, visit);
          });
        }
      });
}

BreakKind commit_kind() {
  return make_kind(
      "commit", "what the frame that returned brought a request",
      [](auto visit) { for_each_commit_field(kSample<CommitTrace>, visit); },
      [](const BreakStep& step, Collector& out) {
        for (std::size_t i = 0; i < step.trace.committed.size(); ++i)
          out.add(step.trace.committed[i].request, i,
                  [&](auto visit) { for_each_commit_field(step.trace.committed[i], visit); });
      });
}

BreakKind command_kind() {
  return make_kind(
      "command", "a command before the step",
      [](auto visit) { for_each_command_field(kSample<CommandTrace>, visit); },
      [](const BreakStep& step, Collector& out) {
        for (std::size_t i = 0; i < step.trace.commands.size(); ++i)
          out.add(step.trace.commands[i].request, i,
                  [&](auto visit) { for_each_command_field(step.trace.commands[i], visit); });
      });
}

BreakKind lookup_kind() {
  return make_kind(
      "lookup", "a prefix-cache lookup of a waiting request",
      [](auto visit) { for_each_lookup_field(kSample<AdmissionLookup>, visit); },
      [](const BreakStep& step, Collector& out) {
        for (std::size_t i = 0; i < step.trace.lookups.size(); ++i)
          out.add(step.trace.lookups[i].request, i,
                  [&](auto visit) { for_each_lookup_field(step.trace.lookups[i], visit); });
      });
}

BreakKind event_kind() {
  return make_kind(
      "event", "a block event: allocated, freed, registered, evicted, column_set ...",
      [](auto visit) { for_each_cache_event_field(kSample<CacheEvent>, visit); },
      [](const BreakStep& step, Collector& out) {
        for (const auto* events : {&step.trace.cache_events, &step.trace.commit_events})
          for (std::size_t i = 0; i < events->size(); ++i)
            out.add((*events)[i].request, i,
                    [&](auto visit) { for_each_cache_event_field((*events)[i], visit); });
      });
}

BreakKind finding_kind() {
  return make_kind(
      "finding", "a finding; the word alone: there is one",
      [](auto visit) { for_each_finding_field(kSample<Finding>, visit); },
      [](const BreakStep& step, Collector& out) {
        for (std::size_t i = 0; i < step.findings.size(); ++i)
          out.add(step.findings[i].request, i,
                  [&](auto visit) { for_each_finding_field(step.findings[i], visit); });
      });
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

}  // namespace

std::vector<BreakKind> break_kinds() {
  std::vector<BreakKind> kinds;
  kinds.push_back(step_kind());
  kinds.push_back(block_kind());
  kinds.push_back(copy_kind());
  kinds.push_back(row_kind());
  kinds.push_back(commit_kind());
  kinds.push_back(command_kind());
  kinds.push_back(lookup_kind());
  kinds.push_back(event_kind());
  kinds.push_back(write_kind());
  kinds.push_back(finding_kind());
  return kinds;
}

}  // namespace hybridscope
