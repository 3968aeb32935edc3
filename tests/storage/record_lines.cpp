#include "tests/storage/record_lines.h"

#include <fmt/format.h>

#include "sessions/record/session_plan.h"
#include "sessions/record/step_recorder.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/traffic/traffic_load.h"
#include "storage/record_jsonl.h"
#include "storage/table_cursor.h"
#include "tests/support/property.h"

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

namespace {

EngineSettings drawn_settings() {
  EngineSettings settings;
  settings.mamba_cache_mode = one_in(4) ? MambaCacheMode::none : MambaCacheMode::align;
  settings.num_speculative_tokens = draw(0, 3);
  settings.acceptance_rate = 0.6;
  settings.max_num_seqs = draw(2, 8);
  settings.max_num_batched_tokens = draw(32, 128);
  settings.async_scheduling = one_in(2);
  if (one_in(3)) settings.runner = ModelRunner::v2;
  if (one_in(4)) settings.engine = EngineProfile::reference;
  settings.num_gpu_blocks_override = draw(24, 96);
  settings.seed = draw(0, 1000);
  return settings;
}

std::vector<ScriptStep> drawn_script() {
  std::vector<ScriptStep> script;
  for (std::int32_t step = 3; step < 24; step += draw(1, 8)) {
    ScriptStep at{.step = step};
    if (one_in(3)) at.preempt = {"c1.t1"};
    if (one_in(6)) at.abort = {"c1.t1"};
    if (one_in(4)) at.reset_prefix_cache = PrefixCacheReset::preempting_running;
    if (one_in(3)) at.budget = draw(8, 32);
    script.push_back(at);
  }
  return script;
}

}  // namespace

RunPlan drawn_run() {
  const Traffic traffic = make_synthetic_traffic({.seed = static_cast<std::uint64_t>(draw(0, 1000)),
                                                  .num_conversations = draw(2, 6),
                                                  .num_system_prompts = 2,
                                                  .turns = {1, 2},
                                                  .system_tokens = {8, 48},
                                                  .user_tokens = {1, 32},
                                                  .output_tokens = {1, 16},
                                                  .mean_gap_us = 60'000,
                                                  .mean_think_us = 100'000})
                              .value();
  TrafficPlanInput input{.name = "drawn", .model = "tiny-gdn", .settings = drawn_settings()};
  auto plan = plan_traffic(traffic, input);
  if (!plan.ok()) {  // a request that the drawn pool cannot hold, settings that exclude each other
    input.settings = {};
    input.settings.num_gpu_blocks_override = 256;
    plan = plan_traffic(traffic, input);
  }
  plan.value().script = drawn_script();
  return std::move(plan).value();
}

ExportedRun export_run(const std::string& file, RecordLevel level) {
  const std::string path = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + file;
  const RunPlan plan = plan_scenario(read_scenario_file(path).value(), file).value();
  ExportedRun run;
  run.header = {.name = "exported",
                .kind = SessionKind::run,
                .level = level,
                .source = file,
                .model = plan.setup.layout.model.name,
                .engine = "safe",
                .plan = write_session_plan(plan),
                .config = plan.setup.config,
                .parent_name = "parent",
                .parent = 0,
                .forked_at = 3};
  const auto source = LiveSource::create(plan, level, file).value();
  RecordJsonlWriter writer([&source](RequestId id) { return source->request_name(id); });
  run.lines.push_back(writer.header(run.header));
  while (source->next().value() != nullptr) {
    const StepRecord& record = *source->record().value();
    run.records.push_back(lines_of(record));
    run.lines.push_back(writer.step(record));
  }
  run.lines.push_back(writer.end({.status = SessionStatus::stopped,
                                  .reason = "asked to",
                                  .note = "line 1\nline 2",
                                  .bookmarks = {{2, "here"}},
                                  .num_steps = static_cast<std::int64_t>(run.records.size())}));
  return run;
}

std::vector<std::vector<std::string>> read_lines(const std::vector<std::string>& lines,
                                                 std::string& error) {
  std::vector<std::vector<std::string>> records;
  RecordJsonlReader reader("in.jsonl");
  const auto header = reader.read_header(lines.at(0), 1);
  if (!header.ok()) {
    error = header.error().message;
    return records;
  }
  StepRecord record;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto step = reader.read_step(lines[i], static_cast<std::int64_t>(i + 1), record);
    if (!step.ok()) {
      error = step.error().message;
      return records;
    }
    if (step.value()) records.push_back(lines_of(record));
  }
  return records;
}

}  // namespace hybridscope::test
