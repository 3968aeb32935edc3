#include "tests/storage/record_lines.h"

#include <fmt/format.h>

#include "storage/table_fields.h"

namespace hybridscope::test {
namespace {

struct Lines {
  std::string prefix;
  std::vector<std::string>& out;

  template <class T>
  void operator()(std::string_view name, const T& value) {
    if constexpr (std::is_same_v<T, RequestId>)
      out.push_back(fmt::format("{}.{}=request {}", prefix, name, value.value));
    else if constexpr (std::is_same_v<T, std::string_view>)
      out.push_back(fmt::format("{}.{}={}", prefix, name, value));
    else if constexpr (std::is_enum_v<T>)
      out.push_back(fmt::format("{}.{}={}", prefix, name, static_cast<int>(value)));
    else
      out.push_back(fmt::format("{}.{}={}", prefix, name, value));
  }
};

template <class Items, class ForEach>
void add_all(const char* name, const Items& items, ForEach for_each,
             std::vector<std::string>& out) {
  out.push_back(fmt::format("{} {}", items.size(), name));
  for (std::size_t i = 0; i < items.size(); ++i) {
    Lines lines{fmt::format("{}[{}]", name, i), out};
    for_each(items[i], lines);
  }
}

void add_launch(const char* name, const CopyLaunch& launch, std::vector<std::string>& out) {
  add_all(
      fmt::format("{}.decisions", name).c_str(), launch.decisions,
      [](const auto& decided, auto& visit) {
        visit("row", decided.row);
        fields::kDecision(decided, visit);
      },
      out);
  add_all(fmt::format("{}.copies", name).c_str(), launch.copies, fields::kCopy, out);
}

void add_blocks(const StepRecord& record, std::vector<std::string>& out) {
  const StepTrace& trace = record.trace;
  add_all("preempted", trace.preempted, fields::kPreempted, out);
  add_all("skipped", trace.skipped, fields::kSkipped, out);
  add_all("token_terms", trace.token_terms, fields::kTerms, out);
  add_all(
      "lookups", trace.lookups,
      [&out](const AdmissionLookup& lookup, auto& visit) {
        fields::kLookup(lookup, visit);
        add_all("groups", lookup.explanation.groups, fields::kGroupLookup, out);
      },
      out);
  add_all("scheduled", trace.scheduled, fields::kScheduled, out);
  add_all(
      "rows", trace.rows,
      [](const RowTrace& row, auto& visit) {
        visit("request", row.request);
        visit("scheduled", row.scheduled);
        fields::kRow(row, visit);
      },
      out);
  add_all("committed", trace.committed, fields::kCommit, out);
  add_all("cache_events", trace.cache_events, fields::kEvent, out);
  add_all("commit_events", trace.commit_events, fields::kEvent, out);
  add_all("worker_changes", record.worker_changes, fields::kChange, out);
  add_launch("pre_copies", trace.pre_copies, out);
  add_launch("post_copies", trace.post_copies, out);
  add_all(
      "groups", trace.groups,
      [&out](const GroupTrace& group, auto& visit) {
        visit("group", group.group);
        visit("is_mamba", group.is_mamba);
        visit("block_size", group.block_size);
        fields::kGroup(group, visit);
        add_all("attention_writes", group.attention_writes, fields::kAttentionWrite, out);
      },
      out);
}

template <class Tables>
void add_tables(const Tables& tables, std::vector<std::string>& out) {
  for (const RequestId request : tables.requests())
    for (std::int32_t group = 0; group < tables.num_groups(); ++group)
      out.push_back(fmt::format("request {} group {}: {}", request.value, group,
                                fmt::join(tables.block_ids(request, group), " ")));
}

}  // namespace

std::vector<std::string> lines_of(const StepRecord& record) {
  std::vector<std::string> out{fmt::format("step {}", record.trace.step)};
  Lines step{"step", out};
  fields::kStep(record, step);
  fields::kDigests(record.digests, step);
  fields::kGraph(record.trace, step);
  add_all("commands", record.trace.commands, fields::kCommand, out);
  add_all(
      "findings", record.findings,
      [](const Finding& finding, auto& visit) {
        visit("step", finding.step);
        fields::kFinding(finding, visit);
      },
      out);
  add_blocks(record, out);
  add_all(
      "arrays", record.arrays,
      [&out](const ArrayRecord& array, auto& visit) {
        fields::kArray(array, visit);
        out.push_back(fmt::format("present {}: {}", array.present, fmt::join(array.values, " ")));
      },
      out);
  add_all(
      "writes", record.writes,
      [](const StateWrite& write, auto& visit) {
        visit("step", write.event.step);
        fields::kWrite(write, visit);
      },
      out);
  return out;
}

std::vector<std::string> lines_of(const BlockTableMirror& tables) {
  std::vector<std::string> out;
  add_tables(tables, out);
  for (std::int32_t block = 0; block < tables.num_blocks(); ++block)
    if (tables.deferred(block) != 0 || tables.holders(block) != 0)
      out.push_back(fmt::format("block {}: {} holders, {} deferred", block, tables.holders(block),
                                tables.deferred(block)));
  return out;
}

std::vector<std::string> lines_of(const WorkerTables& tables) {
  std::vector<std::string> out;
  add_tables(tables, out);
  return out;
}

}  // namespace hybridscope::test
