#include "gui/model/prefix_cache_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "core/base/result.h"
#include "gui/model/command_table.h"
#include "gui/model/shown_run.h"
#include "gui/model/workbench.h"
#include "sessions/cache_report/cache_words.h"
#include "sessions/cache_report/changed_plan.h"
#include "sessions/cache_report/prefix_tree.h"
#include "sessions/explain/explain_schedule.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"

namespace hybridscope {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// The line without the name that it begins with.
std::string without(const std::string& line, const std::string& name) {
  std::size_t begin = line.rfind(name, 0) == 0 ? name.size() : 0;
  while (begin < line.size() && (line[begin] == ' ' || line[begin] == ':')) ++begin;
  return line.substr(begin);
}

LookupBar bar_of(const GroupLookup& lookup, const KVCacheGroup& group, std::string name,
                 const std::string& line) {
  LookupBar bar;
  bar.words = without(line, name);
  bar.name = std::move(name);
  bar.block_size = group.block_size();
  bar.present_length = lookup.present_length;
  bar.hit_length = lookup.hit_length;
  if (lookup.miss_block >= 0) bar.miss_token = lookup.miss_block * bar.block_size;
  bar.only_ends = group.is_mamba();
  return bar;
}

// The admission of the request in the step; null: there is none.
const LookupReport* find_report(const CacheReport& cache, std::int64_t step, RequestId request) {
  const auto& lookups = cache.lookups();
  auto at = std::lower_bound(lookups.begin(), lookups.end(), step,
                             [](const LookupReport& l, std::int64_t s) { return l.step < s; });
  for (; at != lookups.end() && at->step == step; ++at)
    if (at->request == request) return &*at;
  return nullptr;
}

}  // namespace

std::string smallest_prefix_line(const EngineConfig& config) {
  std::string line = smallest_prefix_words(cache_rules(config), config) + ".";
  line.front() = 'S';
  return line;
}

std::string no_lookups_words(const ShownRun& run) {
  std::string lacks = not_kept(run, "prefix cache lookups");
  if (!lacks.empty()) return lacks;
  if (run.header().kind == SessionKind::judge) return "The trace has no prefix cache lookups.";
  return "No request was looked up in this step: that happens when a request is admitted, new or "
         "after a preemption.";
}

std::optional<EarlierLookup> find_earlier_lookup(const StepView& view, const CacheReport* cache,
                                                 RequestId request) {
  if (cache == nullptr || request.value < 0) return std::nullopt;
  const LookupReport* last = nullptr;
  for (const LookupReport& report : cache->lookups()) {
    if (report.step > view.trace.step) break;
    if (report.request == request) last = &report;
  }
  if (last == nullptr || last->step == view.trace.step) return std::nullopt;
  return EarlierLookup{.request = request,
                       .shared = lookup_words(*last, view.names),
                       .lost = loss_sentences(*last, cache->rules(), view.config, view.names)};
}

std::vector<LookupCard> make_prefix_cache_model(const StepView& view, const CacheReport* cache) {
  std::vector<LookupCard> cards;
  const auto& groups = view.config.kv_cache_config.groups;
  for (const AdmissionLookup& lookup : view.trace.lookups) {
    const std::vector<std::string> lines =
        lines_of(explain_lookup(lookup, view.config, view.names));
    LookupCard card;
    card.request = lookup.request;
    card.name = view.names.request(lookup.request);
    card.words = without(lines.front(), card.name);
    card.num_tokens = lookup.explanation.max_cache_hit_length + 1;
    card.num_hit_tokens = lookup.num_hit_tokens;
    card.admitted = lookup.admitted;
    for (std::size_t g = 0; g < std::min(groups.size(), lookup.explanation.groups.size()); ++g)
      card.groups.push_back(bar_of(lookup.explanation.groups[g], groups[g],
                                   view.names.group(static_cast<std::int32_t>(g)),
                                   g + 1 < lines.size() ? lines[g + 1] : std::string()));
    const LookupReport* report =
        cache == nullptr ? nullptr : find_report(*cache, view.trace.step, lookup.request);
    if (lookup.admitted && report != nullptr) {
      card.num_common_tokens = report->common.num_tokens;
      card.shared = lookup_words(*report, view.names);
      card.lost = loss_sentences(*report, cache->rules(), view.config, view.names);
    }
    cards.push_back(std::move(card));
  }
  return cards;
}

namespace {

constexpr std::array<ColumnWords, 6> kGroupColumns = {
    {{"Group", "", ColumnKind::words},
     {"Block", "Tokens a block"},
     {"Present", "Tokens found"},
     {"Could serve", "Tokens of a hit that the group could serve on its own"},
     {"Missing", "The first token of the first block that is not there"},
     {"Why not more", "", ColumnKind::wrapped}}};

// The tokens of the request, what the group has of them, and the hit that all groups agreed on.
Strip strip_of(const LookupCard& card, const LookupBar& bar) {
  const auto within = [&](std::int32_t tokens) { return std::min(tokens, card.num_tokens); };
  Strip strip{.title = bar.name, .num_tokens = card.num_tokens, .tick = bar.block_size};
  strip.parts.push_back({.last = card.num_tokens});
  if (bar.present_length > 0) {
    // A recurrent group needs only the block that holds the state at the end.
    const std::int32_t from = bar.only_ends ? std::max(bar.present_length - bar.block_size, 0) : 0;
    strip.parts.push_back({.first = from,
                           .last = within(bar.present_length),
                           .words = "present",
                           .role = CellRole::cached});
  }
  if (bar.miss_token >= 0)
    strip.parts.push_back({.first = within(bar.miss_token),
                           .last = within(bar.miss_token + bar.block_size),
                           .words = "missing",
                           .shape = StripPart::Shape::missing});
  if (card.num_hit_tokens > 0)
    strip.parts.push_back(
        {.last = within(card.num_hit_tokens), .words = "hit", .shape = StripPart::Shape::frame});
  return strip;
}

Table card_table(const LookupCard& card, RequestId selected) {
  Table table{.title = card.name, .note = card.words, .headings = headings_of(kGroupColumns)};
  if (!card.shared.empty()) table.note += ". " + card.shared;
  if (!card.admitted) table.note += " (not admitted)";
  for (const LookupBar& bar : card.groups) {
    table.strips.push_back(strip_of(card, bar));
    TableRow row{
        words_cell(bar.name),        number_cell(bar.block_size), number_cell(bar.present_length),
        number_cell(bar.hit_length), known_cell(bar.miss_token),  words_cell(bar.words)};
    row.mark = fmt::format("lookup {} {}", card.name, table.rows.size());
    row.clicks = {{"select.request", quoted_word(card.name)}};
    row.is_selected = card.request == selected;
    table.rows.push_back(std::move(row));
  }
  return table;
}

// One row for each reason.
Table lost_table(const std::string& name, const std::string& shared,
                 const std::vector<std::string>& lost) {
  Table table{.title = fmt::format("What {} shared and lost", name),
              .note = shared,
              .headings = {ColumnWords{"Reason", "", ColumnKind::wrapped}}};
  for (const std::string& sentence : lost) table.rows.push_back({words_cell(sentence)});
  return table;
}

constexpr std::array<ColumnWords, 3> kRetentionColumns = {{{"Tokens before the state"},
                                                           {"Kept", "", ColumnKind::words},
                                                           {"Why", "", ColumnKind::wrapped}}};

// A part for each block of the prompt: filled where the state at its end is kept.
Table retention_table(const RetentionModel& model) {
  Strip strip{.title = "States", .help = kRetentionHelp, .num_tokens = model.num_prompt_tokens};
  Table table{.title = "Kept states of " + model.name,
              .note = fmt::format("{}, a prompt of {} tokens in blocks of {}. {}", model.group_name,
                                  model.num_prompt_tokens, model.block_size, model.words),
              .headings = headings_of(kRetentionColumns)};
  if (!model.dropped.empty()) table.note += " " + model.dropped;
  for (const PromptBoundary& boundary : model.boundaries) {
    strip.parts.push_back(
        {.first = boundary.num_tokens - model.block_size,
         .last = boundary.num_tokens,
         .words = fmt::format("{} {}", boundary.num_tokens, boundary.kept ? "kept" : "dropped"),
         .text = fmt::format("{}", boundary.num_tokens),
         .shape = StripPart::Shape::outline,
         .role = boundary.kept ? std::optional(CellRole::cached) : std::nullopt,
         .facts = {{"state after", fmt::format("{} tokens", boundary.num_tokens)},
                   {boundary.kept ? "kept" : "dropped", boundary.why}}});
    table.rows.push_back(
        {number_cell(boundary.num_tokens), flag_cell(boundary.kept), words_cell(boundary.why)});
  }
  if (!strip.parts.empty()) table.strips.push_back(std::move(strip));
  return table;
}

}  // namespace

Picture prefix_cache_picture(Workbench& workbench) {
  ShownRun& run = *workbench.run();
  const RequestId selected = workbench.selection().request;
  const auto cards = make_prefix_cache_model(run.view(), run.cache_report());
  Picture picture{.notes = {smallest_prefix_line(run.config())}, .is_page = true};
  if (cards.empty())
    picture.notes.emplace_back(no_lookups_words(run));
  else
    picture.notes.emplace_back(
        "Strips: the request's tokens, a mark at each block end. Filled: what the group has. "
        "Framed: what all groups agreed on, the hit. Hatched: the first block that is not there.");
  for (const LookupCard& card : cards) {
    picture.tables.push_back(card_table(card, selected));
    if (!card.lost.empty()) picture.tables.push_back(lost_table(card.name, "", card.lost));
  }
  if (const auto earlier = find_earlier_lookup(run.view(), run.cache_report(), selected))
    picture.tables.push_back(
        lost_table(run.names().request(selected), earlier->shared, earlier->lost));
  if (const auto retention = make_retention_model(run, selected))
    picture.tables.push_back(retention_table(*retention));
  return picture;
}

// An edit may replace the plan, so requests are looked up on demand.
CacheReport CacheLog::empty_report(const EngineConfig& config) const {
  return CacheReport(config, [this](RequestId id) -> const AddRequest& {
    const std::ptrdiff_t index = find_planned(plan_, names_.request(id));
    HS_EXPECT(index >= 0);
    return plan_.requests[static_cast<std::size_t>(index)].request;
  });
}

void CacheLog::take(const StepTrace& trace) {
  if (outdated_) return;
  if (!report_) report_.emplace(empty_report(plan_.setup.config));
  report_->add(trace);
  last_step_ = trace.step;
}

void CacheLog::forget_after(std::int64_t step) { outdated_ = outdated_ || last_step_ > step; }

// Forgotten steps cannot be removed from a report, so it is made again by a quick run without
// checks.
void CacheLog::make_again(std::int64_t last_step) {
  auto run = CheckedRun::create(plan_, {.check = std::nullopt});
  if (!run.ok()) return;
  CacheReport again = empty_report(plan_.setup.config);
  std::int64_t made = 0;
  const auto driven = drive(
      run.value(),
      [&](const CheckedStep& step) {
        again.add(step.trace);
        made = step.trace.step;
      },
      [&] { return made >= last_step; });
  if (!driven.ok()) return;
  report_ = std::move(again);
  last_step_ = made;
  outdated_ = false;
}

const CacheReport* CacheLog::report(std::int64_t last_known_step) {
  if (outdated_ && last_known_step <= kMostStepsAgain) make_again(last_known_step);
  return report_ && !outdated_ ? &*report_ : nullptr;
}

namespace {

constexpr std::size_t kMostDroppedNamed = 8;

std::string sentence(std::string words) {
  words.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(words.front())));
  return words + ".";
}

std::string why_dropped(std::int32_t period) {
  return period > 0 ? fmt::format("no multiple of {}, and no other boundary that is kept", period)
                    : std::string("interval 0 keeps no state but those where a known hit can end");
}

std::vector<PromptBoundary> boundaries_of(const GroupRetention& retention,
                                          const std::vector<KeptBoundary>& kept,
                                          std::int32_t num_prompt_tokens) {
  const bool dense = !retention.rule.interval;
  const std::int32_t period = dense ? 0 : kept_period(retention.rule, retention.block_size);
  std::vector<PromptBoundary> boundaries;
  for (std::int32_t end = retention.block_size; end <= num_prompt_tokens;
       end += retention.block_size) {
    const auto reached = std::ranges::find(kept, end, &KeptBoundary::num_tokens);
    if (dense)
      boundaries.push_back({end, true, "every state is kept"});
    else if (period > 0 && end % period == 0)
      boundaries.push_back({end, true, fmt::format("a multiple of {}", period)});
    else if (reached != kept.end())
      boundaries.push_back({end, true, std::string(kept_reason_words(reached->reason))});
    else
      boundaries.push_back({end, false, why_dropped(period)});
  }
  return boundaries;
}

std::string dropped_words(const std::vector<PromptBoundary>& boundaries) {
  std::vector<std::string> named;
  std::size_t count = 0;
  std::string why;
  for (const PromptBoundary& boundary : boundaries) {
    if (boundary.kept) continue;
    why = boundary.why;
    if (++count <= kMostDroppedNamed) named.push_back(fmt::format("{}", boundary.num_tokens));
  }
  if (count == 0) return {};
  return fmt::format("Dropped: {}{}: {}.", fmt::join(named, ", "),
                     count > named.size() ? fmt::format(" and {} more", count - named.size()) : "",
                     why);
}

}  // namespace

std::optional<RetentionModel> make_retention_model(ShownRun& run, RequestId selected) {
  if (selected.value < 0) return std::nullopt;
  const std::optional<GroupRetention> retention = group_retention(run.config());
  const std::optional<CachedPrompt> prompt = retention ? run.cached_prompt(selected) : std::nullopt;
  if (!prompt) return std::nullopt;
  const std::vector<KeptBoundary> kept = kept_boundaries(
      retention->rule, *prompt, retention->block_size, retention->drops_eagle_block);
  RetentionModel model{
      .name = run.names().request(selected),
      .group_name = run.names().group(retention->group),
      .num_prompt_tokens = prompt->num_prompt_tokens,
      .block_size = retention->block_size,
      .words =
          retention->rule.interval
              ? sentence(retention_words(*retention->rule.interval, kept, retention->block_size))
              : std::string("No retention interval is set: every state is kept."),
      .boundaries = boundaries_of(*retention, kept, prompt->num_prompt_tokens),
      .dropped = {}};
  model.dropped = dropped_words(model.boundaries);
  return model;
}

}  // namespace hybridscope
