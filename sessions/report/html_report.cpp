#include "sessions/report/html_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/language/spoken_texts.h"
#include "core/model/model_layout.h"
#include "sessions/explain/explain_parts.h"
#include "sessions/page/page_parts.h"
#include "sessions/record/step_record.h"
#include "sessions/report/report_cells.h"
#include "sessions/report/report_files.h"
#include "sessions/report/report_steps.h"
#include "sessions/run/finding_list.h"
#include "sessions/run/run_summary.h"
#include "sessions/run/spoken_words.h"
#include "sessions/text/number_words.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

// Totals over a session, field by field, wider than the counts of one step.
class CountTotals {
 public:
  void add(const StepCounts& step) {
    for_each_count_field(step, [this](std::string_view name, auto value) { sums_[name] += value; });
  }

  nlohmann::json by_name() const {
    nlohmann::json object = nlohmann::json::object();
    const StepCounts none;
    for_each_count_field(none, [&](std::string_view name, auto) {
      const auto found = sums_.find(name);
      object[std::string(name)] = found == sums_.end() ? 0 : found->second;
    });
    return object;
  }

 private:
  std::map<std::string_view, std::int64_t> sums_;  // by field
};

nlohmann::json describe_groups(const EngineConfig& config) {
  nlohmann::json groups = nlohmann::json::array();
  for (const KVCacheGroup& group : config.kv_cache_config.groups) {
    const auto* mamba = std::get_if<MambaSpec>(&group.spec);
    groups.push_back({{"kind", mamba != nullptr ? mamba_type_name(mamba->mamba_type) : "attention"},
                      {"mamba", mamba != nullptr},
                      {"block_size", group.block_size()},
                      {"layers", group.layers.size()}});
  }
  return groups;
}

std::string_view mode_name(MambaCacheMode mode) {
  switch (mode) {
    case MambaCacheMode::none: return "none";
    case MambaCacheMode::all: return "all";
    case MambaCacheMode::align: return "align";
  }
  return {};
}

nlohmann::json describe_run(const StepSource& source, const HtmlReportOptions& options) {
  const EngineConfig& config = source.config();
  nlohmann::json meta = {{"title", source.title()},
                         {"name", options.name},
                         {"model", options.model},
                         {"engine", options.engine},
                         {"source", options.source},
                         {"program", options.program},
                         {"status", options.status},
                         {"note", options.note},
                         {"level", record_level_name(source.level())},
                         {"mode", mode_name(config.mamba_cache_mode)},
                         {"num_speculative_tokens", config.num_speculative_tokens},
                         {"runner", config.runner == ModelRunner::v1 ? "V1" : "V2"},
                         {"async_scheduling", config.async_scheduling},
                         {"cudagraph_mode", cudagraph_mode_name(config.cudagraph_mode)},
                         {"num_blocks", config.kv_cache_config.num_blocks},
                         {"max_num_seqs", config.max_num_seqs},
                         {"max_num_batched_tokens", config.max_num_batched_tokens},
                         {"groups", describe_groups(config)},
                         {"cells", cell_code_words()},
                         {"bookmarks", nlohmann::json::array()},
                         {"roots", nlohmann::json::array()},
                         {"next", ""}};
  for (const ReportBookmark& bookmark : options.bookmarks)
    meta["bookmarks"].push_back({bookmark.step, bookmark.note});
  return meta;
}

}  // namespace

std::string fill_report_page(const std::string& data) {
  return make_page({.title = "hybridscope report",
                    .body = report_files::report_html,
                    .style = report_files::report_css,
                    .script = {report_files::report_script, report_files::report_script_sha256},
                    .data_id = "report-data",
                    .data = data});
}

// Reads a source and collects what the page shows.
class HtmlReportWriter::Maker {
 public:
  Maker(StepSource& source, HtmlReportOptions options)
      : source_(source),
        options_(std::move(options)),
        names_(make_names(source.config(), [this](RequestId request) { return name_of(request); })),
        steps_(source.config(), names_, source.knows_own_counts(), options_.find_cause),
        starvation_(source.config()) {}

  Result<bool> step();
  Result<HtmlReport> finish();

 private:
  bool has_range() const { return options_.first_step > 0 || options_.last_step > 0; }
  bool in_range(std::int64_t step) const {
    if (has_range()) return step >= options_.first_step && step <= options_.last_step;
    return !cut_;
  }
  std::string name_of(RequestId request);
  Status take(std::int64_t step);
  void add(const StepRecord& record);
  void cut();
  std::string left_out() const;
  void note(const StepRecord& record);
  // What the summary of `run` warns of, as far as the steps that were read tell.
  std::vector<std::string> notes();
  std::string data();

  StepSource& source_;
  HtmlReportOptions options_;
  Names names_;
  ReportSteps steps_;
  StarvationWatch starvation_;
  std::int64_t stale_arrays_ = 0;      // first step with a finding of that rule, 0: none
  BlockState before_;                  // before the first shown step
  std::vector<std::string> texts_;     // shown steps as JSON
  std::vector<std::int64_t> numbers_;  // step numbers of texts_
  std::map<std::int32_t, std::string> requests_;
  std::size_t short_templates_ = 0;        // number of templates after kShortReportSteps steps
  std::set<std::int32_t> short_requests_;  // requests known by then
  bool cut_ = false;
  CountTotals totals_;
  SpokenTexts spoken_;  // of the steps that were read
  std::int64_t num_steps_ = 0;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
};

std::string HtmlReportWriter::Maker::name_of(RequestId request) {
  const auto [place, added] = requests_.try_emplace(request.value);
  if (added) place->second = source_.request_name(request);
  return place->second;
}

void HtmlReportWriter::Maker::add(const StepRecord& record) {
  for (const ScheduledTrace& scheduled : record.trace.scheduled) name_of(scheduled.request);
  for (const CommitTrace& commit : record.trace.committed) name_of(commit.request);
  for (const SkippedRequest& skipped : record.trace.skipped) name_of(skipped.request);
  for (const RequestId request : record.trace.preempted) name_of(request);
  texts_.push_back(script_safe_json(steps_.step(record)));
  numbers_.push_back(record.trace.step);
  if (std::cmp_equal(texts_.size(), kShortReportSteps)) {
    short_templates_ = steps_.texts().size();
    for (const auto& [request, name] : requests_) short_requests_.insert(request);
  }
}

// The run is too long: keeps only the first steps.
void HtmlReportWriter::Maker::cut() {
  cut_ = true;
  texts_.resize(kShortReportSteps);
  numbers_.resize(kShortReportSteps);
  steps_.texts().truncate(short_templates_);
  std::erase_if(requests_,
                [this](const auto& entry) { return !short_requests_.contains(entry.first); });
}

Status HtmlReportWriter::Maker::take(std::int64_t step) {
  if (!has_range() && !cut_ && std::cmp_equal(texts_.size(), kMaxReportSteps)) cut();
  const bool before = has_range() && step < options_.first_step;
  if (!in_range(step) && !before) return Ok{};
  const Result<const StepRecord*> record = source_.record();
  if (!record.ok()) return record.error();
  spoken_.add(record.value()->speech.words);
  note(*record.value());
  if (before) {
    const StepTrace& trace = record.value()->trace;
    before_.apply(trace.cache_events);
    before_.apply(record.value()->worker_changes);
    before_.apply(trace.commit_events);
    steps_.pass_over(*record.value());
  } else {
    add(*record.value());
  }
  return Ok{};
}

std::string HtmlReportWriter::Maker::left_out() const {
  if (std::cmp_equal(texts_.size(), num_steps_)) return {};
  return fmt::format("steps {} to {} are shown: {} of {} steps ({} to {})",
                     grouped_number(numbers_.front()), grouped_number(numbers_.back()),
                     grouped_number(static_cast<std::int64_t>(texts_.size())),
                     grouped_number(num_steps_), grouped_number(first_), grouped_number(last_));
}

void HtmlReportWriter::Maker::note(const StepRecord& record) {
  starvation_.add(record.trace);
  if (stale_arrays_ == 0 &&
      std::ranges::count(record.findings, Rule::stale_persistent_array, &Finding::rule) > 0)
    stale_arrays_ = record.trace.step;
}

std::vector<std::string> HtmlReportWriter::Maker::notes() {
  std::vector<std::string> notes;
  Starvation starvation;
  for (const StarvedRequest& waited : starvation_.starved())
    starvation.requests.push_back({waited, name_of(waited.request)});
  if (!starvation.requests.empty()) notes.push_back(starvation.words(source_.config()));
  if (stale_arrays_ > 0 && !options_.language) notes.push_back(fresh_arrays_words(stale_arrays_));
  return notes;
}

std::string HtmlReportWriter::Maker::data() {
  nlohmann::json meta = describe_run(source_, options_);
  meta["totals"] = totals_.by_name();
  meta["num_steps"] = num_steps_;
  meta["left_out"] = left_out();
  meta["notes"] = notes();
  const std::vector<FindingRoot>& roots = steps_.roots();
  for (const FindingRoot& root : roots)
    meta["roots"].push_back({root.num_following, root.last_step});
  if (!roots.empty() && options_.explain_command)
    meta["next"] = options_.explain_command(roots.front().finding.step);
  meta["language"] = options_.language ? speech_words(*options_.language) : std::string();
  nlohmann::ordered_json texts_said = nlohmann::ordered_json::array();
  if (options_.language)
    texts_said =
        texts_for_page(spoken_words(spoken_.taken(), options_.language->vocab_size, names_));
  nlohmann::json requests = nlohmann::json::array();
  for (const auto& [request, name] : requests_) requests.push_back({request, name});
  const ReportTexts& texts = steps_.texts();
  std::string data = fmt::format(
      "{{\"meta\":{},\"requests\":{},\"texts\":{},\"templates\":{},\"start\":{},\"start_worker\":{}"
      ",\"steps\":[",
      script_safe_json(meta), script_safe_json(requests), script_safe_json(texts_said),
      script_safe_json(texts.templates()), script_safe_json(before_.scheduler_ops()),
      script_safe_json(before_.worker_ops()));
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    if (i > 0) data += ",\n";
    data += texts_[i];
  }
  return data + "]}";
}

Result<bool> HtmlReportWriter::Maker::step() {
  const Result<const StepStamp*> stamp = source_.next();
  if (!stamp.ok()) return stamp.error();
  if (stamp.value() == nullptr) return false;
  last_ = stamp.value()->step;
  if (first_ == 0) first_ = last_;
  ++num_steps_;
  totals_.add(stamp.value()->counts);
  if (Status taken = take(last_); !taken.ok()) return taken.error();
  return true;
}

Result<HtmlReport> HtmlReportWriter::Maker::finish() {
  if (texts_.empty() && has_range())
    return Error{
        ErrorKind::not_found,
        num_steps_ == 0
            ? fmt::format("{}: no step was recorded", source_.title())
            : fmt::format("{}: there is no step from {} to {}, the recorded ones are {} "
                          "to {}",
                          source_.title(), options_.first_step, options_.last_step, first_, last_)};
  for (const RequestId request : before_.requests()) name_of(request);
  return HtmlReport{.html = fill_report_page(data()),
                    .num_steps = static_cast<std::int64_t>(texts_.size()),
                    .num_all_steps = num_steps_,
                    .left_out = texts_.empty() ? std::string() : left_out()};
}

HtmlReportWriter::HtmlReportWriter(StepSource& source, HtmlReportOptions options)
    : maker_(std::make_unique<Maker>(source, std::move(options))) {}
HtmlReportWriter::~HtmlReportWriter() = default;

Result<bool> HtmlReportWriter::step() { return maker_->step(); }
Result<HtmlReport> HtmlReportWriter::finish() { return maker_->finish(); }

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
