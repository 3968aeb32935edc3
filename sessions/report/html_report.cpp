#include "sessions/report/html_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "core/model/model_layout.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/explain/explain_parts.h"
#include "sessions/explain/explain_step.h"
#include "sessions/page/page_parts.h"
#include "sessions/report/report_files.h"
#include "sessions/run/run_plan.h"
#include "sessions/text/number_words.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

using Json = nlohmann::json;

std::string_view severity_words(Severity severity) {
  return severity == Severity::error ? "✖ error" : "▲ warning";
}
std::string_view severity_class(Severity severity) {
  return severity == Severity::error ? "error" : "warning";
}

Json describe_groups(const EngineConfig& config, const Names& names) {
  Json groups = Json::array();
  for (std::size_t i = 0; i < config.kv_cache_config.groups.size(); ++i) {
    const KVCacheGroup& group = config.kv_cache_config.groups[i];
    groups.push_back(
        {{"name", names.group(static_cast<std::int32_t>(i))},
         {"words", fmt::format("{}, {} a block", counted(std::ssize(group.layers), "layer"),
                               counted(group.block_size(), "token"))}});
  }
  return groups;
}

constexpr StepTopic kWords[] = {StepTopic::commands, StepTopic::schedule, StepTopic::blocks,
                                StepTopic::graph, StepTopic::commit};
constexpr StepTopic kCopies[] = {StepTopic::pre_copies, StepTopic::post_copies};

std::string outcome_words(const ScheduledTrace& scheduled, const RowTrace& row) {
  if (!scheduled.samples()) return "chunk";
  if (row.num_sampled_tokens == 0) return "discarded";
  if (scheduled.num_draft_tokens == 0) return "1 token";
  return fmt::format("{} of {} drafts", row.num_sampled_tokens - 1, scheduled.num_draft_tokens);
}

}  // namespace

HtmlReportWriter::HtmlReportWriter(StepSource& source, HtmlReportOptions options)
    : source_(source),
      options_(std::move(options)),
      names_(make_names(source.config(), [this](RequestId request) { return name_of(request); })),
      tables_(source.config(), names_),
      findings_(source.knows_own_counts()),
      starvation_(source.config()) {
  if (options_.header.language) findings_.set_runs_replays();
}

bool HtmlReportWriter::is_shown(std::int64_t step) const {
  if (has_range()) return step >= options_.first_step && step <= options_.last_step;
  return !cut_;
}

std::string HtmlReportWriter::name_of(RequestId request) {
  const auto [place, added] = requests_.try_emplace(request.value);
  if (added) place->second = source_.request_name(request);
  return place->second;
}

Json HtmlReportWriter::lines_of(const StepRecord& record, std::span<const StepTopic> topics) const {
  const std::string text =
      explain_topics({.trace = tables_.trace(),
                      .config = source_.config(),
                      .names = names_,
                      .scheduler_tables = tables_.scheduler_tables(),
                      .findings = {},
                      .own_count =
                          [this, &record](RequestId request) {
                            return findings_.own_counts().before(record.trace.step, request);
                          },
                      .columns = std::string::npos,
                      .tells_tokens = false},
                     topics);
  Json lines = Json::array();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// [[class, severity, words]...]
Json HtmlReportWriter::findings_of(const StepRecord& record) const {
  Json list = Json::array();
  const std::vector<std::string> chains = findings_.last_chain_words();
  for (std::size_t i = 0; i < record.findings.size(); ++i) {
    const Severity severity = rule_info(record.findings[i].rule).severity;
    std::string words = explain_finding(record.findings[i], names_);
    if (!chains[i].empty()) words += "; " + chains[i];
    list.push_back({severity_class(severity), severity_words(severity), std::move(words)});
  }
  return list;
}

// {request, class, cells: [...]}
Json HtmlReportWriter::row_of(const RowTrace& row, std::size_t number,
                              const StepRecord& record) const {
  const StepTrace& trace = tables_.trace();
  const ScheduledTrace& scheduled = trace.scheduled_of(row);
  const auto own = findings_.own_counts().before(trace.step, row.request);
  std::string came(admission_name(scheduled.admission));
  if (row.origin != RowOrigin::kept) came += fmt::format(", {}", row_origin_name(row.origin));
  Json cells = {
      number,
      row.slot,
      names_.request(row.request),
      row_class_name(row.row_class),
      row.num_computed_tokens,
      scheduled.num_scheduled_tokens,
      scheduled.num_draft_tokens,
      row.num_accepted_tokens,
      count_origin_words(trace, row, own, names_),
      row.num_sampled_tokens,
      outcome_words(scheduled, row),
      scheduled.admission == Admission::running ? Json("") : Json(scheduled.num_hit_tokens),
      came};
  const auto copies = [&row](const CopyLaunch& launch) {
    return std::ranges::any_of(launch.decisions, [&row](const CopyDecisionTrace& made) {
      return made.request == row.request && made.decision.copies();
    });
  };
  std::string classes(row_class_name(row.row_class));
  if (copies(trace.pre_copies) || copies(trace.post_copies)) classes += " copies";
  if (std::ranges::count(record.findings, row.request, &Finding::request) > 0) classes += " found";
  if (is_wrong_count(trace, row, own)) classes += " wrong";
  return {{"request", row.request.value}, {"class", classes}, {"cells", std::move(cells)}};
}

void HtmlReportWriter::show(const StepRecord& record) {
  const StepTrace& trace = tables_.trace();
  Json rows = Json::array();
  for (const RowTrace& row : trace.rows) rows.push_back(row_of(row, rows.size(), record));
  Json preempted = Json::array();
  for (const RequestId request : trace.preempted) preempted.push_back(request.value);
  const StepCounts& counts = record.counts;
  Json step = {{"n", trace.step},
               {"marks",
                {counts.num_state_copies, counts.num_evicted, counts.num_preempted,
                 counts.num_errors + counts.num_warnings}},
               {"words", lines_of(record, kWords)},
               {"copies", lines_of(record, kCopies)},
               {"findings", findings_of(record)},
               {"rows", std::move(rows)},
               {"preempted", std::move(preempted)},
               {"assumed", tables_.assumed_groups()}};
  Json changed = changes(last_, step, texts_);
  if (Json cells = tables_.changed_cells(texts_); !cells.empty())
    changed["tables"] = std::move(cells);
  steps_.push_back(script_safe_json(changed));
  numbers_.push_back(trace.step);
  last_ = std::move(step);
}

Status HtmlReportWriter::take(std::int64_t step) {
  if (!has_range() && !cut_ && std::cmp_equal(steps_.size(), kMaxReportSteps)) {
    cut_ = true;
    steps_.resize(kShortReportSteps);
    numbers_.resize(kShortReportSteps);
  }
  if (cut_ || (has_range() && step > options_.last_step)) return Ok{};
  const Result<const StepRecord*> read = source_.record();
  if (!read.ok()) return read.error();
  const StepRecord& record = *read.value();
  spoken_.add(record.speech.words);
  starvation_.add(record.trace);
  tables_.take(record);
  findings_.add(tables_.trace(), record.findings, {}, names_);
  if (is_shown(step)) show(record);
  return Ok{};
}

std::string HtmlReportWriter::left_out() const {
  if (steps_.empty() || std::cmp_equal(steps_.size(), num_steps_)) return {};
  return fmt::format("steps {} to {} are shown: {} of {} steps ({} to {})",
                     grouped_number(numbers_.front()), grouped_number(numbers_.back()),
                     grouped_number(std::ssize(steps_)), grouped_number(num_steps_),
                     grouped_number(first_number_), grouped_number(last_number_));
}

// [[name, value]...]
Json HtmlReportWriter::facts() const {
  const EngineConfig& config = source_.config();
  const auto sum_of = [this](std::string_view field) {
    const auto found = totals_.find(field);
    return found == totals_.end() ? 0 : found->second;
  };
  const auto total = [&sum_of](std::string_view field) { return grouped_number(sum_of(field)); };
  Json facts = Json::array();
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, std::string>>{
           {"model", options_.header.model},
           {"mode", std::string(mamba_cache_mode_name(config.mamba_cache_mode))},
           {"K", std::to_string(config.num_speculative_tokens)},
           {"engine", options_.header.engine},
           {"runner", has_slots() ? "V2" : "V1"},
           {"scheduling", config.async_scheduling ? "asynchronous" : "synchronous"},
           {"graphs", std::string(cudagraph_mode_name(config.cudagraph_mode))},
           {"blocks", grouped_number(config.kv_cache_config.num_blocks)},
           {"source", options_.header.source},
           {"level", std::string(record_level_name(source_.level()))},
           {"status", options_.status},
           {"steps", grouped_number(num_steps_)},
           {"prompt tokens", total("num_prompt_tokens")},
           {"hit tokens", total("num_hit_tokens")},
           {"output tokens", total("num_output_tokens")},
           {"state copies", fmt::format("{} ({})", total("num_state_copies"),
                                        rounded_byte_size(sum_of("state_copy_bytes")))},
           {"preemptions", total("num_preempted")},
           {"evictions", total("num_evicted")},
           {"note", options_.note}})
    if (!value.empty()) facts.push_back({name, value});
  return facts;
}

// [[step, class, severity, words]...], of shown steps.
Json HtmlReportWriter::all_findings() const {
  Json list = Json::array();
  for (const KeptFinding& kept : findings_.kept()) {
    const Severity severity = rule_info(kept.finding.rule).severity;
    if (!kept.line.empty() && std::ranges::binary_search(numbers_, kept.finding.step))
      list.push_back({kept.finding.step, severity_class(severity), severity_words(severity),
                      findings_.text_with_root(kept)});
  }
  return list;
}

Json HtmlReportWriter::notes() {
  Json notes = Json::array();
  Starvation starvation;
  for (const StarvedRequest& waited : starvation_.starved())
    starvation.requests.push_back({waited, name_of(waited.request)});
  if (!starvation.requests.empty()) notes.push_back(starvation.words(source_.config()));
  if (const std::string words = findings_.format_left_out(); !words.empty()) notes.push_back(words);
  return notes;
}

Json HtmlReportWriter::describe_run() {
  const std::int64_t errors = totals_["num_errors"];
  const std::int64_t warnings = totals_["num_warnings"];
  const bool finds = errors + warnings > 0;
  const bool counts_only = source_.level() == RecordLevel::counts;
  Json run = {
      {"title", options_.header.name.empty() ? source_.title() : options_.header.name},
      {"program", options_.program},
      {"verdict",
       {!finds ? "fine" : severity_class(errors > 0 ? Severity::error : Severity::warning),
        !finds ? "✔ no findings"
               : fmt::format("{} {}, {}", errors > 0 ? "✖" : "▲", counted(errors, "error"),
                             counted(warnings, "warning"))}},
      {"facts", facts()},
      {"left_out", left_out()},
      {"notes", notes()},
      {"groups", describe_groups(source_.config(), names_)},
      {"has_slots", has_slots()},
      {"no_rows",
       counts_only ? "recorded at level counts: rows were not kept" : "nothing was scheduled"},
      {"has_tables", !counts_only},
      {"tables_note", source_.level() == RecordLevel::full
                          ? std::string()
                          : fmt::format("What the forward pass read and wrote is not kept at level "
                                        "{}: running and speculative blocks look like held ones.",
                                        record_level_name(source_.level()))},
      {"bookmarks", options_.bookmarks},
      {"findings", all_findings()},
      {"next", ""},
      {"language",
       options_.header.language ? speech_words(*options_.header.language) : std::string()}};
  if (!findings_.roots().empty() && options_.explain_command)
    run["next"] = options_.explain_command(findings_.first_step());
  return run;
}

std::string HtmlReportWriter::data() {
  nlohmann::ordered_json said = nlohmann::ordered_json::array();
  if (options_.header.language)
    said =
        texts_for_page(spoken_words(spoken_.taken(), options_.header.language->vocab_size, names_));
  const std::string run = script_safe_json(describe_run());
  std::string data =
      fmt::format(R"({{"run":{},"said":{},"requests":{},"templates":{},"words":{},"steps":[)", run,
                  script_safe_json(said), script_safe_json(Json(requests_)),
                  script_safe_json(texts_.templates()), script_safe_json(texts_.words()));
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (i > 0) data += ",\n";
    data += steps_[i];
  }
  return data + "]}";
}

Result<bool> HtmlReportWriter::step() {
  const Result<const StepStamp*> stamp = source_.next();
  if (!stamp.ok()) return stamp.error();
  if (stamp.value() == nullptr) return false;
  last_number_ = stamp.value()->step;
  if (first_number_ == 0) first_number_ = last_number_;
  ++num_steps_;
  for_each_count_field(stamp.value()->counts,
                       [this](std::string_view name, auto value) { totals_[name] += value; });
  if (Status taken = take(last_number_); !taken.ok()) return taken.error();
  return true;
}

Result<HtmlReport> HtmlReportWriter::finish() {
  if (steps_.empty() && has_range())
    return Error{ErrorKind::not_found,
                 num_steps_ == 0
                     ? fmt::format("{}: no step was recorded", source_.title())
                     : fmt::format("{}: there is no step from {} to {}, the recorded ones are {} "
                                   "to {}",
                                   source_.title(), options_.first_step, options_.last_step,
                                   first_number_, last_number_)};
  if (options_.find_causes) findings_.find_causes(options_.find_causes);
  return HtmlReport{
      .html =
          make_page({.title = "hybridscope report",
                     .body = report_files::report_html,
                     .style = report_files::report_css,
                     .script = {report_files::report_script, report_files::report_script_sha256},
                     .data_id = "report-data",
                     .data = data()}),
      .num_steps = std::ssize(steps_),
      .num_all_steps = num_steps_,
      .left_out = left_out()};
}

Result<HtmlReport> write_html_report(StepSource& source, const HtmlReportOptions& options) {
  HtmlReportWriter writer(source, options);
  for (;;) {
    const auto more = writer.step();
    if (!more.ok()) return more.error();
    if (!more.value()) return writer.finish();
  }
}

std::string fill_diff_page(const std::string& data) {
  return make_page({.title = "hybridscope diff",
                    .body = report_files::diff_html,
                    .style = report_files::diff_css,
                    .script = {report_files::diff_script, report_files::diff_script_sha256},
                    .data_id = "diff-data",
                    .data = data});
}

}  // namespace hybridscope
