// Compares copies, blocks, metadata and what the step wrote.
#include "sessions/diff/session_diff.h"

#include "sessions/explain/explain_parts.h"
#include "sessions/record/step_fields.h"

namespace hybridscope {
namespace {

constexpr std::string_view kLaunches[2] = {"pre_copies", "post_copies"};

const CopyLaunch& launch_of(const StepTrace& trace, int launch) {
  return launch == 0 ? trace.pre_copies : trace.post_copies;
}

// The request of the copy's decision; none when the copy refers to no decision.
RequestId owner_of(const CopyLaunch& launch, const StateCopyTrace& copy) {
  const auto decision = static_cast<std::size_t>(copy.decision);
  return decision < launch.decisions.size() ? launch.decisions[decision].request : RequestId{};
}

// Group and column as part of a key; -1 is a valid value.
constexpr std::uint64_t place_key(std::int32_t group, std::int32_t column) {
  return static_cast<std::uint64_t>(static_cast<std::uint8_t>(group)) << 24 |
         (static_cast<std::uint32_t>(column) & 0xFFFFFFU);
}

// Elements for the events of one side. Events without a request are distinguished only by their
// order.
class EventElements {
 public:
  ListElement element(const CacheEvent& event, bool at_commit) {
    const auto kind = static_cast<std::uint64_t>(event.kind) << 1 | (at_commit ? 1U : 0U);
    const std::int32_t number = event.request.value >= 0 ? 0 : ++num_of_kind_[kind];
    return {.more = kind << 32 | (number == 0 ? place_key(event.group, event.column)
                                              : static_cast<std::uint32_t>(number)),
            .data = &event,
            .block = event.block,
            .group = event.group,
            .column = event.column,
            .part = value_names::name(event.kind),
            .detail = at_commit ? "at commit" : "",
            .number = number};
  }

 private:
  std::array<std::int32_t, 32> num_of_kind_{};
};

}  // namespace

void RecordComparer::compare_copies(const StepTrace& a, const StepTrace& b,
                                    const SectionMask& sections) {
  if (is_compared(sections, StepSection::copies)) {
    matcher_.begin();
    for (int side = 0; side < 2; ++side)
      for (int launch = 0; launch < 2; ++launch)
        for (const CopyDecisionTrace& decided : launch_of(side == 0 ? a : b, launch).decisions)
          if (level_ == RecordLevel::full || decided.decision.copies())
            matcher_.add(side, decided.request,
                         {.more = static_cast<std::uint64_t>(launch),
                          .data = &decided,
                          .part = kLaunches[launch]});
    matcher_.compare(DiffList::copies, [](auto& visit, const ListElement& element) {
      for_each_decision_field(as<CopyDecisionTrace>(element), visit);
    });
  }
  if (!is_compared(sections, StepSection::copies) && !is_compared(sections, StepSection::blocks))
    return;
  matcher_.begin();
  for (int side = 0; side < 2; ++side)
    for (int launch = 0; launch < 2; ++launch) {
      const CopyLaunch& copies = launch_of(side == 0 ? a : b, launch);
      for (const StateCopyTrace& copy : copies.copies)
        matcher_.add(side, owner_of(copies, copy),
                     {.more = static_cast<std::uint64_t>(launch) << 40 | place_key(copy.group, 0),
                      .data = &copy,
                      .block = copy.dst_block,
                      .group = copy.group,
                      .part = kLaunches[launch]});
    }
  matcher_.compare(DiffList::state_copies, [](auto& visit, const ListElement& element) {
    for_each_copy_field(as<StateCopyTrace>(element), visit);
  });
}

void RecordComparer::compare_blocks(const StepRecord& a, const StepRecord& b,
                                    const SectionMask& sections) {
  if (is_compared(sections, StepSection::blocks)) {
    matcher_.begin();
    for (int side = 0; side < 2; ++side) {
      const StepTrace& trace = (side == 0 ? a : b).trace;
      EventElements elements;
      for (const auto* events : {&trace.cache_events, &trace.commit_events})
        for (const CacheEvent& event : *events)
          matcher_.add(side, event.request,
                       elements.element(event, events == &trace.commit_events));
    }
    matcher_.compare(DiffList::block_events, [](auto& visit, const ListElement& element) {
      for_each_cache_event_field(as<CacheEvent>(element), visit);
    });
  }
  matcher_.begin();
  for (int side = 0; side < 2; ++side)
    for (const WorkerTableChange& change : (side == 0 ? a : b).worker_changes)
      matcher_.add(side, change.request,
                   {.more = place_key(change.group, change.column),
                    .data = &change,
                    .block = change.block,
                    .group = change.group,
                    .column = change.column});
  matcher_.compare(DiffList::worker_tables, [](auto& visit, const ListElement& element) {
    visit("block", as<WorkerTableChange>(element).block);
  });
}

void RecordComparer::compare_metadata(const StepRecord& a, const StepRecord& b) {
  matcher_.begin();
  for (int side = 0; side < 2; ++side)
    for (const GroupTrace& group : (side == 0 ? a : b).trace.groups)
      matcher_.add(side, {},
                   {.more = place_key(group.group, 0), .data = &group, .group = group.group});
  matcher_.compare(DiffList::groups, [](auto& visit, const ListElement& element) {
    for_each_group_field(as<GroupTrace>(element), visit);
  });
  if (level_ != RecordLevel::full) return;
  matcher_.begin();
  for (int side = 0; side < 2; ++side)
    for (const ArrayRecord& array : (side == 0 ? a : b).arrays) {
      const auto number = static_cast<std::size_t>(std::ranges::find(array_names_, array.name) -
                                                   array_names_.begin());
      if (number == array_names_.size()) array_names_.push_back(array.name);
      matcher_.add(side, {},
                   {.more = place_key(array.group, static_cast<std::int32_t>(number)),
                    .data = &array,
                    .group = array.group,
                    .part = array.name});
    }
  matcher_.match(DiffList::arrays, [this](const ListElement& x, const ListElement& y) {
    compare_array(x, as<ArrayRecord>(x), as<ArrayRecord>(y));
  });
}

void RecordComparer::compare_array(const ListElement& element, const ArrayRecord& a,
                                   const ArrayRecord& b) {
  const bool same_shape =
      a.present == b.present && a.dims == b.dims && a.rows == b.rows && a.cols == b.cols;
  if (same_shape && a.dtype == b.dtype && a.values == b.values) return;
  const auto number = static_cast<std::size_t>(element.more & 0xFFFFFFU);
  FieldDifference* difference = matcher_.differ(DiffList::arrays, element, number, a.name);
  if (difference == nullptr) return;
  if (!same_shape || a.dtype != b.dtype) {
    const auto shape = [&](const ArrayRecord& array) -> DiffValue {
      if (!array.present) return {DiffValueKind::none};
      return array_shape_value(array.dims, array.rows, array.cols,
                               a.dtype != b.dtype ? array_dtype_name(array.dtype) : "");
    };
    difference->a = shape(a);
    difference->b = shape(b);
    return;
  }
  for (std::size_t i = 0; i < std::min(a.values.size(), b.values.size()); ++i) {
    if (a.values[i] == b.values[i]) continue;
    if (difference->num_elements++ > 0) continue;
    difference->index = a.dims == 0 ? -1 : static_cast<std::int32_t>(i);
    difference->num_columns = a.dims == 2 ? a.cols : 0;
    difference->a = {DiffValueKind::number, a.values[i]};
    difference->b = {DiffValueKind::number, b.values[i]};
  }
}

void RecordComparer::compare_writes(const StepRecord& a, const StepRecord& b) {
  matcher_.begin();
  for (int side = 0; side < 2; ++side) {
    const StepTrace& trace = (side == 0 ? a : b).trace;
    for (const GroupTrace& group : trace.groups)
      for (const AttentionWrite& write : group.attention_writes) {
        const auto row = static_cast<std::size_t>(write.row);
        matcher_.add(side, row < trace.rows.size() ? trace.rows[row].request : RequestId{},
                     {.more = place_key(group.group, write.column),
                      .data = &write,
                      .block = write.block,
                      .group = group.group,
                      .column = write.column});
      }
  }
  matcher_.compare(DiffList::attention_writes, [](auto& visit, const ListElement& element) {
    for_each_attention_write_field(as<AttentionWrite>(element), visit);
  });
  matcher_.begin();
  for (int side = 0; side < 2; ++side)
    for (const StateWrite& write : (side == 0 ? a : b).writes)
      matcher_.add(side, write.event.request,
                   {.more = static_cast<std::uint64_t>(write.event.kind) << 40 |
                            static_cast<std::uint64_t>(write.content) << 32 |
                            place_key(write.group, write.column),
                    .data = &write,
                    .block = write.block,
                    .group = write.group,
                    .column = write.column,
                    .part = value_names::write_name(write.event.kind, write.content)});
  matcher_.compare(DiffList::state_writes, [](auto& visit, const ListElement& element) {
    for_each_write_field(as<StateWrite>(element), visit);
  });
}

}  // namespace hybridscope
